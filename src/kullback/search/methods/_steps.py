"""How long a step may be."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float


def shortening(z: Float[Array, "m n"]) -> Float[Array, " m"]:
    """Return the factors that make steps in units of their standard deviation no longer than √n + 3.

    Longer ones are drawn once in 10⁴ times, so this bears on points that were not drawn (Hansen, Injecting external
    solutions into CMA-ES, arXiv:1110.4181), and nobody has to say which those are.
    """
    length = jnp.sqrt(jnp.sum(jnp.square(z), axis=-1))
    reach = math.sqrt(z.shape[-1]) + 3
    return jnp.minimum(1, reach / jnp.maximum(length, 1))


def clip_scale(step: Float[Array, "..."]) -> Float[Array, "..."]:
    """Keep standard deviations within what their dtype can square, however long f goes on falling."""
    limits = jnp.finfo(step.dtype)
    return jnp.clip(step, float(limits.tiny) ** 0.4, float(limits.max) ** 0.25)


def mean_length(n: int) -> float:
    """Return E|N(0, I)| in n dimensions."""
    return math.sqrt(2) * math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2))
