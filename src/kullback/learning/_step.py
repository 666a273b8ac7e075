"""Steps of a learner as compiled functions: one step, a run of them in one loop, or gather and move apart.

A step is always the same function, so that a run of 64 steps ends at the same bits as 64 runs of one.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from kullback.core import Batch
from kullback.learning._adaptive_jit import adaptive_jit
from kullback.learning._learner import (
    Clock,
    Learner,
    MemoryT,
    MessageT,
    ModelT,
    Scalar,
    StateT,
    StepInfo,
    TreeT,
    all_finite,
    changed,
    choose,
    merge_messages,
)
from kullback.runtime import filter_jit, is_array, jit, light_jit

#: After so many moves in a row to what is not finite a fit ends.
FAILURES = 5


class Stepped(NamedTuple, Generic[ModelT, StateT, MemoryT]):
    """What a step leaves behind. Where it is not `sound`, it must be taken again without what makes it quick."""

    model: ModelT
    state: StateT
    memory: MemoryT
    info: StepInfo
    sound: Scalar


class Made(NamedTuple, Generic[ModelT, StateT, MemoryT]):
    """What a step makes, whatever it is: it may be not finite. `news` is what of it can have become so."""

    model: ModelT
    state: StateT
    memory: MemoryT
    info: StepInfo
    news: list[Any]
    sound: Scalar


def make(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    model: ModelT,
    state: StateT,
    memory: MemoryT,
    batches: Sequence[Batch],
    clock: Clock,
) -> Made[ModelT, StateT, MemoryT]:
    """Return what a step makes of a model: several batches, one after the other in the same stream, are one step."""
    message, after, sound = learner.gather(model, state, memory, batches[0], clock)
    for number, batch in enumerate(batches[1:], 1):
        found = learner.gather(model, state, after, batch, clock.at_batch(number))
        message, after = merge_messages(message, found.message), found.memory
        sound = jnp.logical_and(sound, found.sound)
    moved, settled, info = learner.move(model, state, message, clock)
    return Made(moved, settled, after, info, [moved, changed(settled, state), after], sound)


def step_once(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    model: ModelT,
    state: StateT,
    memory: MemoryT,
    batches: Sequence[Batch],
    clock: Clock,
) -> Stepped[ModelT, StateT, MemoryT]:
    """Take one step. A move to what is not finite is left out, and so is a step that has no point that counts: then
    nothing changes.
    """
    counts = jnp.any(jnp.stack([jnp.any(batch.counted > 0) for batch in batches]))
    made = make(learner, model, state, memory, batches, clock)
    finite = all_finite(made.news) & ~jnp.isnan(made.info.value)
    taken = counts & finite
    return Stepped(
        choose(taken, made.model, model),
        choose(taken, made.state, state),
        made.memory if memory is None else choose(taken, made.memory, memory),
        StepInfo(made.info.value, jnp.where(counts, made.info.mass, 0), finite | ~counts),
        made.sound,
    )


step = jit(step_once)


class Run(NamedTuple, Generic[ModelT, StateT, MemoryT]):
    """What a run of steps leaves behind. The infos have an entry for each step; `finite` says whether all of it is."""

    model: ModelT
    state: StateT
    memory: MemoryT
    points: Scalar
    infos: StepInfo
    finite: Scalar


def run_steps(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    model: ModelT,
    state: StateT,
    memory: MemoryT,
    batches: Batch,
    first: Scalar,
    last: Scalar,
    clock: Clock,
) -> Run[ModelT, StateT, MemoryT]:
    """Take some of the steps of stacked batches, whose leaves have the axes (steps, batches of a step, rows, …).

    Whether numbers are finite is looked at once, at the end: what is not finite stays so. To look at each step, and to
    have the model before it at hand, would take as long as one more product with the weights of a network.
    """
    group = jax.tree.leaves(batches)[0].shape[1]
    places: list[int] = []  # of the leaves that can become not finite, known when a step is traced

    def body(carry: tuple[Any, ...], stacked: Batch) -> tuple[tuple[Any, ...], StepInfo]:
        arrays, state, memory, number, points = carry
        key = None if clock.key is None else jax.random.fold_in(clock.key, number)
        several = [jax.tree.map(lambda leaf, place=place: leaf[place], stacked) for place in range(group)]
        made = make(learner, eqx.combine(arrays, fixed), state, memory, several, Clock(number, points, key))
        after = eqx.filter(made.model, is_array), made.state, made.memory
        news = {id(leaf) for leaf in jax.tree.leaves(made.news)}
        places[:] = [place for place, leaf in enumerate(jax.tree.leaves(after)) if id(leaf) in news]
        info = StepInfo(*map(jnp.asarray, (made.info.value, made.info.mass, True)))
        return (*after, number + 1, points + jnp.asarray(info.mass, points.dtype)), info

    arrays, fixed = eqx.partition(model, is_array)
    points = jnp.asarray(clock.points, jnp.result_type(float))
    start = (*jax.tree.map(jnp.asarray, (arrays, state, memory)), jnp.asarray(clock.step, jnp.int32), points)
    (arrays, state, memory, _, points), infos = _scan(body, start, batches, first, last)
    leaves = jax.tree.leaves((arrays, state, memory))
    finite = all_finite([leaves[place] for place in places]) & ~jnp.any(jnp.isnan(infos.value))
    return Run(eqx.combine(arrays, fixed), state, memory, points, infos, finite)


def _scan(
    body: Callable[[TreeT, Batch], tuple[TreeT, StepInfo]], carry: TreeT, rows: Batch, first: Scalar, last: Scalar
) -> tuple[TreeT, StepInfo]:
    """Return what `jax.lax.scan` does with some rows, in a loop whose turns the compiler cannot count.

    A loop of one turn it would take apart and round in another order: the bits would depend on the length of chunks.
    """
    length = jax.tree.leaves(rows)[0].shape[0]
    if length == 1:  # the compiler leaves an axis of length 1 out, and lays out anew what follows
        rows = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), rows)
    rows = jax.tree.map(jnp.asarray, rows)

    def at(place: Scalar) -> Batch:
        return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, place, keepdims=False), rows)

    def turn(place: Array, both: tuple[TreeT, StepInfo]) -> tuple[TreeT, StepInfo]:
        carry, info = body(both[0], at(place))
        put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=place, axis=0)
        return carry, jax.tree.map(put, both[1], info)

    shapes = jax.eval_shape(lambda carry: body(carry, at(0))[1], carry)
    blank = jax.tree.map(lambda leaf: jnp.zeros((length, *leaf.shape), leaf.dtype), shapes)
    found: tuple[TreeT, StepInfo] = jax.lax.fori_loop(first, last, turn, (carry, blank))
    return found


_run_many, _run_few = filter_jit(run_steps), filter_jit(run_steps, light_jit)
#: For steps on up to so many numbers, to compile takes as long as hundreds of them.
_FEW = 2**15


def run(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    model: ModelT,
    state: StateT,
    memory: MemoryT,
    batches: Batch,
    active: Bool[np.ndarray, " steps"],
    clock: Clock,
    failures: int = 0,
) -> tuple[ModelT, StateT, MemoryT, float, list[StepInfo]]:
    """Take the active steps, compiled with the care that is due to the numbers of one step; return the points too.

    A move to what is not finite is left out, and so is a step that has no point that counts: then nothing changes.
    `failures` is how many moves before these were left out, one after the other; after five no more steps are taken.
    Steps go together as long as all that comes of them is finite. Where it is not, they are taken again one by one.
    """
    numbers = sum(np.size(part) for part in (batches.values, batches.inputs) if part is not None)
    few = numbers <= _FEW * len(batches.values) and not learner.takes_many_steps
    compiled = _run_few if few else _run_many
    counts = active & _have_points(batches)
    infos = [StepInfo(0.0, 0.0, True)] * len(active)
    where, number, points = (model, state, memory), int(clock.step), clock.points
    first, most = 0, len(active)
    while first < len(active) and failures < FAILURES:
        if not counts[first]:
            number, first = number + int(active[first]), first + 1
            continue
        rest = counts[first : first + most]
        last = first + (len(rest) if rest.all() else int(rest.argmin()))
        now = Clock(np.int32(number), np.asarray(points), clock.key)
        found: Run[Any, Any, Any] = compiled(learner, *where, batches, np.int32(first), np.int32(last), now)
        finite = bool(found.finite)
        if not finite and last > first + 1:
            most = 1
            continue
        failures = 0 if finite else failures + 1
        where, points = (found.model, found.state, found.memory) if finite else where, found.points
        each = (np.asarray(leaf)[first:last].tolist() for leaf in (found.infos.value, found.infos.mass))
        infos[first:last] = [StepInfo(value, mass, finite) for value, mass in zip(*each, strict=True)]
        number, first = number + last - first, last
    return (*where, float(points), infos)


def _have_points(batches: Batch) -> Bool[np.ndarray, " steps"]:
    """Whether a point counts, for each step of stacked batches."""
    weight = np.asarray(batches.weight)
    if batches.time is not None:
        weight = np.where(np.asarray(batches.time.lookahead), 0, weight)
    return np.any(weight.reshape(len(weight), -1) > 0, axis=1)


@adaptive_jit
def gather(
    model: ModelT,
    batch: Batch,
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    state: StateT,
    memory: MemoryT,
    clock: Clock,
) -> tuple[MessageT, MemoryT]:
    """Return what a batch says, by itself: batch EM and clusters put many such messages together before a move."""
    return learner.gather(model, state, memory, batch, clock)[:2]


#: Put two messages together.
merge = filter_jit(merge_messages)


@adaptive_jit
def move(
    model: ModelT,
    message: MessageT,
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    state: StateT,
    clock: Clock,
) -> tuple[ModelT, StateT, StepInfo]:
    """Move a model by what all the data has said, unless what comes of it is not finite."""
    moved, settled, info = learner.move(model, state, message, clock)
    finite = all_finite(moved, settled) & ~jnp.isnan(info.value)
    return choose(finite, moved, model), choose(finite, settled, state), info._replace(finite=finite)
