"""Rows with missing entries under one Gaussian: what is observed says what is expected of the rest.

There are two ways to the same. From the *observed* side each row factors Σₒₒ. From the *missing* side it factors Pₘₘ
with P = Σ⁻¹, which is small where little is missing: Cov(xₘ | xₒ) = Pₘₘ⁻¹ and E[xₘ | xₒ] = μₘ − Pₘₘ⁻¹Pₘₒ(xₒ − μₒ).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.core import Batch
from kullback.numerics import LOG_TWO_PI, gram, log_determinant, whitener

Inside = Callable[[Array, Array], Array]


class Completed(NamedTuple):
    """What one Gaussian makes of rows with missing entries.

    `inside(share, point_variance)` is the average over rows, by shares, of the covariance of a row given what is
    observed of it, where the observed entries themselves have the variance of a point.
    """

    log_likelihood: Float[Array, " rows"]
    filled: Float[Array, "rows n"]
    inside: Inside


def completer(batch: Batch, dtype: Any) -> Callable[[Array, Array], Completed]:
    """Return what takes mean and covariance of a Gaussian to log p(xₒ), E[x | xₒ] and Cov(x | xₒ) of each row."""
    values = jnp.asarray(batch.values, dtype)
    observed = jnp.ones(values.shape, bool) if batch.observed is None else jnp.asarray(batch.observed)
    most = batch.most_missing
    if most is None or 2 * most > values.shape[-1]:
        return lambda mean, covariance: _from_observed(mean, covariance, values, observed)
    places = _missing_places(observed, most)
    return lambda mean, covariance: _from_missing(mean, covariance, values, observed, places)


def completed_moments(
    parts: Completed, weight: Float[Array, " rows"], point_variance: Float[Array, ""]
) -> tuple[Array, Array, Array]:
    """Return mass, mean and spread of completed rows, with what is not known of the missing entries in the spread."""
    mass = jnp.sum(weight)
    share = weight / jnp.where(mass > 0, mass, 1)
    mean = share @ parts.filled
    away = parts.filled - mean
    return mass, mean, (away * share[:, None]).T @ away + parts.inside(share, point_variance)


def log_conditionals(
    away: Float[Array, "rows n"], covariance: Float[Array, "... n n"], observed: Bool[Array, "rows n"] | None
) -> Float[Array, "rows n"]:
    """Return log p(x_j | the other observed entries) of rows x = μ + away; 0 for what is missing.

    With Q the inverse of the covariance of what is observed it is ½log(Q_jj/2π) − ½(Q·away)_j²/Q_jj. The covariance may
    be one for each row.
    """
    if observed is None:
        precision = gram(whitener(covariance))
    else:
        both = observed[:, :, None] & observed[:, None, :]
        eye = jnp.eye(away.shape[-1], dtype=away.dtype)
        precision = gram(whitener(jnp.where(both, covariance, eye)))
        away = jnp.where(observed, away, 0)
    diagonal = jnp.diagonal(precision, axis1=-2, axis2=-1)
    pull = away @ precision if precision.ndim == 2 else jnp.einsum("rij,rj->ri", precision, away)
    value = 0.5 * (jnp.log(diagonal) - LOG_TWO_PI - jnp.square(pull) / diagonal)
    return value if observed is None else jnp.where(observed, value, 0)


# --- from the observed side ----------------------------------------------------------------------------------


def _from_observed(
    mean: Float[Array, " n"],
    covariance: Float[Array, "n n"],
    values: Float[Array, "rows n"],
    observed: Bool[Array, "rows n"],
) -> Completed:
    n = values.shape[-1]
    both = observed[:, :, None] & observed[:, None, :]
    eye = jnp.eye(n, dtype=values.dtype)
    w = whitener(jnp.where(both, covariance, eye))
    away = jnp.where(observed, values - mean, 0)
    square = jnp.sum(jnp.square(jnp.einsum("rij,rj->ri", w, away)), axis=-1)
    count = jnp.sum(observed, axis=-1)
    regression = covariance @ jnp.where(both, gram(w), 0)
    gain = jnp.where(observed[:, :, None], jnp.where(both, eye, 0), regression)

    def inside(share: Array, point_variance: Array) -> Array:
        neither = ~observed[:, :, None] & ~observed[:, None, :]
        unknown = jnp.where(neither, covariance - regression @ covariance, 0)
        smeared = jnp.einsum("r,rij,rkj->ik", share, gain, gain)
        return jnp.einsum("r,rij->ij", share, unknown) + point_variance * smeared

    log_likelihood = -0.5 * (square + log_determinant(w) + count * LOG_TWO_PI)
    return Completed(log_likelihood, mean + jnp.einsum("rij,rj->ri", gain, away), inside)


# --- from the missing side -----------------------------------------------------------------------------------


class _Places(NamedTuple):
    """The columns that each row lacks, of which only some count, and the place of each column among them."""

    column: Int[Array, "rows most"]
    counts: Bool[Array, "rows most"]
    place: Int[Array, "rows n"]


def _missing_places(observed: Bool[Array, "rows n"], most: int) -> _Places:
    column = jnp.argsort(observed, axis=1, stable=True)[:, :most]
    counts = ~jnp.take_along_axis(observed, column, axis=1)
    return _Places(column, counts, jnp.clip(jnp.cumsum(~observed, axis=1) - 1, 0, most - 1))


def _from_missing(
    mean: Float[Array, " n"],
    covariance: Float[Array, "n n"],
    values: Float[Array, "rows n"],
    observed: Bool[Array, "rows n"],
    places: _Places,
) -> Completed:
    """Return the same from Pₘₘ of each row. With the mean at the missing entries |W(x − μ)|² is that of the observed.

    Products of the whitener W, Σ⁻¹ = WᵀW, keep more digits than those of Σ⁻¹: their error grows as the root of the
    condition of Σ.
    """
    n, most = values.shape[-1], places.column.shape[-1]
    w = whitener(covariance)
    precision = gram(w)
    away = jnp.where(observed, values - mean, 0)
    pull = jnp.where(places.counts, jnp.take_along_axis((away @ w.T) @ w, places.column, axis=1), 0)
    rows = precision[places.column]  # the rows of P that belong to the missing entries
    both = places.counts[:, :, None] & places.counts[:, None, :]
    columns = jnp.broadcast_to(places.column[:, None, :], both.shape)
    v = whitener(jnp.where(both, jnp.take_along_axis(rows, columns, axis=2), jnp.eye(most, dtype=w.dtype)))
    unknown = jnp.where(both, gram(v), 0)
    moved = -jnp.einsum("rab,rb->ra", unknown, pull)
    away = jnp.where(observed, away, jnp.take_along_axis(moved, places.place, axis=1))
    square = jnp.sum(jnp.square(away @ w.T), axis=-1)
    log_det = log_determinant(w) + log_determinant(v)

    def inside(share: Array, point_variance: Array) -> Array:
        gain = -unknown @ jnp.where(observed[:, None, :], rows, 0)
        of_missing = share[:, None, None] * (unknown + point_variance * gain @ jnp.swapaxes(gain, 1, 2))
        flat = (places.column[:, :, None] * n + places.column[:, None, :]).ravel()
        missing = jnp.zeros(n * n, w.dtype).at[flat].add(of_missing.ravel()).reshape(n, n)
        cross = jnp.zeros((n, n), w.dtype).at[places.column.ravel()].add((share[:, None, None] * gain).reshape(-1, n))
        smeared = cross + cross.T + jnp.diag(share @ observed.astype(w.dtype))
        return missing + point_variance * smeared

    count = jnp.sum(observed, axis=-1)
    return Completed(-0.5 * (square + log_det + count * LOG_TWO_PI), mean + away, inside)
