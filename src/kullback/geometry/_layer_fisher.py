"""The Fisher metric of layers of a network, one matrix for each layer and one number for each unit."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric


def layer_moments(inputs: Float[Array, "samples inputs"], weight: Float[Array, " samples"]) -> Float[Array, "_ _"]:
    """Return Σ weight·(h, 1)(h, 1)ᵀ over the inputs h of a layer."""
    with_one = jnp.concatenate([inputs, jnp.ones_like(inputs[:, :1])], axis=1)
    return (with_one * weight[:, None]).T @ with_one


def damped_inverse(moments: Float[Array, "n n"], damping: Float[Numeric, ""]) -> Float[Array, "n n"]:
    """Return (A + λI)⁻¹, where the last entry, that of the bias, is not damped."""
    size = moments.shape[0]
    damped = moments + jnp.diag(jnp.full(size, damping, moments.dtype).at[-1].set(0))
    factor = jax.scipy.linalg.cho_factor(damped, lower=True)
    found = jax.scipy.linalg.cho_solve(factor, jnp.eye(size, dtype=moments.dtype))
    return (found + found.T) / 2
