"""An average of the parameters on the way: for models without a closed form, and steps that are noisy."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from kullback.core import Batch
from kullback.learning._learner import (
    Clock,
    Gathered,
    Learner,
    MemoryT,
    MessageT,
    ModelT,
    Start,
    StepInfo,
    as_number,
)
from kullback.learning._wrapper import Wrapper
from kullback.numerics import Numeric
from kullback.runtime import is_array


class _Walk(NamedTuple):
    inner: Any
    walker: Any


class AveragedIterates(Wrapper[ModelT, _Walk, MemoryT, MessageT]):
    """Another learner walks; the model is the average of its parameters on the way (polynomial-decay averaging).

    The weight of step t grows as t^degree: of all steps alike at 0, and about the last fifth of them at 4. The average
    wavers less than the last step, so a rate may decay more slowly. What a step is worth (`StepInfo.value`) is of the
    model that walks. Steps are counted from `first` on, where the average begins anew; after `horizon` of them it
    forgets at a rate that stays, so that it follows a stream without end.

    Examples
    --------
    >>> from kullback.learning import NaturalWakeSleep
    >>> learner = AveragedIterates(NaturalWakeSleep(power=0.7))

    """

    learner: Learner[ModelT, Any, MemoryT, MessageT]
    degree: Numeric
    first: Numeric
    horizon: Numeric

    def __init__(
        self,
        learner: Learner[ModelT, Any, MemoryT, MessageT],
        degree: float = 4.0,
        first: float = 0,
        horizon: float = np.inf,
    ):
        self.learner, self.degree = learner, as_number(degree)
        self.first, self.horizon = as_number(first), as_number(horizon)

    def init(self, model: ModelT, start: Start) -> _Walk:
        """Begin with the model itself."""
        return _Walk(self.learner.init(model, start), _arrays(model))

    def gather(
        self, model: ModelT, state: _Walk, memory: MemoryT, batch: Batch, clock: Clock
    ) -> Gathered[MessageT, MemoryT]:
        """Return what a batch says to the machine that walks."""
        return self.learner.gather(state.walker, state.inner, memory, batch, clock)

    def move(self, model: ModelT, state: _Walk, message: MessageT, clock: Clock) -> tuple[ModelT, _Walk, StepInfo]:
        """Let it walk on, and draw the average after it."""
        walker, inner, info = self.learner.move(state.walker, state.inner, message, clock)
        step = jnp.clip(clock.step - self.first, 0, self.horizon)
        stays = step / (step + self.degree + 1)

        def average(new: Any, old: Any) -> Any:
            return new + jnp.asarray(stays, new.dtype) * (old - new) if _is_inexact(new) else new

        moved: ModelT = jax.tree.map(average, walker, model)
        return moved, _Walk(inner, walker), info


def _is_inexact(leaf: Any) -> bool:
    return is_array(leaf) and bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _arrays(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if is_array(leaf) else leaf, tree)
