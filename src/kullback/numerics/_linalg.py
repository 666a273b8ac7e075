"""Linear algebra on many small symmetric matrices, and the flat form of one of them."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax.linalg import triangular_solve
from jaxtyping import Array, Float
from numpy.typing import NDArray

from kullback.numerics._types import Numeric

#: Up to this size a factorization is written out, entry by entry, for all matrices of the batch at once. LAPACK is
#: called once for each matrix, and for small ones the call costs more than the arithmetic. For a few matrices LAPACK
#: will do: it is compiled sooner.
_WRITTEN_OUT = 6
_MANY = 64

LOG_TWO_PI = math.log(2 * math.pi)

Entries = list[list[Any]]

_barrier: Any = jax.lax.optimization_barrier  # it has no types


def whitener(covariance: Float[Numeric, "*batch n n"]) -> Float[Array, "*batch n n"]:
    """Return the lower triangular W with W Σ Wᵀ = I, that is Σ⁻¹ = WᵀW. NaN where Σ is not positive definite."""
    covariance = jnp.asarray(covariance)
    n = covariance.shape[-1]
    if _worth_writing_out(covariance):
        w = _whitener_entries(covariance)
        zero = jnp.zeros(covariance.shape[:-2], covariance.dtype)
        rows = [jnp.stack([w[i][j] if j <= i else zero for j in range(n)], axis=-1) for i in range(n)]
        return jnp.stack(rows, axis=-2)
    factor = jnp.linalg.cholesky(covariance)
    identity = jnp.broadcast_to(jnp.eye(n, dtype=factor.dtype), factor.shape)
    return triangular_solve(factor, identity, left_side=True, lower=True)


def whiten(
    covariance: Float[Numeric, "*batch n n"], vector: Float[Numeric, "... n"]
) -> tuple[Float[Array, "..."], Float[Array, "*batch"]]:
    """Return |Wv|² = vᵀΣ⁻¹v and log|Σ|, for vectors broadcast against the batch."""
    covariance = jnp.asarray(covariance)
    n = covariance.shape[-1]
    if not _worth_writing_out(covariance):
        matrix = whitener(covariance)
        return jnp.sum(jnp.square(apply(matrix, vector)), axis=-1), log_determinant(matrix)
    w = _whitener_entries(covariance)
    rows = [sum(w[i][j] * vector[..., j] for j in range(i + 1)) for i in range(n)]
    square: Any = sum(row * row for row in rows)
    half: Any = sum(jnp.log(w[i][i]) for i in range(n))
    return square, -2 * half


def solve_packed(
    covariance: Float[Numeric, "*batch n n"], vector: Float[Array, "*batch n"]
) -> Float[Array, "*batch d"]:
    """Return Σ⁻¹v and Σ⁻¹, flat, in the order of `pack`."""
    covariance = jnp.asarray(covariance)
    n = covariance.shape[-1]
    if not _worth_writing_out(covariance):
        precision = gram(whitener(covariance))
        return pack(apply(precision, vector), precision)
    w = _whitener_entries(covariance)

    def entry(i: int, j: int) -> Any:
        return sum(w[k][i] * w[k][j] for k in range(max(i, j), n))

    upper = {(i, j): entry(i, j) for i in range(n) for j in range(i, n)}
    solution = [sum(upper[min(i, j), max(i, j)] * vector[..., j] for j in range(n)) for i in range(n)]
    diagonal = [upper[i, i] for i in range(n)]
    above = [upper[int(i), int(j)] for i, j in zip(*pairs(n), strict=True)]
    return jnp.stack(jnp.broadcast_arrays(*solution, *diagonal, *above), axis=-1)


def _worth_writing_out(matrices: Float[Array, "*batch n n"]) -> bool:
    return matrices.shape[-1] <= _WRITTEN_OUT and math.prod(matrices.shape[:-2]) >= _MANY


def _whitener_entries(covariance: Float[Array, "*batch n n"]) -> Entries:
    """Return the entries of W on and below the diagonal, each an array over the batch.

    A barrier after each column keeps the compiler from working out the earlier columns again for every later entry.
    """
    n = covariance.shape[-1]
    low: Entries = [[None] * n for _ in range(n)]
    w: Entries = [[None] * n for _ in range(n)]
    for j in range(n):
        rest = covariance[..., j, j] - sum(low[j][k] ** 2 for k in range(j))
        w[j][j] = 1 / jnp.sqrt(rest)
        for i in range(j + 1, n):
            low[i][j] = (covariance[..., i, j] - sum(low[i][k] * low[j][k] for k in range(j))) * w[j][j]
        w[j][j], *column = _barrier([w[j][j], *(low[i][j] for i in range(j + 1, n))])
        for i, value in enumerate(column, start=j + 1):
            low[i][j] = value
    for j in range(n):
        for i in range(j + 1, n):
            w[i][j] = -w[i][i] * sum(low[i][k] * w[k][j] for k in range(j, i))
        column = _barrier([w[i][j] for i in range(j, n)])
        for i, value in enumerate(column, start=j):
            w[i][j] = value
    return w


def log_determinant(w: Float[Array, "*batch n n"]) -> Float[Array, "*batch"]:
    """Return log|Σ| from the whitener of Σ."""
    return -2 * jnp.sum(jnp.log(jnp.diagonal(w, axis1=-2, axis2=-1)), axis=-1)


def apply(matrix: Float[Numeric, "... m n"], vector: Float[Numeric, "... n"]) -> Float[Array, "... m"]:
    """Multiply matrices with vectors, broadcast over the batch."""
    return jnp.einsum("...ij,...j->...i", matrix, vector)


def gram(w: Float[Numeric, "*batch m n"]) -> Float[Array, "*batch n n"]:
    """Return WᵀW."""
    return jnp.einsum("...ki,...kj->...ij", w, w)


def outer(vector: Float[Numeric, "*batch n"]) -> Float[Array, "*batch n n"]:
    """Return all products of the entries of a vector."""
    vector = jnp.asarray(vector)
    return vector[..., :, None] * vector[..., None, :]


@functools.cache
def pairs(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the index pairs i < j in lexicographic order.

    They are 32 bits wide: JAX trips over an array of 64-bit indices that was used in its 32-bit mode before.
    """
    i, j = np.triu_indices(n, 1)
    return i.astype(np.int32), j.astype(np.int32)


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
    n = matrix.shape[-1]
    # one gather from the flat matrix: much quicker than two from the square one
    flat = matrix.reshape(*matrix.shape[:-2], n * n)
    chosen = flat[..., np.concatenate([np.arange(n) * (n + 1), i * n + j]).astype(np.int32)]
    scale = np.concatenate([np.ones(n), np.full(len(i), off_diagonal)])
    return jnp.concatenate([jnp.asarray(vector), chosen * jnp.asarray(scale, matrix.dtype)], axis=-1)


def unpack(flat: Any, off_diagonal: float = 1.0) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n n"]]:
    """Undo `pack`."""
    flat = jnp.asarray(flat)
    n = dimension(flat.shape[-1])
    position = np.zeros((n, n), dtype=np.int32)
    i, j = pairs(n)
    position[np.arange(n), np.arange(n)] = n + np.arange(n)
    position[i, j] = position[j, i] = 2 * n + np.arange(len(i))
    scale = np.full((n, n), 1 / off_diagonal)
    np.fill_diagonal(scale, 1.0)
    return flat[..., :n], flat[..., position] * jnp.asarray(scale, flat.dtype)
