"""Linear algebra on many small symmetric matrices, and the flat form of one of them."""

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.lax.linalg import triangular_solve
from jaxtyping import Array, Float

from kullback.families._types import Numeric

#: Up to this size a factorization is written out, entry by entry, for all matrices of the batch at once.
#: LAPACK is called once for each matrix, and for small ones the call costs more than the arithmetic.
_WRITTEN_OUT = 6


def whitener(covariance: Float[Numeric, "*batch n n"]) -> Float[Array, "*batch n n"]:
    """Return the lower triangular W with W Σ Wᵀ = I, that is Σ⁻¹ = WᵀW. NaN where Σ is not positive definite."""
    covariance = jnp.asarray(covariance)
    n = covariance.shape[-1]
    if n <= _WRITTEN_OUT:
        return _small_whitener(covariance, n)
    factor = jnp.linalg.cholesky(covariance)
    identity = jnp.broadcast_to(jnp.eye(n, dtype=factor.dtype), factor.shape)
    return triangular_solve(factor, identity, left_side=True, lower=True)


def _small_whitener(covariance: Float[Array, "*batch n n"], n: int) -> Float[Array, "*batch n n"]:
    low: list[list[Any]] = [[None] * n for _ in range(n)]
    inverse: list[list[Any]] = [[None] * n for _ in range(n)]
    for j in range(n):
        below = covariance[..., j, j] - sum(low[j][k] ** 2 for k in range(j))
        inverse[j][j] = 1 / jnp.sqrt(below)
        for i in range(j + 1, n):
            rest = covariance[..., i, j] - sum(low[i][k] * low[j][k] for k in range(j))
            low[i][j] = rest * inverse[j][j]
    for j in range(n):
        for i in range(j + 1, n):
            inverse[i][j] = -inverse[i][i] * sum(low[i][k] * inverse[k][j] for k in range(j, i))
    zero = jnp.zeros(covariance.shape[:-2], covariance.dtype)
    rows = [jnp.stack([zero if e is None else e for e in row], axis=-1) for row in inverse]
    return jnp.stack(rows, axis=-2)


def log_determinant(w: Float[Array, "*batch n n"]) -> Float[Array, "*batch"]:
    """Return log|Σ| from the whitener of Σ."""
    return -2 * jnp.sum(jnp.log(jnp.diagonal(w, axis1=-2, axis2=-1)), axis=-1)


def apply(matrix: Float[Array, "*batch m n"], vector: Float[Array, "*batch n"]) -> Float[Array, "*batch m"]:
    """Multiply matrices with vectors, broadcast over the batch."""
    return jnp.einsum("...ij,...j->...i", matrix, vector)


def gram(w: Float[Array, "*batch m n"]) -> Float[Array, "*batch n n"]:
    """Return WᵀW."""
    return jnp.einsum("...ki,...kj->...ij", w, w)


def outer(vector: Float[Numeric, "*batch n"]) -> Float[Array, "*batch n n"]:
    """Return all products of the entries of a vector."""
    vector = jnp.asarray(vector)
    return vector[..., :, None] * vector[..., None, :]


@functools.cache
def pairs(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the index pairs i < j in lexicographic order."""
    return np.triu_indices(n, 1)


def dimension(size: int) -> int:
    """Return n from the length n(n+3)/2 of a flat vector with its symmetric matrix."""
    n = int((np.sqrt(9 + 8 * size) - 3) / 2 + 0.5)
    if n * (n + 3) // 2 != size or n < 1:
        raise ValueError(f"{size} coordinates do not fit any dimension n: a Gaussian on Rⁿ has n(n+3)/2.")
    return n


def pack(vector: Any, matrix: Any, off_diagonal: float = 1.0) -> Float[Array, "*batch d"]:
    """Flatten (vector, symmetric matrix) as (vᵢ), (Mᵢᵢ), (off_diagonal·Mᵢⱼ) for i < j."""
    i, j = pairs(vector.shape[-1])
    matrix = jnp.asarray(matrix)
    diagonal = jnp.diagonal(matrix, axis1=-2, axis2=-1)
    return jnp.concatenate([jnp.asarray(vector), diagonal, off_diagonal * matrix[..., i, j]], axis=-1)


def unpack(flat: Any, off_diagonal: float = 1.0) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n n"]]:
    """Undo `pack`."""
    flat = jnp.asarray(flat)
    n = dimension(flat.shape[-1])
    position = np.zeros((n, n), dtype=int)
    i, j = pairs(n)
    position[np.arange(n), np.arange(n)] = n + np.arange(n)
    position[i, j] = position[j, i] = 2 * n + np.arange(len(i))
    scale = np.full((n, n), 1 / off_diagonal)
    np.fill_diagonal(scale, 1.0)
    return flat[..., :n], flat[..., position] * jnp.asarray(scale, flat.dtype)
