"""Rows of data under one linear Gaussian model v = W h + μ + ε, h ~ N(0, I), ε ~ N(0, diag ψ).

What is known of h is a matrix of the number of factors q, never of the number of columns n: the precision of h given
what is observed is M = I + WᵀΨ⁻¹W over the observed columns. Without missing entries it is the same for all rows.
"""

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.numerics import LOG_TWO_PI, apply, gram, log_determinant, whitener


@dataclasses.dataclass(frozen=True)
class Square:
    """The products that are kept of a vector (h, v): of all entries with the q entries of h, and their squares."""

    q: int

    def __call__(self, vector: Float[Array, "*batch d"]) -> Float[Array, "*batch d q1"]:
        """Return the products with h in the first q columns, the squares in the last."""
        products = vector[..., :, None] * vector[..., None, : self.q]
        return jnp.concatenate([products, jnp.square(vector)[..., None]], axis=-1)


class Factors(NamedTuple):
    """The posterior p(h | v) = N(mean, covariance) of each row."""

    mean: Float[Array, "rows *batch q"]
    covariance: Float[Array, "rows *batch q q"]


class Inferred(NamedTuple):
    """What one model makes of rows. Without missing entries all rows share one covariance."""

    mean: Float[Array, "... q"]
    covariance: Float[Array, "... q q"]
    log_likelihood: Float[Array, "..."]


class Member(NamedTuple):
    """The parameters of one model, or of many that rows are broadcast against."""

    mean: Float[Array, "... n"]
    loadings: Float[Array, "... n q"]
    noise: Float[Array, "... n"]


def posterior_whitener(member: Member, observed: Bool[Array, "rows n"] | None) -> Float[Array, "... q q"]:
    """Return the whitener of M, the precision of h, so that M⁻¹ = gram(whitener).

    Its diagonal is longer by a rounding error of its own sum, so that no factorization breaks down.
    """
    w, noise = member.loadings, member.noise
    n, q = w.shape[-2:]
    if observed is None:
        information = gram(w / jnp.sqrt(noise)[..., None])
    else:
        of_column = w[:, :, None] * w[:, None, :] / noise[:, None, None]
        information = (observed.astype(w.dtype) @ of_column.reshape(n, q * q)).reshape(-1, q, q)
    eye = jnp.eye(q, dtype=w.dtype)
    return whitener((information + eye) * (1 + (n + q * q) * float(np.finfo(w.dtype).eps) * eye))


def infer(member: Member, values: Float[Array, "... n"], observed: Bool[Array, "rows n"] | None) -> Inferred:
    """Return E[h | v] = m = M⁻¹WᵀΨ⁻¹(v − μ), Cov(h | v) = M⁻¹ and log p(v), all of what is observed of v.

    With r = v − μ − W m the exponent is |m|² + rᵀΨ⁻¹r: two sums of squares, where Woodbury's formula has a difference.
    """
    mean, w, noise = member
    factor = posterior_whitener(member, observed)
    covariance = gram(factor)
    away = values - mean
    log_noise = jnp.log(noise) + LOG_TWO_PI
    if observed is not None:
        away, log_noise = jnp.where(observed, away, 0), jnp.where(observed, log_noise, 0)
    m = apply(covariance, jnp.einsum("...n,...nq->...q", away / noise, w))
    rest = away - apply(w, m)
    if observed is not None:
        rest = jnp.where(observed, rest, 0)
    square = jnp.sum(jnp.square(m), axis=-1) + jnp.sum(jnp.square(rest) / noise, axis=-1)
    log_det = jnp.sum(log_noise, axis=-1) + log_determinant(factor)
    return Inferred(m, covariance, -0.5 * (square + log_det))


def joint_energy(
    member: Member, values: Float[Array, "... n"], observed: Bool[Array, "rows n"] | None, h: Float[Array, "... q"]
) -> Float[Array, "..."]:
    """Return −log p(h, v), of what is observed of v."""
    rest = values - member.mean - apply(member.loadings, h)
    each = jnp.square(rest) / member.noise + jnp.log(member.noise) + LOG_TWO_PI
    visible = jnp.sum(each if observed is None else jnp.where(observed, each, 0), axis=-1)
    return 0.5 * (visible + jnp.sum(jnp.square(h) + LOG_TWO_PI, axis=-1))


class Moments(NamedTuple):
    """Mass, log-likelihood, mean and spread of (h, v): what the statistics are made of."""

    mass: Float[Array, ""]
    log_likelihood: Float[Array, ""]
    mean: Float[Array, " d"]
    spread: Float[Array, "d q1"]


def moments(
    member: Member,
    values: Float[Array, "rows n"],
    weight: Float[Array, " rows"],
    point_variance: Float[Array, ""],
    observed: Bool[Array, "rows n"] | None,
) -> Moments:
    """Return the moments of (h, v) under N(v, point_variance·I) of what is observed, and p of the rest given it.

    The spread has two parts: of the rows' expectations around their mean, and of (h, v) inside of a row.
    """
    seen = infer(member, values, observed)
    away = values - member.mean
    if observed is not None:
        away = jnp.where(observed, away, apply(member.loadings, seen.mean))
    mass = jnp.sum(weight)
    share = weight / jnp.where(mass > 0, mass, 1)
    joint = jnp.concatenate([seen.mean, away], axis=-1)
    center = share @ joint
    joint = joint - center
    q = seen.mean.shape[-1]
    cross, variance = (joint * share[:, None]).T @ joint[:, :q], share @ jnp.square(joint)
    if observed is None:
        inside = _spread_of_row(member, seen.covariance, point_variance)
    else:
        inside = _spread_of_rows(member, seen.covariance, point_variance, share, observed)
    total = jnp.sum(jnp.where(weight > 0, weight * seen.log_likelihood, 0))
    spread = jnp.concatenate([cross, variance[:, None]], axis=-1) + inside
    mean = jnp.concatenate([center[:q], member.mean + center[q:]])
    return Moments(mass, total, mean, spread)


def _stack_spread(h: Float[Array, "q q"], v_h: Float[Array, "n q"], v: Float[Array, " n"]) -> Float[Array, "d q1"]:
    """Return the spread with these covariances of h, of v with h, and variances of v."""
    cross, variance = jnp.concatenate([h, v_h]), jnp.concatenate([jnp.diagonal(h), v])
    return jnp.concatenate([cross, variance[:, None]], axis=-1)


def _spread_of_row(
    member: Member, covariance: Float[Array, "q q"], point_variance: Float[Array, ""]
) -> Float[Array, "d q1"]:
    """Return the spread inside of a row: h moves with M⁻¹, and with v itself through the gain M⁻¹WᵀΨ⁻¹."""
    gain = covariance @ (member.loadings / member.noise[:, None]).T
    return _stack_spread(
        covariance + point_variance * gain @ gain.T,
        point_variance * gain.T,
        jnp.full_like(member.mean, 1) * point_variance,
    )


def _spread_of_rows(
    member: Member,
    covariance: Float[Array, "rows q q"],
    point_variance: Float[Array, ""],
    share: Float[Array, " rows"],
    observed: Bool[Array, "rows n"],
) -> Float[Array, "d q1"]:
    """Return the average spread inside of the rows. A missing entry moves with h, and with its own noise."""
    _, w, noise = member
    n, q = w.shape
    there, absent = share[:, None] * observed, share[:, None] * ~observed
    of_column = w[:, :, None] * w[:, None, :] / jnp.square(noise)[:, None, None]
    smeared = covariance @ (observed.astype(w.dtype) @ of_column.reshape(n, q * q)).reshape(-1, q, q) @ covariance
    h = covariance + point_variance * smeared
    where_absent = apply(jnp.tensordot(absent, h, axes=(0, 0)), w)
    where_there = apply(jnp.tensordot(there, covariance, axes=(0, 0)), w) / noise[:, None]
    variance = (
        jnp.sum(where_absent * w, axis=-1) + noise * jnp.sum(absent, axis=0) + point_variance * jnp.sum(there, axis=0)
    )
    return _stack_spread(jnp.tensordot(share, h, axes=1), where_absent + point_variance * where_there, variance)


def draw_missing(
    member: Member, values: Float[Array, "rows n"], observed: Bool[Array, "rows n"], drawn: Float[Array, "rows n"]
) -> Float[Array, "rows n"]:
    """Move points y drawn from the model by the regression on what is observed: y + W·E[h | (v − y)ₒ]."""
    covariance = gram(posterior_whitener(member, observed))
    apart = jnp.where(observed, values - drawn, 0) / member.noise
    return jnp.where(observed, values, drawn + apply(covariance, apart @ member.loadings) @ member.loadings.T)
