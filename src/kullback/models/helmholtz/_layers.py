"""Layers of binary units: affine in the layer that they follow, with the biases in the last row of the weights."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.numerics import Numeric, uniform

#: Units of one layer, 0 or 1.
Units = Float[Array, "... units"]


def logits(weights: Float[Numeric, "_ units"], units: Float[Numeric, "... inputs"]) -> Units:
    """Return the log odds of units, given those of the layer that they follow."""
    return jnp.asarray(units) @ weights[:-1] + weights[-1]


def log_prob(units: Float[Numeric, "... units"], log_odds: Units) -> Float[Array, "..."]:
    """Return Σ t·a − log(1 + eᵃ), the log-probability of units t with log odds a: never through σ(a), which rounds."""
    return jnp.sum(units * log_odds - jax.nn.softplus(log_odds), axis=-1)


def draw(key: Array, log_odds: Units) -> Units:
    """Draw units with these log odds.

    Uniform numbers are moved to the middles of their steps: one that is 0 would turn any unit on, which in 32 bits is
    once in 8 million, whatever the log odds, and then the weight of the draw has no bound.
    """
    dtype = log_odds.dtype
    middle = uniform(key, log_odds.shape, dtype) + float(np.finfo(dtype).eps) / 2
    return (middle < jax.nn.sigmoid(log_odds)).astype(dtype)
