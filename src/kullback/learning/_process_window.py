"""What a window of a stream says to the memory that follows it: the direction of one update, and the traces after it.

Parameters stay as they are for the rows of a window. Then the updates of its rows, each with the trace of all scores
before it, are sums that need nothing but numbers from one row to the next: only the memories are drawn one by one.
"""

from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PyTree

from kullback.core import Batch
from kullback.learning._gradient import parameters_of
from kullback.learning._learner import Key, Scalar
from kullback.models import MutableProcess
from kullback.runtime import one_kernel

ProcessT = TypeVar("ProcessT", bound=MutableProcess)

#: The baseline of a single chain forgets costs after about so many rows.
_REMEMBERED = 10_000


class Baseline(NamedTuple):
    """The mean cost of a row so far, and of how many rows."""

    mean: Scalar
    rows: Scalar


class ProcessMemory(NamedTuple):
    """What follows one stream: memories of several chains, the last row, and a trace of scores for each chain.

    `begun` is False before the first row. `baseline` is for a single chain; several have each other.
    """

    z: Num[Array, "chains ..."]
    last: Float[Array, "..."]
    begun: Bool[Array, ""]
    trace: PyTree
    baseline: Baseline | None


class Report(NamedTuple):
    """What the rows of a window were worth, in nats for each, before anything was learned from them.

    `single` is log p(x' | z, x) of a chain, on average; `mixed` that of the mean of p over chains. `exploitation` is
    D(q(z' | z, x), p(z' | z, x)), and `exploration` −log p(x' | z, x), less what another predictor says of the row.
    """

    single: Scalar
    mixed: Scalar
    exploitation: Scalar
    exploration: Scalar


class Window(NamedTuple, Generic[ProcessT]):
    """The mean direction of a window in the parameters, with that of the critic, and what it leaves behind.

    `novelty` is −log of the mean of p over chains for each row, and 0 for rows that are not `predicted`.
    """

    direction: ProcessT
    critic: Float[Array, " features"] | None
    memory: ProcessMemory
    report: Report
    novelty: Float[Array, " rows"]
    predicted: Float[Array, " rows"]


class _Walk(NamedTuple):
    """The moves along a window: from memory z and row x to memory `after` and row `following`, where `counts` is 1.

    `carry` is what a trace keeps: the discount at a move, 0 where a sequence begins, 1 where a row does not count.
    """

    z: Num[Array, "rows chains ..."]
    x: Float[Array, "rows 1 ..."]
    after: Num[Array, "rows chains ..."]
    following: Float[Array, "rows 1 ..."]
    counts: Float[Array, " rows"]
    carry: Float[Array, " rows"]


def process_window(
    process: ProcessT,
    memory: ProcessMemory,
    batch: Batch,
    key: Key,
    discount: Scalar,
    critic: Float[Array, " features"] | None = None,
) -> Window[ProcessT]:
    """Return what a window says: mean of ∇D(q, p) + ∇(−log p(x')) + ρ·α·(γ − baseline) over rows and chains.

    γ = D(q(z' | z, x), p(z' | z, x)) − log p(x' | z, x), with the next memory averaged out, and α the trace of scores
    ∇log q(z' | z, x) before the row, α ← ρα + ∇log q. The baseline of a chain is the mean γ of the others, which see
    the same rows, and of a single chain the mean γ so far. Nothing of this moves the mean of the direction, and neither
    does a critic v, for which γ + ρ·v(z', x') − v(z, x) takes the place of γ, nor what another predictor ξ says of
    the rows: the first column of `batch.inputs`, where there are any, is added to γ.
    """
    parameters, rest = parameters_of(process)
    moving, others = eqx.partition(parameters, process.memory_part())
    dtype = jnp.result_type(*jax.tree.leaves(parameters))
    discount = jnp.asarray(discount, dtype)
    walk, last = _walk(process, memory, batch, key, discount)
    chains = walk.z.shape[1]
    weight = jnp.asarray(batch.counted, dtype) * walk.counts
    count = jnp.sum(weight)
    share = jnp.where(count > 0, 1 / jnp.where(count > 0, count, 1), 0)

    score = walk.counts[:, None, None] * _score(process, walk)

    def values(moving: PyTree, others: PyTree) -> tuple[Array, Array, Array, Array]:
        """Return D(q, p), −log p(x'), ⟨θ, score⟩ and the critic's mean of what is next, for each row and chain."""
        model: ProcessT = eqx.combine(moving, others, rest)
        does, expected = model.memory_natural(walk.z, walk.x), model.expected_natural(walk.z, walk.x)
        loss = -model.log_prediction(walk.z, walk.x, walk.following)
        ahead = jnp.zeros_like(loss) if critic is None else _critic_ahead(model, does, walk, critic)
        return model.memory_excess(does, expected), loss, jnp.sum(does * score, axis=-1), ahead

    def surrogate(moving: PyTree, others: PyTree) -> tuple[Array, Any]:
        excess, loss, scored, ahead = values(moving, others)
        seen = walk.counts[:, None] > 0
        excess, loss, ahead = (jnp.where(seen, part, 0) for part in (excess, loss, ahead))
        stopped = jax.lax.stop_gradient((excess, loss))
        gain, slope = _advantage(process, stopped, walk, batch, memory.baseline, discount, critic)
        later, toward = _returns(weight[:, None] * gain, walk.carry)
        direct = jnp.sum(weight[:, None] * (excess + loss + discount * ahead))
        total = direct + jnp.sum(later * scored)
        return total * share / chains, (stopped, toward * share / chains, slope)

    (_, ((excess, loss), toward, critic_slope)), direction = jax.value_and_grad(surrogate, (0, 1), has_aux=True)(
        moving, others
    )
    moved = jax.tree.map(
        lambda slope, trace: slope + jnp.tensordot(toward, trace, axes=(0, 0)), direction[0], memory.trace
    )
    traces = _traces(moving, eqx.combine(others, rest), score, walk, memory)
    begun = memory.begun | jnp.any(batch.counted > 0)
    after = ProcessMemory(walk.after[-1], last, begun, traces, memory.baseline)
    mixed = jnp.log(chains) - jax.nn.logsumexp(-loss, axis=1)
    report = _report(excess, loss, mixed, weight * share, batch)
    if memory.baseline is not None:
        after = after._replace(baseline=_next_baseline(memory.baseline, report, count))
    found: ProcessT = eqx.combine(moved, direction[1])
    return Window(found, critic_slope, after, report, mixed * walk.counts, walk.counts)


def _walk(
    process: ProcessT, memory: ProcessMemory, batch: Batch, key: Key, discount: Array
) -> tuple[_Walk, Float[Array, "..."]]:
    """Draw the memories of all chains along the rows of a window. A row without weight is not there."""
    rows = jnp.asarray(batch.values, memory.last.dtype)
    there = batch.counted > 0
    first, second = jax.random.split(key)  # type: ignore[arg-type]
    length, chains = len(rows), len(memory.z)
    # the row before each: of those that are there, or the last of the window before
    latest = jax.lax.cummax(jnp.where(there, jnp.arange(length), -1))
    place = jnp.concatenate([jnp.full(1, -1), latest])
    known = jnp.concatenate([memory.last[None], rows])
    before, last = known[place[:-1] + 1], known[place[-1] + 1]
    counts = there & (memory.begun | (place[:-1] >= 0))
    noise, drive = process.noise(first, (length, chains)), process.drive(before)

    def draw(z: Array, drive: Array, noise: Array) -> Array:
        return process.step(process.driven_natural(z, drive), noise).astype(z.dtype)

    if batch.time is None:

        def step(z: Array, row: tuple[Array, ...]) -> tuple[Array, Array]:
            after = jnp.where(row[2], draw(z, *row[:2]), z)
            return after, after

        found = jax.lax.scan(step, memory.z, (drive, noise, counts))[1]
    else:
        begins = jnp.asarray(batch.time.starts) & there
        counts = counts & ~begins
        fresh = process.start(second, chains).astype(memory.z.dtype)

        def begin_or_step(z: Array, row: tuple[Array, ...]) -> tuple[Array, Array]:
            after = jnp.where(row[2], draw(z, *row[:2]), jnp.where(row[3], fresh, z))
            return after, after

        found = jax.lax.scan(begin_or_step, memory.z, (drive, noise, counts, begins))[1]
    carry = jnp.where(counts, discount, jnp.where(there, jnp.zeros_like(discount), 1))
    z = jnp.concatenate([memory.z[None], found[:-1]])
    return _Walk(z, before[:, None], found, rows[:, None], counts.astype(discount.dtype), carry), last


def _advantage(
    process: MutableProcess,
    costs: tuple[Array, Array],
    walk: _Walk,
    batch: Batch,
    baseline: Baseline | None,
    discount: Array,
    critic: Float[Array, " features"] | None,
) -> tuple[Float[Array, "rows chains"], Float[Array, " features"] | None]:
    """Return γ less its baseline for each row and chain, with the critic in it, and the direction of the critic."""
    cost = costs[0] + costs[1] + _reference(batch, costs[1].dtype)[:, None]
    if critic is None:
        return _centered(cost, baseline), None
    here, there = _features(process, walk.z, walk.x), _features(process, walk.after, walk.following)
    gap = discount * (there @ critic) - here @ critic
    shaped = _centered(cost + gap, baseline)
    # what all chains share is no matter of the critic: it tells memories apart
    apart = here - jnp.mean(here, axis=1, keepdims=True) if here.shape[1] > 1 else here
    error = (shaped - jnp.mean(shaped, axis=1, keepdims=True) if here.shape[1] > 1 else shaped) * walk.counts[:, None]
    return shaped, -jnp.mean(error[..., None] * apart, axis=(0, 1))


def _centered(cost: Float[Array, "rows chains"], baseline: Baseline | None) -> Float[Array, "rows chains"]:
    """Return costs less those of the other chains on average, or less the mean so far of a single one."""
    if baseline is not None:
        return cost - jnp.asarray(baseline.mean, cost.dtype)
    chains = cost.shape[1]
    return (cost - jnp.mean(cost, axis=1, keepdims=True)) * (chains / (chains - 1))


@one_kernel
def _returns(gain: Float[Array, "rows chains"], carry: Float[Array, " rows"]) -> tuple[Array, Array]:
    """Return Σ_{t>s} ρ^{t−s}·gain_t for each row s, and the same from before the first row."""

    def step(later: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        gain, carry = row
        return carry * (gain + later), later

    toward, later = jax.lax.scan(step, jnp.zeros_like(gain[0]), (gain, carry), reverse=True)
    return later, toward


def _score(process: MutableProcess, walk: _Walk) -> Float[Array, "rows chains d"]:
    """Return the score of each move in natural coordinates θ: of an exponential family it is T(z') − E[T(z')]."""
    member: Any = process.memory_kind.at("natural", process.memory_natural(walk.z, walk.x))
    statistics: Array = member.statistics(walk.after)
    return jax.lax.stop_gradient(statistics - member.expectation)


def _traces(moving: PyTree, fixed: PyTree, score: Array, walk: _Walk, memory: ProcessMemory) -> PyTree:
    """Return the traces after the window: those before it, discounted, and the scores of its moves."""
    left = jnp.concatenate([jnp.cumprod(walk.carry[::-1])[::-1][1:], jnp.ones_like(walk.carry[:1])])

    def scores(z: Array, score: Array) -> PyTree:
        def total(moving: PyTree) -> Array:
            model: Any = eqx.combine(moving, fixed)
            return jnp.sum(model.memory_natural(z, walk.x[:, 0]) * score)

        return jax.grad(total)(moving)

    fresh = jax.vmap(scores, in_axes=1)(walk.z, left[:, None, None] * score)
    return jax.tree.map(lambda old, new: jnp.prod(walk.carry) * old + new, memory.trace, fresh)


def _report(excess: Array, loss: Array, mixed: Array, share: Array, batch: Batch) -> Report:
    single = jnp.sum(share * jnp.mean(loss, axis=1))
    explored = single + jnp.sum(share * _reference(batch, loss.dtype))
    return Report(-single, -jnp.sum(share * mixed), jnp.sum(share * jnp.mean(excess, axis=1)), explored)


def _reference(batch: Batch, dtype: Any) -> Float[Array, " rows"]:
    """Return what another predictor says of each row, log ξ(x'), where the inputs have it; otherwise 0."""
    if batch.inputs is None:
        return jnp.zeros(len(batch.values), dtype)
    return jnp.asarray(batch.inputs, dtype)[:, 0]


def _next_baseline(baseline: Baseline, report: Report, count: Array) -> Baseline:
    rows = jnp.minimum(jnp.asarray(baseline.rows) + count, _REMEMBERED)
    part = jnp.where(rows > 0, count / jnp.where(rows > 0, rows, 1), 0)
    part = jnp.minimum(part, 1)
    cost = jnp.asarray(report.exploitation) + report.exploration
    return Baseline(baseline.mean + part * (cost - baseline.mean), rows)


# --- the critic ---------------------------------------------------------------------------------------


def _features(process: MutableProcess, z: Any, x: Any) -> Float[Array, "... features"]:
    """Return the statistics of memories times (1, the row): of tables that is all there is to tell them apart."""
    kind = process.memory_kind
    return _with_rows(process, kind.at("natural", jnp.zeros(kind.size, x.dtype)).statistics(z), x)


def _critic_ahead(process: MutableProcess, does: Array, walk: _Walk, critic: Float[Array, " features"]) -> Array:
    """Return the mean of v(z', x') over the next memory."""
    mean = process.memory_kind.at("natural", does).expectation
    return _with_rows(process, mean, walk.following) @ critic


def _with_rows(process: MutableProcess, statistics: Array, x: Any) -> Float[Array, "... features"]:
    row = process.embed(x)
    row = jnp.concatenate([jnp.ones_like(row[..., :1]), row], axis=-1)
    product = statistics[..., :, None] * row[..., None, :]
    return product.reshape(*product.shape[:-2], -1)


def critic_size(process: MutableProcess) -> int:
    """Return how many weights a critic has."""
    return process.memory_kind.size * (1 + process.embedding_size)
