"""What rows say of the states of a linear dynamical system, by the quicker of two ways that give the same.

Where nothing is missing, covariances come from tables (`_steady.py`), unless they take too long to settle. Elsewhere,
and for few rows, they are worked out row by row (`_kalman.py`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.models.linear._kalman import (
    Dynamics,
    Filtered,
    Smoothed,
    States,
    filter_rows,
    matmul,
    select_state,
    smooth_rows,
    transpose,
    unobserved_covariances,
    unobserved_means,
)
from kullback.models.linear._observed_rows import Outputs
from kullback.models.linear._statistics import Sums
from kullback.models.linear._steady import (
    Entries,
    Means,
    Places,
    covariance_tables,
    filter_means,
    smooth_covariances,
    smooth_means,
    sum_smoothed_covariances,
    table_places,
    unobserved_table,
)

#: For so few rows tables are not worth their while.
_FEW = 256


class Line(NamedTuple):
    """How the rows follow each other: which start a sequence, what each counts, and what pushes its state.

    `before` is the state before row 0, None where that one starts a sequence. Rows `ahead` do not count yet. Where it
    is `steady`, statistics are worked out by tables only, and the log-likelihood is NaN if they do not reach all rows.
    """

    start: Bool[Array, " rows"]
    counted: Float[Array, " rows"]
    lookahead: Bool[Array, " rows"]
    drive: Float[Array, "rows q"]
    inputs: Float[Array, "rows m"] | None
    before: States | None
    steady: bool

    @property
    def begun(self) -> Float[Array, " rows"]:
        """What each row counts as a start."""
        return jnp.where(self.start, self.counted, 0)

    @property
    def moved(self) -> Float[Array, " rows"]:
        """What each row counts as the end of a transition."""
        return jnp.where(self.start, 0, self.counted)


class Known(NamedTuple):
    """What the statistics need: log p(v_t | past), means given all rows, sums of covariances, and the last state.

    Where entries are missing there is the covariance of each row as well.
    """

    log_likelihood: Float[Array, " rows"]
    mean: Float[Array, "rows q"]
    before: Float[Array, " q"]
    sums: Sums
    carry: States
    covariance: Float[Array, "rows q q"] | None


class _Quick(NamedTuple):
    """The tables with the means that were filtered by them."""

    where: Places
    entries: Entries
    means: Means


def _by_tables_or_rows(
    dynamics: Dynamics,
    line: Line,
    outputs: Outputs,
    quick: Callable[[_Quick], Any],
    general: Callable[[], Any],
) -> Any:
    """Go the quick way if the tables reach all rows. Both ways are compiled."""
    if not _has_tables(line, outputs):
        return general()
    where = table_places(line.start)
    entries, reached = covariance_tables(dynamics, outputs.design, line.before, where)
    return jax.lax.cond(reached, lambda: quick(_filter_quickly(dynamics, line, outputs, where, entries)), general)


def _has_tables(line: Line, outputs: Outputs) -> bool:
    """Whether rows have places in a table: nothing is missing, and there are enough of them."""
    return outputs.design.ndim == 2 and line.start.shape[0] > _FEW


def _filter_quickly(dynamics: Dynamics, line: Line, outputs: Outputs, where: Places, entries: Entries) -> _Quick:
    first = (line.before or dynamics.initial).mean
    rows = (line.start, line.drive, outputs.design, outputs.values)
    return _Quick(where, entries, filter_means(dynamics, entries, where, first, *rows))


def filter_states(dynamics: Dynamics, line: Line, outputs: Outputs) -> tuple[States, Float[Array, " rows"]]:
    """Return the state of each row given those up to it, and log p of the row given those before."""

    def general() -> tuple[States, Array]:
        found = filter_forward(dynamics, line, outputs)
        return found.updated, found.log_likelihood

    def quick(known: _Quick) -> tuple[States, Array]:
        covariance = known.entries.updated[known.where.place]
        return States(known.means.updated, covariance), known.means.log_likelihood

    states, log_likelihood = _by_tables_or_rows(dynamics, line, outputs, quick, general)
    return states, log_likelihood + outputs.log_scale


def log_likelihoods(dynamics: Dynamics, line: Line, outputs: Outputs) -> Float[Array, " rows"]:
    """Return log p of each row given those before."""
    found = _by_tables_or_rows(
        dynamics,
        line,
        outputs,
        lambda known: known.means.log_likelihood,
        lambda: filter_forward(dynamics, line, outputs).log_likelihood,
    )
    return found + outputs.log_scale


def smooth_states(dynamics: Dynamics, line: Line, outputs: Outputs, lag: bool = False) -> Smoothed:
    """Return the state of each row given all rows; with `lag` its covariance with the state before."""
    before = line.before or dynamics.initial

    def general() -> Smoothed:
        return smooth_rows(dynamics, before, line.start, filter_forward(dynamics, line, outputs), lag)

    def quick(known: _Quick) -> Smoothed:
        mean, first = smooth_means(known.entries, known.where, before.mean, known.means)
        covariance, spread = smooth_covariances(known.entries, known.where)
        cross = matmul(covariance, transpose(known.entries.back[known.where.place])) if lag else None
        return Smoothed(States(mean, covariance), States(first, spread), cross)

    states, first, cross = _by_tables_or_rows(dynamics, line, outputs, quick, general)
    cross = None if cross is None else jnp.where(line.start[:, None, None], 0, cross)
    return Smoothed(states, select_state(line.start[0], before, first), cross)


def infer_moments(dynamics: Dynamics, line: Line, outputs: Outputs) -> Known:
    """Return what the statistics need to know of the states."""
    before = line.before or dynamics.initial

    def general() -> Known:
        onward = filter_forward(dynamics, line, outputs)
        (mean, covariance), (first, spread), lag = smooth_rows(dynamics, before, line.start, onward, True)
        assert lag is not None
        sums = sum_covariances(line, covariance, spread, jnp.tensordot(line.moved, lag, axes=1))
        carry = last_state(line, onward.updated, before)
        return Known(onward.log_likelihood, mean, first, sums, carry, covariance if outputs.design.ndim == 3 else None)

    def quick(found: _Quick, reached: Bool[Array, ""] | None = None) -> Known:
        where, entries, means = found
        mean, first = smooth_means(entries, where, before.mean, means)
        counted, exact = sum_smoothed_covariances(entries, where, line.counted)
        exact = exact & ~jnp.any(line.lookahead)
        carry = last_state(line, States(means.updated, entries.updated), before, where.place)
        if reached is not None:
            log_likelihood = jnp.where(reached & exact, means.log_likelihood, jnp.nan)
            return Known(log_likelihood, mean, first, counted, carry, None)

        def row_by_row() -> Sums:
            covariance, spread = smooth_covariances(entries, where)
            lag = jnp.einsum("t,tij,tkj->ik", line.moved, covariance, entries.back[where.place])
            return sum_covariances(line, covariance, spread, lag)

        sums = jax.lax.cond(exact, lambda: counted, row_by_row)
        return Known(means.log_likelihood, mean, first, sums, carry, None)

    found: Known
    if line.steady and _has_tables(line, outputs):
        where = table_places(line.start)
        entries, reached = covariance_tables(dynamics, outputs.design, line.before, where)
        found = quick(_filter_quickly(dynamics, line, outputs, where, entries), reached)
    else:
        found = _by_tables_or_rows(dynamics, line, outputs, quick, general)
    return found._replace(log_likelihood=found.log_likelihood + outputs.log_scale)


def unobserved_moments(dynamics: Dynamics, line: Line) -> tuple[Float[Array, "rows q"], Sums]:
    """Return the means of states that nothing is known of, and the sums of their covariances."""
    before = line.before or dynamics.initial

    def cross(sums: Sums) -> Sums:
        return sums._replace(lag=dynamics.transition @ sums.earlier)

    def general() -> Sums:
        covariance = unobserved_covariances(dynamics, before, line.start)
        return cross(sum_covariances(line, covariance, before.covariance, jnp.zeros_like(before.covariance)))

    def quick() -> Sums:
        def over(weight: Array, place: Array) -> Array:
            return jnp.tensordot(jax.ops.segment_sum(weight, place, table.shape[0]), table, axes=1)

        begun, later = over(line.begun, where.place), over(line.moved, where.place)
        earlier = over(line.moved[1:], where.place[:-1]) + line.moved[0] * before.covariance
        return cross(Sums(begun, earlier, jnp.zeros_like(begun), later, begun + later))

    mean = unobserved_means(dynamics, before.mean, line.start, line.drive)
    if line.start.shape[0] <= _FEW:
        return mean, general()
    where = table_places(line.start)
    table, reached = unobserved_table(dynamics, line.before, where)
    sums: Sums = jax.lax.cond(reached, quick, general)
    return mean, sums


def sum_covariances(
    line: Line, covariance: Float[Array, "rows q q"], before: Float[Array, "q q"], lag: Float[Array, "q q"]
) -> Sums:
    """Sum covariances of rows, and of the state before them."""
    begun, later = (jnp.tensordot(weight, covariance, axes=1) for weight in (line.begun, line.moved))
    earlier = jnp.tensordot(line.moved[1:], covariance[:-1], axes=1) + line.moved[0] * before
    return Sums(begun, earlier, lag, later, begun + later)


def last_state(line: Line, states: States, before: States, place: Int[Array, " rows"] | None = None) -> States:
    """Return the state of the last row that counts; without one, the state before. Rows may have places in a table."""
    number = jnp.max(jnp.where(line.counted > 0, jnp.arange(line.counted.shape[0]), -1))
    row = jnp.maximum(number, 0)
    covariance = states.covariance[row if place is None else place[row]]
    return select_state(number >= 0, States(states.mean[row], covariance), before)


def filter_forward(dynamics: Dynamics, line: Line, outputs: Outputs) -> Filtered:
    """Go forward row by row."""
    before = line.before or dynamics.initial
    return filter_rows(dynamics, before, line.start, line.drive, outputs.design, outputs.values)
