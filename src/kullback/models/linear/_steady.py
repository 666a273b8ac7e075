"""The filter and the smoother where nothing is missing: gains depend on the number of steps since the start only.

Covariances never look at the data. They are worked out once, step by step until they no longer change, and kept in
tables; the rows then need only means. A row has a place in the tables: its number of steps since the start, or the last
place if that is far. Sequences that continue from a carry have tables of their own, behind those of the others.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from kullback.models.linear._kalman import (
    Dynamics,
    States,
    conditional_covariance,
    matmul,
    matvec,
    predict_state,
    smoother_gain,
    update_state,
)
from kullback.models.linear._statistics import Sums
from kullback.numerics import whitener

#: Steps that are worked out before looking whether anything still changes, and how often at most.
_AT_ONCE, _TIMES = 32, 32


class Entries(NamedTuple):
    """What the places of a table hold.

    `updated` is Cov(h_t | v_1…v_t), and `gain` takes what is not expected of a row, e = y − C m⁻, to the change δ of
    the mean. With W the whitener, e costs |W e|² + log_det; where there are more outputs than states, W is that of the
    states and e costs |e − C δ|² + |W δ|² + log_det. `back` is the smoother's gain J into this place and
    `rest` what it leaves (`conditional_covariance`).
    """

    updated: Float[Array, "*places q q"]
    gain: Float[Array, "*places q n"]
    whitener: Float[Array, "*places r r"]
    log_det: Float[Array, " *places"]
    back: Float[Array, "*places q q"]
    rest: Float[Array, "*places q q"]


class Places(NamedTuple):
    """Where each row stands: steps since the start, its place in the tables, and whether its sequence ends there."""

    since: Int[Array, " rows"]
    place: Int[Array, " rows"]
    last: Bool[Array, " rows"]
    size: int  # of a table


def table_places(start: Bool[Array, " rows"]) -> Places:
    """Return where the rows stand. Those before the first start continue from the carry."""
    rows = start.shape[0]
    size = min(-(-rows // _AT_ONCE), _TIMES) * _AT_ONCE

    def step(number: Array, begins: Array) -> tuple[Array, Array]:
        now = jnp.where(begins, 0, number)  # below 0 no sequence has started yet
        return now + 1, now

    number = jax.lax.scan(step, jnp.asarray(-rows), start)[1]
    since = number + jnp.where(number < 0, rows, 0)
    place = jnp.minimum(since, size - 1) + jnp.where(number < 0, size, 0)
    return Places(since, place, jnp.concatenate([start[1:], jnp.ones(1, bool)]), size)


def has_settled(new: Float[Array, "q q"], old: Float[Array, "q q"]) -> Bool[Array, ""]:
    """Whether a covariance has stopped changing, but for rounding."""
    scale = jnp.sqrt(jnp.abs(jnp.diagonal(new)))
    return jnp.all(jnp.abs(new - old) <= 32 * float(np.finfo(new.dtype).eps) * scale[:, None] * scale)


def covariance_tables(
    dynamics: Dynamics, design: Float[Array, "n q"], before: States | None, where: Places
) -> tuple[Entries, Bool[Array, ""]]:
    """Return the tables, one for starts and one for the carry if there is one, and whether they reach all rows."""
    far, initial = jnp.max(where.since), dynamics.initial.covariance
    if before is None:
        entries, settled = _table(dynamics, design, (initial, initial), far, where.size)
        return entries, settled | (far < where.size)
    ahead = predict_state(dynamics, before, jnp.zeros_like(before.mean)).covariance
    starts = (jnp.stack([initial, before.covariance]), jnp.stack([initial, ahead]))
    found, settled = jax.lax.map(lambda state: _table(dynamics, design, state, far, where.size), starts)
    entries = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), found)
    return entries, jnp.all(settled) | (far < where.size)


def _table(
    dynamics: Dynamics, design: Float[Array, "n q"], state: tuple[Array, Array], far: Int[Array, ""], size: int
) -> tuple[Entries, Bool[Array, ""]]:
    """Work out one table from the covariances of the state before the first row, and of what is expected of it."""
    none = jnp.zeros(design.shape[1], design.dtype), jnp.zeros(design.shape[0], design.dtype)

    def step(known: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Any]:
        earlier, ahead = known
        now, cost = update_state(States(none[0], ahead), design, none[1], at_once=1)
        onward = predict_state(dynamics, now, none[0]).covariance
        return (now.covariance, onward), (earlier, ahead, now.covariance, cost)

    def work_out(known: tuple[Array, Array]) -> Any:
        known, (earlier, ahead, now, cost) = jax.lax.scan(step, known, None, _AT_ONCE)
        few = design.shape[0] <= design.shape[1]
        factor = whitener(design @ ahead @ design.T + jnp.eye(design.shape[0], dtype=design.dtype) if few else ahead)
        back = smoother_gain(dynamics, earlier, ahead)
        entries = Entries(now, now @ design.T, factor, -2 * cost, back, conditional_covariance(dynamics, earlier, back))
        return known, has_settled(ahead[-1], ahead[-2]), entries

    def some(carried: Any, base: Array) -> Any:
        known, settled, entry = carried

        def same(known: tuple[Array, Array]) -> Any:
            repeated = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (_AT_ONCE, *leaf.shape)), entry)
            return known, settled, repeated

        known, settled, entries = jax.lax.cond(settled | (base > far), same, work_out, known)
        return (known, settled, jax.tree.map(lambda leaf: leaf[-1], entries)), entries

    shapes = jax.eval_shape(work_out, state)[2]
    entry = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), shapes)
    bases = jnp.arange(size // _AT_ONCE) * _AT_ONCE
    (_, settled, _), parts = jax.lax.scan(some, (state, jnp.asarray(False), entry), bases)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), parts), settled


class Means(NamedTuple):
    """Means before and with each row, and the log-likelihood of its outputs."""

    predicted: Float[Array, "rows q"]
    updated: Float[Array, "rows q"]
    log_likelihood: Float[Array, " rows"]


def filter_means(
    dynamics: Dynamics,
    entries: Entries,
    where: Places,
    before: Float[Array, " q"],
    start: Bool[Array, " rows"],
    drive: Float[Array, "rows q"],
    design: Float[Array, "n q"],
    values: Float[Array, "rows n"],
) -> Means:
    """Go forward through the rows."""
    few = design.shape[0] <= design.shape[1]

    def step(mean: Array, row: Any) -> tuple[Array, Any]:
        begins, push, y, place = row
        ahead = jnp.where(begins, dynamics.initial.mean, matvec(dynamics.transition, mean) + push)
        apart = y - matvec(design, ahead)
        change = matvec(entries.gain[place], apart)
        if few:
            square = jnp.sum(jnp.square(matvec(entries.whitener[place], apart)))
        else:
            left = apart - matvec(design, change)
            square = jnp.sum(jnp.square(left)) + jnp.sum(jnp.square(matvec(entries.whitener[place], change)))
        return ahead + change, (ahead + change, square)

    _, (now, square) = jax.lax.scan(step, before, (start, drive, values, where.place))
    last = jnp.concatenate([before[None], now[:-1]])
    ahead = jnp.where(start[:, None], dynamics.initial.mean, last @ dynamics.transition.T + drive)
    return Means(ahead, now, -0.5 * (square + entries.log_det[where.place]))


def smooth_means(
    entries: Entries, where: Places, before: Float[Array, " q"], means: Means
) -> tuple[Float[Array, "rows q"], Float[Array, " q"]]:
    """Go backward through the rows. Returns the means given all rows, and that of the state before row 0."""

    def step(change: Array, row: Any) -> tuple[Array, Array]:
        ends, now, ahead, place = row
        mean = jnp.where(ends, now, now + change)
        return matvec(entries.back[place], mean - ahead), mean

    rows = (where.last, means.updated, means.predicted, where.place)
    change, smoothed = jax.lax.scan(step, jnp.zeros_like(before), rows, reverse=True)
    return smoothed, before + change


def smooth_covariances(entries: Entries, where: Places) -> tuple[Float[Array, "rows q q"], Float[Array, "q q"]]:
    """Return the covariance of each state given all rows, and that of the state before row 0."""

    def step(said: Array, row: Any) -> tuple[Array, Array]:
        ends, place = row
        now = jnp.where(ends, entries.updated[place], said)
        back = entries.back[place]
        return entries.rest[place] + matmul(matmul(back, now), back.T), now

    nothing = jnp.zeros(entries.updated.shape[-2:], entries.updated.dtype)
    first, smoothed = jax.lax.scan(step, nothing, (where.last, where.place), reverse=True)
    return smoothed, first


def sum_smoothed_covariances(
    entries: Entries, where: Places, weight: Float[Array, " rows"]
) -> tuple[Sums, Bool[Array, ""]]:
    """Sum the covariances given all rows without going through the rows, and say whether that is exact.

    The weight is constant along a sequence. A covariance is an affine function of the one after it, P ↦ Σ + J P Jᵀ with
    J and Σ of the place after. So those of all rows at one place are summed at once, from the last place to the first.
    """
    size = where.size
    kinds = entries.updated.shape[0] // size
    found = []
    for kind in range(kinds):
        here = Entries(*(leaf[kind * size : (kind + 1) * size] for leaf in entries))
        place = where.place - kind * size
        mine = (place >= 0) & (place < size)
        found.append(_sums_of_kind(here, where, place, jnp.where(mine, weight, 0), continues=kind > 0))
    sums = jax.tree.map(lambda *parts: sum(parts), *(part for part, _ in found))
    return sums, jnp.all(jnp.stack([exact for _, exact in found]))


def _sums_of_kind(
    entries: Entries, where: Places, place: Int[Array, " rows"], weight: Float[Array, " rows"], continues: bool
) -> tuple[Sums, Bool[Array, ""]]:
    """Sum over the rows of one table.

    At its last place rows follow each other: one that is j rows before the end of its sequence has f∘…∘f(P), j times.
    """
    size, beyond = where.size, where.since - (where.size - 1)  # steps after the first one at the last place
    ends = jnp.where(where.last, weight, 0)
    reached = jax.ops.segment_sum(jnp.where(beyond > 0, 0, weight), place, size)
    finish = jnp.where(beyond < 0, place, size + jnp.clip(beyond, 0, size - 1))
    ended, stayed = jax.ops.segment_sum(ends, finish, 2 * size).reshape(2, size)
    too_far = jnp.sum(ends * jnp.maximum(beyond - (size - 1), 0))

    def again(known: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        p, total = known
        total = total + p
        return (entries.rest[-1] + matmul(matmul(entries.back[-1], p), entries.back[-1].T), total), (p, total)

    last = entries.updated[-1]
    _, (backward, totals) = jax.lax.scan(again, (last, jnp.zeros_like(last)), None, size)
    steady = jnp.tensordot(stayed, totals, axes=1) + too_far * backward[-1]

    def down(later: Array, row: Any) -> tuple[Array, Array]:
        finished, now, many, back, rest = row
        return finished * now + many * rest + matmul(matmul(back, later), back.T), later

    rows = (ended[:-1], entries.updated[:-1], reached[1:], entries.back[1:], entries.rest[1:])
    first, at = jax.lax.scan(down, jnp.tensordot(stayed, backward, axes=1), rows, reverse=True)
    later = jnp.sum(at[:-1], axis=0) + steady  # at[i] is the sum at place i + 1
    lag = jnp.einsum("pij,pkj->ik", at[:-1], entries.back[1:-1]) + steady @ entries.back[-1].T
    every = first + later
    earlier = every - jnp.tensordot(ended, entries.updated, axes=1) - jnp.sum(stayed) * entries.updated[-1]
    exact = has_settled(backward[-1], backward[-2]) | (too_far <= 0)
    if not continues:
        return Sums(first, earlier, lag, later, every), exact
    back = entries.back[0]
    earlier = earlier + reached[0] * entries.rest[0] + matmul(matmul(back, first), back.T)
    return Sums(jnp.zeros_like(first), earlier, lag + first @ back.T, every, every), exact


def unobserved_table(
    dynamics: Dynamics, before: States | None, where: Places
) -> tuple[Float[Array, "places q q"], Bool[Array, ""]]:
    """Return the covariances of states that nothing is known of, in tables, and whether they reach all rows."""
    none = jnp.zeros_like(dynamics.initial.mean)
    starts = [dynamics.initial.covariance]
    if before is not None:
        starts.append(predict_state(dynamics, before, none).covariance)

    def step(covariance: Array, _: None) -> tuple[Array, Array]:
        return predict_state(dynamics, States(none, covariance), none).covariance, covariance

    found = [jax.lax.scan(step, start, None, where.size)[1] for start in starts]
    settled = jnp.all(jnp.stack([has_settled(table[-1], table[-2]) for table in found]))
    return jnp.concatenate(found), settled | (jnp.max(where.since) < where.size)
