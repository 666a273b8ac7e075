"""Steps along the natural gradient from N(μ, AAᵀ), in units in which it is N(0, I): natural gradients do not mind."""

import itertools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from kullback.families import Gaussian
from kullback.search.methods._root_method import RootState, apply_root, move

Pairs = tuple[tuple[int, int], ...]


def check_pairs(interactions: Any, n: int) -> Pairs:
    """Return the pairs i < j of n coordinates, each once, in order; raise at one that is none."""
    pairs = []
    for pair in interactions:
        i, j = (int(place) for place in pair)
        if not (0 <= i < n and 0 <= j < n and i != j):
            raise ValueError(f"interactions has the pair {(i, j)}: it must be two of the coordinates 0 to {n - 1}.")
        pairs.append((min(i, j), max(i, j)))
    return tuple(sorted(set(pairs)))


def natural_step(state: RootState, z: Float[Array, "m n"], utilities: Float[Array, " m"], rate: float) -> RootState:
    """Take θ ← θ − rate·slope: with u ≈ bᵀz + zᵀMz the precision I becomes I + 2·rate·M, and θ₁ becomes −rate·b."""
    n = z.shape[1]
    pairs = tuple(itertools.combinations(range(n), 2))
    linear, square = slopes(z, utilities, pairs, jnp.eye(n, dtype=z.dtype))
    change, basis = jnp.linalg.eigh(2 * square)
    turned = linear @ basis
    length = step_length(rate, change, turned)
    precision = 1 + length * change
    shift = basis @ (-length * turned / precision)
    return move(state, shift, (basis / jnp.sqrt(precision)) @ basis.T)


def sparse_step(
    state: RootState, z: Float[Array, "m n"], utilities: Float[Array, " m"], rate: float, pairs: Pairs
) -> RootState:
    """Take the same step in the precision of the pairs alone, in units of one scale for each coordinate."""
    inverse = jnp.linalg.inv(state.root)
    precision = jnp.where(_pair_mask(len(inverse), pairs), inverse.T @ inverse, 0)
    unit = 1 / jnp.sqrt(jnp.diagonal(precision))
    precision = precision * unit[:, None] * unit
    factor = jnp.linalg.cholesky(precision)
    linear, square = slopes(apply_root(state.root, z) / unit, utilities, pairs, precision)

    half = solve_triangular(factor, 2 * square, lower=True)
    change = jnp.linalg.eigvalsh(solve_triangular(factor, half.T, lower=True))
    length = step_length(rate, change, solve_triangular(factor, linear, lower=True))
    factor = jnp.linalg.cholesky(precision + 2 * length * square)
    whole = solve_triangular(factor, jnp.eye(len(unit), dtype=unit.dtype), lower=True)
    mean = state.mean + unit * (whole.T @ (whole @ (-length * linear)))
    return move(
        RootState(state.key, mean, unit[:, None] * whole.T), jnp.zeros_like(mean), jnp.eye(len(unit), dtype=unit.dtype)
    )


def _pair_mask(n: int, pairs: Pairs) -> Any:
    allowed = np.eye(n, dtype=bool)
    for i, j in pairs:
        allowed[i, j] = allowed[j, i] = True
    return allowed


def step_length(rate: float, change: Float[Array, " n"], linear: Float[Array, " n"]) -> Float[Array, ""]:
    """Return the rate, or less: no eigenvalue of the precision changes by more than a half, nor the mean by more than
    √n + 3 standard deviations.
    """
    reach = math.sqrt(len(linear)) + 3
    tiny = jnp.finfo(change.dtype).tiny
    by_change = 0.5 / jnp.maximum(jnp.max(jnp.abs(change)), tiny)
    by_mean = 0.5 * reach / jnp.maximum(jnp.sqrt(jnp.sum(jnp.square(linear))), tiny)
    return jnp.minimum(rate, jnp.minimum(by_change, by_mean))


def slopes(
    z: Float[Array, "m n"], utilities: Float[Array, " m"], pairs: Pairs, precision: Float[Array, "n n"]
) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Return b and M of u ≈ bᵀz + zᵀMz, M zero but for the diagonal and the pairs: Cov(T, T)⁻¹Cov(u, T).

    By least squares, or with the Fisher matrix of N(0, precision⁻¹) where there are too few points.
    """
    m, n = z.shape
    i, j = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    statistics = jnp.concatenate([z, jnp.square(z), 2 * z[:, i] * z[:, j]], axis=1)
    statistics = statistics - jnp.mean(statistics, axis=0)
    utilities = utilities - jnp.mean(utilities)
    size = statistics.shape[1]
    if m > size + 1:
        q, r = jnp.linalg.qr(statistics)
        slope = solve_triangular(r, q.T @ utilities)
    else:
        slope = jnp.linalg.solve(_fisher(precision, i, j), statistics.T @ utilities / m)
    square = jnp.diag(slope[n : 2 * n]).at[i, j].set(slope[2 * n :]).at[j, i].set(slope[2 * n :])
    return slope[:n], square


def _fisher(precision: Float[Array, "n n"], i: Any, j: Any) -> Float[Array, "d d"]:
    """Return the covariance of the chosen statistics under N(0, precision⁻¹)."""
    n = len(precision)
    whole = Gaussian(jnp.zeros(n, precision.dtype), jnp.linalg.inv(precision)).fisher("natural")
    first, second = np.triu_indices(n, 1)
    places = {pair: 2 * n + place for place, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True))}
    chosen = np.array([*range(2 * n), *(places[pair] for pair in zip(i.tolist(), j.tolist(), strict=True))], np.int32)
    return whole[np.ix_(chosen, chosen)]


def expectation_step(state: RootState, z: Float[Array, "m n"], utilities: Float[Array, " m"], rate: float) -> RootState:
    """Take η ← η − rate·Cov(u, T): E[z] becomes −rate·Cov(u, z), and E[zzᵀ] becomes I − rate·Cov(u, zzᵀ)."""
    m, n = z.shape
    costs = (utilities - jnp.mean(utilities)) / m
    linear, square = costs @ z, (z.T * costs) @ z
    tiny = jnp.finfo(z.dtype).tiny
    by_square = 0.25 / jnp.maximum(jnp.max(jnp.abs(jnp.linalg.eigvalsh(square))), tiny)
    by_mean = 0.5 / jnp.maximum(jnp.sqrt(jnp.sum(jnp.square(linear))), tiny)
    length = jnp.minimum(rate, jnp.minimum(by_square, by_mean))
    mean = -length * linear
    covariance = jnp.eye(n, dtype=z.dtype) - length * square - mean[:, None] * mean
    return move(state, mean, jnp.linalg.cholesky(covariance))
