"""Utilities: what the order of the values says, and nothing else of them.

A method that sees f only through the order of its values does the same for every increasing transform of f.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray


def places(values: Float[Array, " m"]) -> Int[Array, " m"]:
    """Return the place of each value, 0 for the least. NaN comes last; of equal values the first comes first."""
    keys = jnp.where(jnp.isnan(values), jnp.inf, values)
    count = jnp.arange(len(values), dtype=jnp.int32)
    return jnp.zeros_like(count).at[jnp.argsort(keys, stable=True)].set(count, unique_indices=True)


def log_weights(m: int) -> NDArray[np.float64]:
    """Return ln((m+1)/2) − ln i for the places i = 1 … m: positive for the better half, negative for the other."""
    return np.log((m + 1) / 2) - np.log(np.arange(1, m + 1))


def effective_number(weights: NDArray[np.float64]) -> float:
    """Return (Σ|w|)² / Σw²: how many equal weights would average out noise as well."""
    return float(np.sum(np.abs(weights)) ** 2 / np.sum(weights**2)) if weights.any() else 0.0


def positive_weights(m: int) -> NDArray[np.float64]:
    """Return the positive part of `log_weights`, which sums to 1."""
    better = np.maximum(log_weights(m), 0)
    return better / better.sum()


def center_values(values: Float[Array, " m"]) -> Float[Array, " m"]:
    """Return the values minus their mean; those that are not finite count as the largest, all as 0 if none is."""
    sound = jnp.isfinite(values)
    largest = jnp.max(jnp.where(sound, values, -jnp.inf), initial=-jnp.inf)
    filled = jnp.where(sound, values, jnp.where(jnp.any(sound), largest, 0))
    return filled - jnp.mean(filled)
