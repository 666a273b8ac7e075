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
from kullback.numerics import Numeric
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


def step_once(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    model: ModelT,
    state: StateT,
    memory: MemoryT,
    batches: Sequence[Batch],
    clock: Clock,
    active: Scalar = True,
) -> Stepped[ModelT, StateT, MemoryT]:
    """Return what one step makes of a model: several batches, one after the other in the same stream, are one step.

    A move to what is not finite is left out, and so is a step that is not active or has no point that counts: then
    nothing changes.
    """
    active = jnp.logical_and(active, jnp.any(jnp.stack([jnp.any(batch.counted > 0) for batch in batches])))
    message, after, sound = learner.gather(model, state, memory, batches[0], clock)
    for number, batch in enumerate(batches[1:], 1):
        found = learner.gather(model, state, after, batch, clock.at_batch(number))
        message, after = merge_messages(message, found.message), found.memory
        sound = jnp.logical_and(sound, found.sound)
    moved, settled, info = learner.move(model, state, message, clock)
    finite = all_finite(moved, changed(settled, state), after) & ~jnp.isnan(info.value)
    taken = active & finite
    return Stepped(
        choose(taken, moved, model),
        choose(taken, settled, state),
        after if memory is None else choose(taken, after, memory),
        StepInfo(info.value, jnp.where(active, info.mass, 0), finite | ~active),
        sound,
    )


step = jit(step_once)


class Run(NamedTuple, Generic[ModelT, StateT, MemoryT]):
    """What a run of steps leaves behind: the infos have an entry for each step."""

    model: ModelT
    state: StateT
    memory: MemoryT
    points: Scalar
    infos: StepInfo


def run_steps(
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    model: ModelT,
    state: StateT,
    memory: MemoryT,
    batches: Batch,
    active: Bool[Numeric, " steps"],
    clock: Clock,
    failures: Scalar = 0,
) -> Run[ModelT, StateT, MemoryT]:
    """Take the steps of stacked batches, whose leaves have the axes (steps, batches of a step, rows, …).

    `failures` is how many moves before these were left out, one after the other; after five no more steps are taken.
    """
    group = jax.tree.leaves(batches)[0].shape[1]

    def body(carry: tuple[Any, ...], row: tuple[Batch, Any]) -> tuple[tuple[Any, ...], StepInfo]:
        arrays, state, memory, number, points, failed = carry
        stacked, on = row
        on = on & (failed < FAILURES)
        key = None if clock.key is None else jax.random.fold_in(clock.key, number)
        several = [jax.tree.map(lambda leaf, place=place: leaf[place], stacked) for place in range(group)]
        model = eqx.combine(arrays, fixed)
        found = step_once(learner, model, state, memory, several, Clock(number, points, key), on)
        failed = jnp.where(on, jnp.where(found.info.finite, 0, failed + 1), failed)
        after = number + jnp.asarray(on, number.dtype), points + jnp.asarray(found.info.mass, points.dtype), failed
        return (eqx.filter(found.model, is_array), found.state, found.memory, *after), found.info

    arrays, fixed = eqx.partition(model, is_array)
    points = jnp.asarray(clock.points, jnp.result_type(float))
    counts = jnp.asarray(clock.step, jnp.int32), points, jnp.asarray(failures, jnp.int32)
    start = (*jax.tree.map(jnp.asarray, (arrays, state, memory)), *counts)
    active = jnp.asarray(active)
    (arrays, state, memory, _, points, _), infos = _scan(body, start, (batches, active))
    return Run(eqx.combine(arrays, fixed), state, memory, points, infos._replace(finite=infos.finite | ~active))


def _scan(
    body: Callable[[TreeT, tuple[Batch, Array]], tuple[TreeT, StepInfo]], carry: TreeT, rows: tuple[Batch, Array]
) -> tuple[TreeT, StepInfo]:
    """Return what `jax.lax.scan` does up to the last active row, in a loop whose turns the compiler cannot count.

    A loop of one turn it would take apart and round in another order: the bits would depend on the length of chunks.
    """
    length = rows[1].shape[0]
    turns = jnp.max(jnp.where(rows[1], jnp.arange(1, length + 1), 0))
    if length == 1:  # the compiler leaves an axis of length 1 out, and lays out anew what follows
        rows = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), rows)
    rows = jax.tree.map(jnp.asarray, rows)

    def at(place: Scalar) -> tuple[Batch, Array]:
        return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, place, keepdims=False), rows)

    def turn(place: Array, both: tuple[TreeT, StepInfo]) -> tuple[TreeT, StepInfo]:
        carry, info = body(both[0], at(place))
        put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=place, axis=0)
        return carry, jax.tree.map(put, both[1], info)

    shapes = jax.eval_shape(lambda carry: body(carry, at(0))[1], carry)
    blank = jax.tree.map(lambda leaf: jnp.zeros((length, *leaf.shape), leaf.dtype), shapes)
    found: tuple[TreeT, StepInfo] = jax.lax.fori_loop(0, turns, turn, (carry, blank))
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
    *others: Any,
) -> Run[ModelT, StateT, MemoryT]:
    """Take steps as `run_steps` does, compiled with the care that is due to the numbers of one step."""
    numbers = sum(np.size(part) for part in (batches.values, batches.inputs) if part is not None)
    few = numbers <= _FEW * len(batches.values) and not learner.takes_many_steps
    compiled = _run_few if few else _run_many
    found: Run[ModelT, StateT, MemoryT] = compiled(learner, model, state, memory, batches, *others)
    return found


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
