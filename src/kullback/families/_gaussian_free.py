"""Free coordinates of Gaussians with a full covariance: each coordinate given those before it.

xⱼ = μⱼ + Σ_{i<j} bᵢⱼ (xᵢ − μᵢ) + e^{sⱼ} zⱼ with independent z ~ N(0, 1): the logarithms sⱼ of the Cholesky factor's
diagonal, and the coefficients bᵢⱼ of regressions. Whitening a point takes products only, no solution of equations.
"""

import math
from typing import Any

import jax.numpy as jnp
from jax.lax.linalg import triangular_solve
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from kullback.families._family import Coordinates, FreeGroup
from kullback.numerics import Numeric, apply, bounded_log_scale, dimension, gram, log_normal, pairs, whitener


def to_free(mean: Numeric, covariance: Numeric) -> Float[Array, "*batch d"]:
    """Return (μᵢ), (sᵢ), (bᵢⱼ) for i < j."""
    w = whitener(covariance)
    scale = 1 / jnp.diagonal(w, axis1=-2, axis2=-1)
    i, j = pairs(w.shape[-1])
    return jnp.concatenate([jnp.asarray(mean), jnp.log(scale), -w[..., j, i] * scale[..., j]], axis=-1)


def split_free(free: Numeric) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"], Float[Array, "*batch n n"]]:
    """Return the means, the log scales, and I − B, which takes x − μ to its part that is not foretold."""
    free = jnp.asarray(free)
    n = dimension(free.shape[-1])
    i, j = pairs(n)
    unit = jnp.broadcast_to(jnp.eye(n, dtype=free.dtype), (*free.shape[:-1], n, n))
    return free[..., :n], bounded_log_scale(free[..., n : 2 * n]), unit.at[..., j, i].set(-free[..., 2 * n :])


def from_free(free: Numeric) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n n"]]:
    """Return mean and covariance."""
    mean, log_scale, unit = split_free(free)
    root = _root(log_scale, unit)
    return mean, jnp.einsum("...ik,...jk->...ij", root, root)


def _root(log_scale: Array, unit: Array) -> Float[Array, "*batch n n"]:
    """Return the Cholesky factor (I − B)⁻¹ diag(e^s) of the covariance."""
    scales = jnp.exp(log_scale)[..., None] * jnp.eye(unit.shape[-1], dtype=unit.dtype)
    return triangular_solve(unit, scales, left_side=True, lower=True, unit_diagonal=True)


def log_prob_free(free: Array, x: Array, observed: Any) -> Float[Array, "..."]:
    """Return the log density, or that of what is observed."""
    mean, log_scale, unit = split_free(free)
    if observed is None:
        return jnp.sum(log_normal(apply(unit, x - mean), log_scale), axis=-1)
    root = _root(log_scale, unit)
    return _log_prob_observed(mean, root, x, observed)


def log_prob_observed(mean: Array, covariance: Array, x: Array, observed: Any) -> Float[Array, "..."]:
    """Return the log density of the entries that are there."""
    return _log_prob_observed(mean, jnp.linalg.cholesky(covariance), x, observed)


def _log_prob_observed(mean: Array, root: Array, x: Array, observed: Any) -> Float[Array, "..."]:
    """Return the log density of the entries that are there, for a covariance LLᵀ.

    The rows of L that belong to the others are replaced by unit vectors in directions of their own. Orthogonal
    transformations make the rest triangular again: no square is formed, and scales may differ by all orders.
    """
    rows = jnp.broadcast_shapes(jnp.shape(observed), root.shape[:-1])  # one row may be asked of many members
    there, root = jnp.broadcast_to(jnp.asarray(observed, root.dtype), rows), jnp.broadcast_to(root, (*rows, rows[-1]))
    eye = jnp.eye(root.shape[-1], dtype=root.dtype)
    wide = jnp.concatenate([root * there[..., :, None], eye * (1 - there)[..., None]], axis=-1)
    triangle = jnp.linalg.qr(jnp.swapaxes(wide, -1, -2), mode="r")  # its transpose is a root, up to signs
    log_scale = jnp.log(jnp.abs(jnp.diagonal(triangle, axis1=-2, axis2=-1)))
    lower = jnp.swapaxes(triangle, -1, -2)
    away = jnp.where(observed, x - mean, 0)
    shape = jnp.broadcast_shapes(away.shape, lower.shape[:-1])
    z = triangular_solve(
        jnp.broadcast_to(lower, (*shape, shape[-1])),
        jnp.broadcast_to(away, shape)[..., None],
        left_side=True,
        lower=True,
    )[..., 0]
    return jnp.sum(jnp.where(observed, log_normal(z, jnp.zeros_like(z)) - log_scale, 0), axis=-1)


def fisher_free(mean: Numeric, covariance: Numeric) -> Float[Array, "*batch d d"]:
    """Return the Fisher matrix: Σ⁻¹ of the means, 2 of each log scale, e^{−2sⱼ}Σ_{<j,<j} of the coefficients of j."""
    covariance = jnp.asarray(covariance)
    w = whitener(covariance)
    n = w.shape[-1]
    i, j = pairs(n)
    precision = jnp.square(jnp.diagonal(w, axis1=-2, axis2=-1))
    same = jnp.asarray(j[:, None] == j[None, :])
    slopes = jnp.where(same, covariance[..., i[:, None], i[None, :]] * precision[..., j][..., None], 0)
    scales = jnp.broadcast_to(2 * jnp.eye(n, dtype=w.dtype), w.shape)
    return jnp.vectorize(block_diag, signature="(a,a),(b,b),(c,c)->(d,d)")(gram(w), scales, slopes)


def log_volume_free(covariance: Array, coordinates: Coordinates) -> Float[Array, "*batch"]:
    """Return log |det ∂(coordinates)/∂(free)| from the log scales sⱼ alone.

    Σ = U diag(e^{2s}) Uᵀ with unit triangles U: dΣ = Π 2e^{2sⱼ(n+1−j)} ds dU, and dU = dB. Expectations are sheared
    means and covariances, with 2 for each pair; natural coordinates are |Σ|^{−(n+2)} of those, by ½ for each square.
    """
    n = covariance.shape[-1]
    log_scale = -jnp.log(jnp.diagonal(whitener(covariance), axis1=-2, axis2=-1))
    if coordinates == "free":
        return jnp.zeros(covariance.shape[:-2], log_scale.dtype)
    source = n * math.log(2) + jnp.sum(2 * jnp.arange(n, 0, -1) * log_scale, axis=-1)
    if coordinates == "source":
        return source
    off_diagonal = n * (n - 1) / 2 * math.log(2)
    if coordinates == "expectation":
        return source + off_diagonal
    return source - 2 * (n + 2) * jnp.sum(log_scale, axis=-1) - n * (n + 1) / 2 * math.log(2)


def groups_free(size: int) -> tuple[FreeGroup, ...]:
    """Return the means, each log scale, and the coefficients of each coordinate: log p is quadratic in all but s."""
    n = dimension(size)
    _, j = pairs(n)
    scales = [FreeGroup((n + place,), -2.0, True) for place in range(n)]
    slopes = [FreeGroup(tuple((2 * n + (j == place).nonzero()[0]).tolist()), 0.0, True) for place in range(1, n)]
    return FreeGroup(tuple(range(n)), 0.0), *scales, *slopes


def toward_free(mean: Numeric, covariance: Numeric, y: Array) -> Float[Array, "... d"]:
    """Return the natural gradient of log p(y).

    It is y − μ, ½(zⱼ² − 1), and Σ_{<j,<j}⁻¹ (y − μ)_{<j} times what is left of yⱼ.
    """
    w = whitener(covariance)
    n = w.shape[-1]
    away = jnp.subtract(y, mean)
    z = apply(w, away)
    left = z / jnp.diagonal(w, axis1=-2, axis2=-1)
    # the whitener of Σ_{<j,<j} is the corner of W, so its inverse times y − μ is a sum over k < j of Wₖᵢ zₖ
    below = jnp.cumsum(w * z[..., :, None], axis=-2)  # [j, i] = Σ_{k≤j} W_ki z_k
    i, j = pairs(n)
    slopes = below[..., j - 1, i] * left[..., j] if n > 1 else jnp.zeros((*away.shape[:-1], 0), away.dtype)
    return jnp.concatenate([away, 0.5 * (jnp.square(z) - 1), slopes], axis=-1)
