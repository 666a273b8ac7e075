"""Principal axes: the directions in which a covariance, or loadings, reach farthest."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kullback.numerics import Numeric, check_finite, entry_name, is_concrete


def namespace(*values: Any) -> Any:
    """Return jax.numpy where one of the arrays is JAX's; NumPy elsewhere, which keeps 64 bits in any mode."""
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def fix_signs(columns: Numeric) -> Any:
    """Turn each column so that its entry of largest size is positive."""
    xp = namespace(columns)
    place = xp.argmax(xp.abs(columns), axis=-2, keepdims=True)
    return xp.where(xp.take_along_axis(columns, place, axis=-2) < 0, -columns, columns)


def order_loadings(loadings: Numeric) -> Any:
    """Return W R with R orthogonal, so that the columns are orthogonal and of falling length."""
    xp = namespace(loadings)
    n, q = loadings.shape[-2:]
    axes, lengths, _ = xp.linalg.svd(loadings, full_matrices=False)
    columns = axes * lengths[..., None, :]
    nothing = xp.zeros((*loadings.shape[:-1], q - min(n, q)), loadings.dtype)
    return fix_signs(xp.concatenate([columns, nothing], axis=-1))


def floor_noise(noise: Any, variance: Any) -> Any:
    """Return the noise, or the least that still has digits: ε^(2/3) of the variance it is a part of.

    A column that the factors explain altogether would have none, and a density that is infinite.
    """
    xp = namespace(noise, variance)
    info = np.finfo(noise.dtype)
    return xp.maximum(noise, xp.maximum(variance * float(info.eps) ** (2 / 3), float(info.tiny) ** 0.5))


def principal_loadings(covariance: Numeric, q: int) -> tuple[Any, Any]:
    """Return W = U_q(Λ_q − σ²)^½ and σ² = mean of the eigenvalues that are left (Tipping & Bishop 1999)."""
    xp = namespace(covariance)
    values, vectors = xp.linalg.eigh(covariance)
    values = xp.maximum(values[..., ::-1], 0)
    noise = floor_noise(xp.mean(values[..., q:], axis=-1), values[..., 0])
    lengths = xp.sqrt(xp.maximum(values[..., :q] - noise[..., None], 0))
    return fix_signs(vectors[..., ::-1][..., :q]) * lengths[..., None, :], noise


def check_moments(mean: Numeric, covariance: Numeric, q: int) -> None:
    """Raise unless the covariance is one that fits the mean, and there are fewer factors than columns."""
    if mean.ndim < 1 or covariance.ndim < 2 or covariance.shape[-2:] != mean.shape[-1:] * 2:
        raise ValueError(
            f"mean has shape {mean.shape} and covariance has shape {covariance.shape}: they must be (n,) and (n, n)."
        )
    if not 1 <= q < mean.shape[-1]:
        raise ValueError(f"q is {q}: with {mean.shape[-1]} columns it must be from 1 to {mean.shape[-1] - 1}.")
    check_finite("mean", mean)
    check_finite("covariance", covariance)
    if not is_concrete(covariance):
        return
    array = np.asarray(covariance)
    skew = np.abs(array - np.swapaxes(array, -1, -2))
    bad = skew > np.sqrt(np.finfo(array.dtype).eps) * np.max(np.abs(array), axis=(-2, -1), keepdims=True)
    if bad.any():
        place = tuple(np.argwhere(bad)[0])
        mirrored = (*place[:-2], place[-1], place[-2])
        raise ValueError(
            f"covariance is not symmetric: {entry_name('covariance', place)} is {array[place]:.6g} but "
            f"{entry_name('covariance', mirrored)} is {array[mirrored]:.6g}."
        )
