"""Utilities of values among which many may be equal: equal values have equal utilities."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import NDArray


def _counts(values: Float[Array, " m"]) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
    """Return how many values are less than each, and how many are less or equal. NaN counts as +∞."""
    keys = jnp.where(jnp.isnan(values), jnp.inf, values)
    ordered = jnp.sort(keys)
    return jnp.searchsorted(ordered, keys, side="left"), jnp.searchsorted(ordered, keys, side="right")


def shared_weights(values: Float[Array, " m"], weights: NDArray[np.float64]) -> Float[Array, " m"]:
    """Return the weight of each value: those of the places 1 … m in the order, equal values share theirs.

    >>> shared_weights(jnp.array([3.0, 1.0, 3.0, 2.0]), np.array([4.0, 2.0, 1.0, 0.0])).tolist()
    [0.5, 4.0, 0.5, 2.0]
    """
    below, upto = _counts(values)
    total = jnp.asarray(np.concatenate([[0.0], np.cumsum(weights)]), values.dtype)
    return (total[upto] - total[below]) / (upto - below)


def normal_scores(values: Float[Array, " m"], there: Bool[Array, " m"]) -> Float[Array, " m"]:
    """Return Φ⁻¹((rank − ½)/m), Φ the normal distribution; 0 for what is not there. Equal values share their mean rank.

    Values that are spread as those of a normal distribution come back as they were, up to their mean and scale: sums of
    many terms, as energies are, stay sums.
    """
    m = jnp.sum(there)
    below, upto = _counts(jnp.where(there, values, jnp.inf))
    # what is not there stands at the end, among the values that are +∞
    return jnp.where(there, ndtri((below + jnp.minimum(upto, m)) / (2 * m).astype(values.dtype)), 0)
