"""Statistics of a linear dynamical system, and the regressions that make a system of them."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import CenteredStatistics, SummedStatistics
from kullback.numerics import LOG_TWO_PI, Numeric, gram, log_determinant, outer, whitener


class LinearStatistics(SummedStatistics):
    """Means and covariances of h₁, of (h_{t−1}, u_t, h_t) and of (h_t, u_t, v_t), each with a mass of its own.

    A sequence of T steps counts once for its start, T − 1 times for transitions, T times for emissions. Inputs u are
    part of a block where the system has a matrix for them.
    """

    mass: Float[Numeric, ""]
    log_likelihood: Float[Numeric, ""]
    initial: CenteredStatistics
    transition: CenteredStatistics
    emission: CenteredStatistics


class Sums(NamedTuple):
    """Covariances, summed with the weights of the rows: of starts, of both ends of transitions, and of all states.

    `lag` is of the end with the beginning of a transition.
    """

    initial: Float[Array, "q q"]
    earlier: Float[Array, "q q"]
    lag: Float[Array, "q q"]
    later: Float[Array, "q q"]
    every: Float[Array, "q q"]


def centered_moments(
    values: Float[Array, "rows d"], weight: Float[Array, " rows"], inside: Float[Array, "d d"]
) -> CenteredStatistics:
    """Return the statistics of rows with these means, and covariances that sum to `inside`."""
    mass = jnp.sum(weight)
    whole = jnp.where(mass > 0, mass, 1)
    share = weight / whole
    values = jnp.where(weight[:, None] > 0, values, 0)
    mean = share @ values
    away = values - mean
    spread = (away * share[:, None]).T @ away + inside / whole
    return CenteredStatistics(mass, jnp.zeros_like(mass), mean, spread, outer)


def joint_covariance(
    early: Float[Array, "q q"], cross: Float[Array, "n q"], late: Float[Array, "n n"], inputs: int
) -> Float[Array, "d d"]:
    """Return the covariance of (x, u, y) with known u from those of x, of y with x, and of y."""
    q, n = early.shape[0], late.shape[0]
    none = jnp.zeros((inputs, q + n), early.dtype)
    top = jnp.concatenate([early, jnp.zeros((q, inputs), early.dtype), cross.T], axis=1)
    bottom = jnp.concatenate([cross, jnp.zeros((n, inputs), early.dtype), late], axis=1)
    middle = jnp.concatenate([none[:, :q], jnp.zeros((inputs, inputs), early.dtype), none[:, q:]], axis=1)
    return jnp.concatenate([top, middle, bottom])


class Regression(NamedTuple):
    """y = coefficients·z + offset + N(0, noise)."""

    coefficients: Float[Array, "n p"]
    offset: Float[Array, " n"]
    noise: Float[Array, "n n"]


def _mean_around(statistics: CenteredStatistics, offset: Float[Array, " n"]) -> Float[Array, " d"]:
    """Return the mean of (z, y − offset)."""
    mean, n = jnp.asarray(statistics.mean), offset.shape[0]
    return jnp.concatenate([mean[:-n], mean[-n:] - offset])


def _residual_map(coefficients: Float[Array, "n p"]) -> Float[Array, "n d"]:
    """Return the matrix that takes (z, y) to y − coefficients·z."""
    return jnp.concatenate([-coefficients, jnp.eye(coefficients.shape[0], dtype=coefficients.dtype)], axis=1)


def regress(old: Regression, statistics: CenteredStatistics, free: tuple[bool, ...], offset: bool) -> Regression:
    """Return the regression of y on the free columns of z, and the noise that it leaves.

    The old coefficients are moved by the regression of what they leave over. What the data does not determine stays as
    it is. Where the offset is free, moments are taken around the mean.
    """
    spread = jnp.asarray(statistics.spread)
    mean = _mean_around(statistics, old.offset)
    second = spread if offset else spread + outer(mean)
    coefficients, p = old.coefficients, old.coefficients.shape[1]
    chosen = np.flatnonzero(free).astype(np.int32)
    if len(chosen):
        left_over = _residual_map(coefficients) @ second[:, chosen]
        coefficients = coefficients.at[:, chosen].add(left_over @ _inverse(second[chosen][:, chosen]))
    new_offset = old.offset + (mean[p:] - coefficients @ mean[:p]) if offset else old.offset
    left = _residual_map(coefficients)
    # where nothing varies, the offset itself is known up to its rounding: (4ε·offset)² is what that leaves
    rounding = 16 * float(np.finfo(second.dtype).eps) ** (4 / 3) * jnp.square(new_offset)
    noise = positive_definite(left @ second @ left.T, jnp.diagonal(second)[p:] + rounding)
    seen = jnp.asarray(statistics.mass) > 0
    new = (coefficients, new_offset, noise)
    return Regression(*(jnp.where(seen, a, b) for a, b in zip(new, old, strict=True)))


def _inverse(matrix: Float[Array, "p p"]) -> Float[Array, "p p"]:
    """Return the pseudo-inverse of a matrix of second moments, whatever the units of its entries."""
    p, variance = matrix.shape[0], jnp.diagonal(matrix)
    scale = 1 / jnp.sqrt(jnp.where(variance > 0, variance, 1))
    values, vectors = jnp.linalg.eigh(matrix * scale[:, None] * scale)
    kept = values > 16 * p * float(np.finfo(matrix.dtype).eps)
    inverse = (vectors * jnp.where(kept, 1 / jnp.where(kept, values, 1), 0)) @ vectors.T
    return inverse * scale[:, None] * scale


class Inside(NamedTuple):
    """Summed covariances of what is not known of each row: of the states, of v with h, and of v."""

    sums: Sums
    cross: Float[Array, "n q"]
    late: Float[Array, "n n"]


def positive_definite(matrix: Float[Array, "n n"], variance: Float[Array, " n"]) -> Float[Array, "n n"]:
    """Return the covariance, symmetric. Where no digits of one are left, its diagonal is longer by ε^(2/3)·variance."""
    matrix = 0.5 * (matrix + matrix.T)
    least = float(np.finfo(matrix.dtype).eps ** (2 / 3)) * variance + float(np.finfo(matrix.dtype).tiny)
    broken = jnp.any(jnp.isnan(jnp.linalg.cholesky(matrix)))
    eye = jnp.eye(matrix.shape[0], dtype=matrix.dtype)
    diagonal = jnp.maximum(jnp.diagonal(matrix), 0) + least
    repaired = jnp.where(eye > 0, diagonal, matrix)
    still = broken & jnp.any(jnp.isnan(jnp.linalg.cholesky(repaired)))
    return jnp.where(still, eye * diagonal, jnp.where(broken, repaired, matrix))


def gaussian_cost(second: Float[Array, "n n"], noise: Float[Array, "n n"]) -> Float[Array, ""]:
    """Return −E log N(x; 0, noise) = ½ tr noise⁻¹ E[x xᵀ] + ½ log|2π noise|."""
    factor = whitener(noise)
    constant = log_determinant(factor) + noise.shape[0] * LOG_TWO_PI
    return 0.5 * (jnp.sum(gram(factor) * second) + constant)


def regression_cost(statistics: CenteredStatistics, regression: Regression) -> Float[Array, ""]:
    """Return −E log N(y; coefficients·z + offset, noise), times the mass."""
    left = _residual_map(regression.coefficients)
    bias = left @ _mean_around(statistics, regression.offset)
    second = left @ jnp.asarray(statistics.spread) @ left.T + outer(bias)
    return jnp.multiply(statistics.mass, gaussian_cost(second, regression.noise))
