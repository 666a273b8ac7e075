"""Fisher matrices of Gaussians with a full covariance.

P = Σ⁻¹, and c is 1 for the diagonal entries of the matrix part, 2 for the others.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from kullback.numerics import apply, gram, outer, pairs, whitener


def fisher_source(covariance: Float[Array, "*batch n n"]) -> Float[Array, "*batch d d"]:
    """Return the Fisher matrix in (μ, Σ)."""
    precision = gram(whitener(covariance))
    c = _multiplicity(precision)
    # ½·c·c·½ of the symmetric products: ½P_km² for two diagonal entries, P_km P_kn for one, the sum for none
    return _blocks(precision, None, 0.25 * outer(c) * _symmetric_products(precision))


def fisher_natural(
    mean: Float[Array, "*batch n"], covariance: Float[Array, "*batch n n"]
) -> Float[Array, "*batch d d"]:
    """Return the covariance of the statistics."""
    c = _multiplicity(covariance)
    k, m = _entries(mean.shape[-1])
    # Cov(x_i, x_k x_m) and Cov(x_k x_l, x_m x_n) of a Gaussian
    cross = c * (covariance[..., :, k] * mean[..., None, m] + covariance[..., :, m] * mean[..., None, k])
    square = _symmetric_products(covariance)
    for a, b in ((k, m), (m, k)):
        for d, e in ((k, m), (m, k)):
            square = square + (mean[..., a, None] * mean[..., None, d]) * covariance[..., b[:, None], e[None, :]]
    return _blocks(covariance, cross, outer(c) * square)


def fisher_expectation(
    mean: Float[Array, "*batch n"], covariance: Float[Array, "*batch n n"]
) -> Float[Array, "*batch d d"]:
    """Return the inverse of that covariance."""
    precision = gram(whitener(covariance))
    weighted = apply(precision, mean)
    k, m = _entries(mean.shape[-1])
    first = precision * (1 + jnp.sum(mean * weighted, axis=-1)[..., None, None]) + outer(weighted)
    half = precision[..., :, k] * weighted[..., None, m] + precision[..., :, m] * weighted[..., None, k]
    return _blocks(first, -0.5 * half, 0.25 * _symmetric_products(precision))


def _symmetric_products(m: Float[Array, "*batch n n"]) -> Float[Array, "*batch s s"]:
    """Return M_km M_ln + M_kn M_lm for the entries kl and mn of the matrix part."""
    k, first = _entries(m.shape[-1])

    def at(a: Any, b: Any) -> Array:
        return m[..., a[:, None], b[None, :]]

    return at(k, k) * at(first, first) + at(k, first) * at(first, k)


def _entries(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row and column of each entry of the matrix part: the diagonal first, then i < j."""
    i, j = pairs(n)
    diagonal = np.arange(n, dtype=np.int32)
    return np.concatenate([diagonal, i]), np.concatenate([diagonal, j])


def _multiplicity(like: Float[Array, "*batch n n"]) -> Float[Array, " s"]:
    k, m = _entries(like.shape[-1])
    return jnp.asarray(np.where(k == m, 1.0, 2.0), like.dtype)


def _blocks(first: Array, cross: Array | None, second: Array) -> Array:
    if cross is None:
        cross = jnp.zeros(first.shape[:-1] + second.shape[-1:], first.dtype)
    top = jnp.concatenate([first, cross], axis=-1)
    bottom = jnp.concatenate([jnp.swapaxes(cross, -1, -2), second], axis=-1)
    return jnp.concatenate([top, bottom], axis=-2)
