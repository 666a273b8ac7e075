"""The Kalman filter and the Rauch–Tung–Striebel smoother where gains change from row to row.

Sequences stand one below the other. Outputs have independent unit noise (`_observed_rows.py`), so the filter learns
from one at a time, with no factorization inside the loop, in Joseph's form. The smoother sums covariances and
never subtracts them. Both keep covariances symmetric and positive definite.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.numerics import apply, whitener

#: Up to so many outputs are written out inside the loop over rows.
_WRITTEN_OUT = 8
#: Up to this size a product of matrices is a plain sum of products; calling a library costs more than the arithmetic.
#: Some products beside each other, up to so many, are compiled sooner as calls.
_SMALL, _SOME = 16, 64


class States(NamedTuple):
    """N(mean, covariance) of the hidden state, of one step or of each row."""

    mean: Float[Array, "*rows q"]
    covariance: Float[Array, "*rows q q"]


class Dynamics(NamedTuple):
    """How the state begins, N(mean, covariance), and how it moves: h ← A h + drive + N(0, noise)."""

    transition: Float[Array, "q q"]
    noise: Float[Array, "q q"]
    initial: States


class Filtered(NamedTuple):
    """What is known of each state before its row and with it, and log p of the row given those before it.

    The log-likelihood is that of the outputs; `Outputs.log_scale` belongs to it.
    """

    predicted: States
    updated: States
    log_likelihood: Float[Array, " rows"]


class Smoothed(NamedTuple):
    """What all rows say of each state, and of the state before row 0.

    `lag` is Cov(h_t, h_{t−1}), 0 where a sequence starts; None if it was not asked for.
    """

    states: States
    before: States
    lag: Float[Array, "rows q q"] | None


def matmul(a: Float[Array, "... m k"], b: Float[Array, "... k n"]) -> Float[Array, "... m n"]:
    """Return the product of small matrices, ten times quicker inside a loop than `@`."""
    if max(a.shape[-2:]) > _SMALL or 1 < math.prod(a.shape[:-2]) <= _SOME:
        return a @ b
    return jnp.sum(a[..., :, :, None] * b[..., None, :, :], axis=-2)


def matvec(matrix: Float[Array, "m k"], vector: Float[Array, " k"]) -> Float[Array, " m"]:
    """Return the product of a small matrix with a vector, for the same reason."""
    return jnp.sum(matrix * vector, axis=-1)


def transpose(matrix: Float[Array, "*batch m n"]) -> Float[Array, "*batch n m"]:
    """Return the transpose."""
    return jnp.swapaxes(matrix, -1, -2)


def symmetric(matrix: Float[Array, "*batch q q"]) -> Float[Array, "*batch q q"]:
    """Return the symmetric part."""
    return 0.5 * (matrix + transpose(matrix))


def predict_state(dynamics: Dynamics, state: States, drive: Float[Array, " q"]) -> States:
    """Return the state one step later: N(A m + drive, A P Aᵀ + Q)."""
    a = dynamics.transition
    return States(matvec(a, state.mean) + drive, symmetric(matmul(matmul(a, state.covariance), a.T) + dynamics.noise))


def update_state(
    state: States, design: Float[Array, "n q"], values: Float[Array, " n"], at_once: int = _WRITTEN_OUT
) -> tuple[States, Float[Array, ""]]:
    """Return the state with these outputs, and their log-likelihood up to −½ log 2π each.

    One output y = c·h + N(0, 1): the gain is k = P c/s with s = c·P c + 1, and P ← (I − k cᵀ) P (I − k cᵀ)ᵀ + k kᵀ.
    """

    def one(known: States, output: tuple[Array, Array]) -> tuple[States, Array]:
        c, y = output
        along = matvec(known.covariance, c)
        spread = jnp.maximum(jnp.sum(c * along), 0) + 1
        gain, surprise = along / spread, y - jnp.sum(c * known.mean)
        cross = gain[:, None] * along
        covariance = known.covariance - cross - cross.T + spread * gain[:, None] * gain
        return States(known.mean + gain * surprise, covariance), surprise * surprise / spread + jnp.log(spread)

    last, cost = jax.lax.scan(one, state, (design, values), unroll=min(max(len(values), 1), at_once))
    return last, -0.5 * jnp.sum(cost)


def select_state(condition: Any, one: States, other: States) -> States:
    """Return the one state where the condition holds, else the other."""
    return States(*(jnp.where(condition, a, b) for a, b in zip(one, other, strict=True)))


def filter_rows(
    dynamics: Dynamics,
    before: States,
    start: Bool[Array, " rows"],
    drive: Float[Array, "rows q"],
    design: Float[Array, "... n q"],
    values: Float[Array, "rows n"],
) -> Filtered:
    """Go forward through the rows. A row that does not start a sequence follows the row before it, or `before`."""

    def step(state: States, row: Any) -> tuple[States, Filtered]:
        begins, push, own_design, y = row
        ahead = select_state(begins, dynamics.initial, predict_state(dynamics, state, push))
        now, log_likelihood = update_state(ahead, design if own_design is None else own_design, y)
        return now, Filtered(ahead, now, log_likelihood)

    rows = (start, drive, design if design.ndim == 3 else None, values)
    return jax.lax.scan(step, before, rows)[1]


def smoother_gain(
    dynamics: Dynamics, known: Float[Array, "*rows q q"], ahead: Float[Array, "*rows q q"]
) -> Float[Array, "*rows q q"]:
    """Return J = P Aᵀ(P⁻)⁻¹ from the covariances P of h_{t−1} given v_1…v_{t−1} and P⁻ = A P Aᵀ + Q of h_t."""
    factor = whitener(ahead)
    return matmul(matmul(matmul(known, dynamics.transition.T), transpose(factor)), factor)


def conditional_covariance(
    dynamics: Dynamics, known: Float[Array, "*rows q q"], back: Float[Array, "*rows q q"]
) -> Float[Array, "*rows q q"]:
    """Return Cov(h_{t−1} | h_t, v_1…v_{t−1}) = (I − J A)P(I − J A)ᵀ + J Q Jᵀ, a sum and no difference."""
    a = dynamics.transition
    rest = jnp.eye(a.shape[0], dtype=a.dtype) - matmul(back, a)
    kept = matmul(matmul(rest, known), transpose(rest))
    return kept + matmul(matmul(back, dynamics.noise), transpose(back))


def smooth_rows(
    dynamics: Dynamics, before: States, start: Bool[Array, " rows"], filtered: Filtered, lag: bool
) -> Smoothed:
    """Go backward through the rows: h_{t−1} | all has mean m + J(s_t − m⁻) and covariance Σ + J P_t Jᵀ."""
    last = States(*(jnp.concatenate([a[None], b[:-1]]) for a, b in zip(before, filtered.updated, strict=True)))
    gain = smoother_gain(dynamics, last.covariance, filtered.predicted.covariance)

    ends = jnp.concatenate([start[1:], jnp.ones(1, bool)])
    eye = jnp.eye(before.mean.shape[0], dtype=before.mean.dtype)

    # two short loops: each is one piece of code for the compiler, both together are many
    def mean_step(said: Array, row: Any) -> tuple[Array, Array]:
        breaks, now, ahead, back, known = row
        mean = jnp.where(breaks, now, said)
        return known + matvec(back, mean - ahead), mean

    def covariance_step(said: Array, row: Any) -> tuple[Array, Any]:
        breaks, now, back, known = row
        covariance = jnp.where(breaks, now, said)
        # `conditional_covariance` + J P Jᵀ, with one product for both that end in Jᵀ
        cross, rest = matmul(back, covariance), eye - matmul(back, dynamics.transition)
        pushed = matmul(matmul(back, dynamics.noise) + cross, back.T)
        return matmul(matmul(rest, known), rest.T) + pushed, (covariance, cross if lag else None)

    rows = (ends, filtered.updated.mean, filtered.predicted.mean, gain, last.mean)
    first, mean = jax.lax.scan(mean_step, before.mean, rows, reverse=True)
    spreads = (ends, filtered.updated.covariance, gain, last.covariance)
    spread, (covariance, cross) = jax.lax.scan(covariance_step, before.covariance, spreads, reverse=True)
    states, earliest = States(mean, symmetric(covariance)), States(first, symmetric(spread))
    return Smoothed(states, earliest, None if cross is None else transpose(cross))


def unobserved_means(
    dynamics: Dynamics, before: Float[Array, " q"], start: Bool[Array, " rows"], drive: Float[Array, "rows q"]
) -> Float[Array, "rows q"]:
    """Return the mean of each state when nothing is observed."""

    def step(mean: Array, row: Any) -> tuple[Array, Array]:
        begins, push = row
        now = jnp.where(begins, dynamics.initial.mean, matvec(dynamics.transition, mean) + push)
        return now, now

    return jax.lax.scan(step, before, (start, drive))[1]


def unobserved_covariances(dynamics: Dynamics, before: States, start: Bool[Array, " rows"]) -> Float[Array, "rows q q"]:
    """Return the covariance of each state when nothing is observed."""
    none = jnp.zeros_like(before.mean)

    def step(state: Array, begins: Array) -> tuple[Array, Array]:
        ahead = predict_state(dynamics, States(none, state), none).covariance
        now = jnp.where(begins, dynamics.initial.covariance, ahead)
        return now, now

    return jax.lax.scan(step, before.covariance, start)[1]


def draw_path(
    dynamics: Dynamics,
    start: Bool[Array, " rows"],
    drive: Float[Array, "rows q"],
    normal: Float[Array, "rows q"],
) -> Float[Array, "rows q"]:
    """Return a path of states made of independent normal numbers; row 0 starts a sequence."""
    a, (mean, _) = dynamics.transition, dynamics.initial
    first = mean + apply(jnp.linalg.cholesky(dynamics.initial.covariance), normal)
    push = drive + apply(jnp.linalg.cholesky(dynamics.noise), normal)

    def step(h: Array, row: Any) -> tuple[Array, Array]:
        begins, begun, moved = row
        now = jnp.where(begins, begun, matvec(a, h) + moved)
        return now, now

    return jax.lax.scan(step, jnp.zeros_like(mean), (start, first, push))[1]
