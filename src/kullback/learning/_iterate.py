"""Several steps towards all of the data under one compiled loop: the data of batch EM that is one batch.

Between two steps nothing goes back to Python: what would end the fit, or call for a closer look, ends the loop.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from kullback.core import Batch
from kullback.learning._adaptive_jit import adaptive_jit
from kullback.learning._data import Resident
from kullback.learning._learner import (
    Clock,
    Learner,
    MemoryT,
    MessageT,
    ModelT,
    Scalar,
    StateT,
    StepInfo,
    all_finite,
    choose,
)
from kullback.learning._rules import Bounds
from kullback.runtime import is_array

#: Traced inside the loop: whether a model is so far from breaking down that nobody needs to look at it.
Watch: TypeAlias = Callable[[Any], Scalar]

#: Where the kernel of features keeps its digits for data that reaches this much farther, it does so without doubt.
_FARTHER = 1.01
#: A loop has at most so many steps.
MOST = 64
#: The first loop of a fit has as many steps as look at so many numbers.
_NUMBERS = 2**22
#: A loop is to take between so many seconds: nobody can interrupt it.
_SHORT, _LONG = 0.1, 0.5


class Iterated(NamedTuple, Generic[ModelT, StateT, MemoryT]):
    """Where a loop has led, where it was before its last step, and what its `taken` steps were worth.

    The infos have room for more steps than were taken.
    """

    after: tuple[ModelT, StateT, MemoryT]
    before: tuple[ModelT, StateT, MemoryT]
    infos: StepInfo
    taken: Scalar


@adaptive_jit
def iterate(
    model: ModelT,
    batch: Batch,
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    state: StateT,
    memory: MemoryT,
    clock: Clock,
    radius: Scalar,
    bounds: Bounds,
    watch: Watch | None,
) -> Iterated[ModelT, StateT, MemoryT]:
    """Take one step towards the batch, and more as long as nothing calls for a look from outside.

    A look is needed where the rule may end the fit, where a move was left out because it was not finite, where `watch`
    has a doubt about the model, and where the model may need another kernel. All of these have a margin: who looks from
    outside decides. Each step is the same code, however many there are, so their number changes no bit.
    """
    arrays, fixed = eqx.partition(model, is_array)
    arrays, state, memory = jax.tree.map(jnp.asarray, (arrays, state, memory))

    def take(carry: Any) -> Any:
        (arrays, state, memory), _, number, points, value, infos, _ = carry
        model = eqx.combine(arrays, fixed)
        step = clock.step + number
        key = None if clock.key is None else jax.random.fold_in(clock.key, step)
        now = Clock(step, points, key)
        message, remembered, _ = learner.gather(model, state, memory, batch, now.at_site(0))
        moved, settled, info = learner.move(model, state, message, now)
        finite = all_finite(moved, settled) & ~jnp.isnan(info.value)
        kept = choose(finite, moved, model)
        after = eqx.filter(kept, is_array), choose(finite, settled, state), choose(finite, remembered, memory)
        infos = jax.tree.map(lambda several, one: several.at[number].set(one), infos, info._replace(finite=finite))
        goes_on = finite & bounds.are_far(value, info.value) & _keeps_its_kernel(kept, batch, radius)
        if watch is not None:
            goes_on = goes_on & watch(kept)
        return after, carry[0], number + 1, points + info.mass, info.value, infos, goes_on

    def more(carry: Any) -> Any:
        number, goes_on = carry[2], carry[-1]
        return goes_on & (number < bounds.most)

    first = arrays, state, memory
    points = jnp.asarray(clock.points, jnp.result_type(float))
    value = jnp.asarray(bounds.before, points.dtype)
    blank = StepInfo(*(jnp.zeros(MOST, kind) for kind in (points.dtype, points.dtype, bool)))
    start = first, first, jnp.asarray(0, jnp.int32), points, value, blank, jnp.asarray(True)
    after, before, taken, _, _, infos, _ = jax.lax.while_loop(more, take, start)
    last, previous = ((eqx.combine(arrays, fixed), *others) for arrays, *others in (after, before))
    return Iterated(last, previous, infos, taken)


def _keeps_its_kernel(model: Any, batch: Batch, radius: Scalar) -> Scalar:
    """Whether the kernel of features, where the batch asks for it, keeps its digits under this model without doubt."""
    if batch.standardization is None:
        return True
    accurate: Scalar = model.featured.quick_kernel_is_accurate(batch.standardization, _FARTHER * radius)
    return accurate


class Pace:
    """How many steps a loop may have, so that it takes neither long enough to be in the way of an interrupt, nor so
    little that Python takes the time.
    """

    def __init__(self, most: int):
        self._most = min(most, MOST)
        self._steps: int | None = None

    def steps(self, resident: Resident) -> int:
        """Return the number of steps that the next loop may have."""
        if self._steps is None:
            numbers = max(int(np.size(resident.batch.values)), 1)
            self._steps = min(max(_NUMBERS // numbers, 1), self._most)
        return self._steps

    def learn(self, steps: int, seconds: float) -> None:
        """Take note of how long so many steps took."""
        if seconds > _LONG:
            self._steps = max(steps // 2, 1)
        elif seconds < _SHORT and steps == self._steps:
            self._steps = min(2 * steps, self._most)
