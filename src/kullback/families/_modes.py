"""The most probable points of families on a simplex, and of counts with a given total."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def dirichlet_mode(concentration: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return the shares in proportion to α − 1, where that is positive.

    Towards a share of 0 with α < 1 the density grows without bound: such shares are the least positive number. Where no
    α is above 1 it is densest in a corner: that of the largest α.
    """
    return jnp.maximum(mode_shares(concentration), float(np.finfo(concentration.dtype).tiny))


def mode_shares(concentration: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return α − 1 where it is positive, as shares of their sum; where it never is, all for the largest α."""
    above = jnp.maximum(concentration - 1, 0)
    total = jnp.sum(above, axis=-1, keepdims=True)
    corner = jax.nn.one_hot(jnp.argmax(concentration, axis=-1), concentration.shape[-1], dtype=concentration.dtype)
    return jnp.where(total > 0, above / jnp.where(total > 0, total, 1), corner)


def multinomial_mode(trials: Any, probabilities: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
    """Return the most probable counts of so many trials.

    No count is less than ⌊n·p_i⌋ there (Feller). The trials that are left go one by one to where p_i/(x_i + 1) is
    largest: the logarithm of the probability is a sum of concave terms, so the greedy way is the best.
    """
    p = jnp.asarray(probabilities)
    total = jnp.broadcast_to(jnp.asarray(trials, p.dtype), p.shape[:-1])
    least = jnp.floor(total[..., None] * p * (1 - 4 * float(np.finfo(p.dtype).eps)))

    def one(_: int, counts: Array) -> Array:
        place = jax.nn.one_hot(jnp.argmax(p / (counts + 1), axis=-1), p.shape[-1], dtype=p.dtype)
        return jnp.where((jnp.sum(counts, axis=-1) < total)[..., None], counts + place, counts)

    return jax.lax.fori_loop(0, p.shape[-1] + 1, one, least)
