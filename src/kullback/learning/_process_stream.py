"""A stream of windows, followed by several replicas of a process: each row is predicted, then learned from."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from kullback.core import Batch
from kullback.learning._learner import Clock, Scalar, all_finite, choose
from kullback.learning._process import ProcessGradient, ProcessMessage
from kullback.learning._process_window import process_window
from kullback.learning._step import FAILURES
from kullback.runtime import filter_jit

#: What replicas were worth is forgotten after about so many rows.
_REMEMBERED = 10_000


class Standing(NamedTuple):
    """What each replica was worth lately, in nats per row that it had not learned from, and over how many rows.

    `failures` are windows in a row that no replica could learn from.
    """

    nats: Any
    rows: Scalar
    failures: Scalar

    def extend(self, nats: Float[Array, " replicas"], rows: Array, learned: Bool[Array, " replicas"]) -> "Standing":
        """Return the standing after a window of so many rows, that some replicas have learned from.

        The others count as much as the worst of these; when there are none it says nothing of them.
        """
        seen = jnp.minimum(self.rows + rows, _REMEMBERED)
        part = jnp.where(rows > 0, rows / jnp.where(seen > 0, seen, 1), 0)
        nats = jnp.where(learned, nats, jnp.min(jnp.where(learned, nats, jnp.inf)))
        after = Standing(self.nats + part * (nats - self.nats), seen, jnp.zeros_like(self.failures))
        stays = self._replace(failures=self.failures + 1)
        ended = self.failures >= FAILURES  # that stays, for whoever looks after the last window
        return choose(ended, self, choose(jnp.any(learned), after, stays))


class Followed(NamedTuple):
    """Replicas after some windows, and what the best of them said of each row before it was learned from.

    Leaves of models, states and memories have an axis of replicas. `novelty` is −log p of each row in nats, 0 where
    nothing was `predicted`: of a row that begins a sequence, or is not there. It is `sound` unless a novelty is not
    finite, or several windows in a row could not be learned from.
    """

    models: PyTree
    states: PyTree
    memories: PyTree
    standing: Standing
    novelty: Any
    predicted: Any
    sound: Scalar


@filter_jit
def follow_windows(
    learner: ProcessGradient[Any],
    models: PyTree,
    states: PyTree,
    memories: PyTree,
    standing: Standing,
    batches: Batch,
    count: Scalar,
    step: Scalar,
    key: Array,
) -> Followed:
    """Let replicas learn from the first `count` of stacked windows, one after the other, from step number `step` on.

    For each window the replica answers that was best before it. A replica that a window would lead to numbers that are
    not finite stays as it was, as if the window had not been. The number of stacked windows changes no bit, for the
    loop is the same: two calls that go on from each other end where one does.
    """
    batches = jax.tree.map(jnp.asarray, batches)
    windows, rows = batches.values.shape[:2]
    replicas = jnp.arange(len(standing.nats))

    def follow(model: PyTree, state: PyTree, memory: PyTree, key: Array, batch: Batch, number: Array) -> Any:
        found = process_window(model, memory, batch, key, learner.discount)
        message = ProcessMessage(jnp.sum(found.predicted), found.direction, None, found.report)
        moved, settled, _ = learner.move(model, state, message, Clock(number, 0.0, key))
        learned = all_finite(moved, settled, found.memory, found.report.mixed)
        after = choose(learned, (moved, settled, found.memory), (model, state, memory))
        return *after, learned, found.report.mixed, found.novelty, found.predicted

    def turn(place: Array, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        models, states, memories, standing, novelty, predicted = carry
        batch = jax.tree.map(lambda leaf: jax.lax.dynamic_index_in_dim(leaf, place, keepdims=False), batches)
        number = jnp.asarray(step + place)
        keys = jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(key, number), replicas)
        every = jax.vmap(follow, (0, 0, 0, 0, None, None))
        *after, learned, nats, surprise, seen = every(models, states, memories, keys, batch, number)
        best, seen = jnp.argmax(standing.nats), seen[0]
        novelty = jax.lax.dynamic_update_index_in_dim(novelty, surprise[best], place, 0)
        predicted = jax.lax.dynamic_update_index_in_dim(predicted, seen, place, 0)
        return *after, standing.extend(nats, jnp.sum(seen), learned), novelty, predicted

    blank = jnp.zeros((windows, rows), standing.nats.dtype)
    begin = jax.tree.map(jnp.asarray, (models, states, memories, standing, blank, blank))
    models, states, memories, standing, novelty, predicted = jax.lax.fori_loop(0, count, turn, begin)
    sound = all_finite(novelty) & (standing.failures < FAILURES)
    return Followed(models, states, memories, standing, novelty, predicted, sound)
