"""Steps of a learner as compiled functions: one step, a run of them in one loop, or gather and move apart.

A step is always the same function, so that a run of 64 steps ends at the same bits as 64 runs of one.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from kullback.core import Batch
from kullback.learning._learner import Clock, Learner, StepInfo, all_finite, choose, merge_messages
from kullback.learning._sized import adaptive_jit
from kullback.runtime import filter_jit, is_array, jit

#: After so many moves in a row to what is not finite a fit ends.
FAILURES = 5


class Stepped(NamedTuple):
    """What a step leaves behind. Where it is not `sound`, it must be taken again without what makes it quick."""

    model: Any
    state: Any
    memory: Any
    info: StepInfo
    sound: Any


def step_once(
    learner: Learner[Any, Any, Any, Any],
    model: Any,
    state: Any,
    memory: Any,
    batches: Sequence[Batch],
    clock: Clock,
    active: Any = True,
) -> Stepped:
    """Return what one step makes of a model: several batches, one after the other in the same stream, are one step.

    A move to what is not finite is left out, and so is a step that is not active or has no point that counts: then
    nothing changes.
    """
    active = active & jnp.any(jnp.stack([jnp.any(batch.counted > 0) for batch in batches]))
    message, after = None, memory
    sound: Any = True
    for number, batch in enumerate(batches):
        gathered = learner.gather(model, state, after, batch, clock.at_batch(number))
        message = gathered.message if message is None else merge_messages(message, gathered.message)
        after, sound = gathered.memory, jnp.logical_and(sound, gathered.sound)
    moved, settled, info = learner.move(model, state, message, clock)
    finite = all_finite(moved, settled, after) & ~jnp.isnan(info.value)
    taken = active & finite
    return Stepped(
        choose(taken, moved, model),
        choose(taken, settled, state),
        after if memory is None else choose(taken, after, memory),
        StepInfo(info.value, jnp.where(active, info.mass, 0), finite | ~active),
        sound,
    )


step = jit(step_once)


class Run(NamedTuple):
    """What a run of steps leaves behind: the infos have an entry for each step."""

    model: Any
    state: Any
    memory: Any
    points: Any
    infos: StepInfo


def run_steps(
    learner: Learner[Any, Any, Any, Any],
    model: Any,
    state: Any,
    memory: Any,
    batches: Batch,
    active: Any,
    clock: Clock,
    failures: Any = 0,
) -> Run:
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
        after = number + jnp.asarray(on, number.dtype), points + found.info.mass.astype(points.dtype), failed
        return (eqx.filter(found.model, is_array), found.state, found.memory, *after), found.info

    arrays, fixed = eqx.partition(model, is_array)
    points = jnp.asarray(clock.points, jnp.result_type(float))
    counts = jnp.asarray(clock.step, jnp.int32), points, jnp.asarray(failures, jnp.int32)
    start = (*jax.tree.map(jnp.asarray, (arrays, state, memory)), *counts)
    (arrays, state, memory, _, points, _), infos = _scan(body, start, (batches, active))
    return Run(eqx.combine(arrays, fixed), state, memory, points, infos)


def _scan(body: Any, carry: Any, rows: tuple[Batch, Any]) -> tuple[Any, Any]:
    """Return what `jax.lax.scan` does, in a loop of which the compiler cannot know that it has one turn only.

    Otherwise it takes such a loop apart and rounds in another order: the bits would depend on the length of chunks.
    """
    length = rows[1].shape[0]
    turns = jnp.maximum(jnp.sum(jnp.asarray(rows[1], jnp.int32)), length)  # the length, known when it runs
    if length == 1:  # the compiler leaves an axis of length 1 out, and lays out anew what follows
        rows = jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), rows)
    rows = jax.tree.map(jnp.asarray, rows)

    def at(place: Any) -> Any:
        return jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, place, keepdims=False), rows)

    def turn(place: Any, both: Any) -> Any:
        carry, info = body(both[0], at(place))
        put = functools.partial(jax.lax.dynamic_update_index_in_dim, index=place, axis=0)
        return carry, jax.tree.map(put, both[1], info)

    shapes = jax.eval_shape(lambda carry: body(carry, at(0))[1], carry)
    blank = jax.tree.map(lambda leaf: jnp.zeros((length, *leaf.shape), leaf.dtype), shapes)
    found: tuple[Any, Any] = jax.lax.fori_loop(0, turns, turn, (carry, blank))
    return found


run = filter_jit(run_steps)


@adaptive_jit
def gather(model: Any, batch: Batch, learner: Any, state: Any, memory: Any, clock: Clock) -> Any:
    """Return what a batch says, by itself: batch EM and clusters put many such messages together before a move."""
    return learner.gather(model, state, memory, batch, clock)[:2]


#: Put two messages together.
merge = filter_jit(merge_messages)


@adaptive_jit
def move(model: Any, message: Any, learner: Any, state: Any, clock: Clock) -> tuple[Any, Any, StepInfo]:
    """Move a model by what all the data has said, unless what comes of it is not finite."""
    moved, settled, info = learner.move(model, state, message, clock)
    finite = all_finite(moved, settled) & ~jnp.isnan(info.value)
    return choose(finite, moved, model), choose(finite, settled, state), info._replace(finite=finite)
