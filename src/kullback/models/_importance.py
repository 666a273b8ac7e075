"""Likelihoods by importance: what draws of the hidden variables say of p(v), and how far that may be off.

With h drawn from any proposal q(h | v) the weight w = p(v, h) / q(h | v) has the mean p(v), whatever q is. The mean of
K weights has the variance p(v)²·χ²/K, where χ² + 1 = E[w²] / p(v)² is the mean of p(h | v) / q(h | v) over p(h | v): χ²
is 0 for the exact posterior, and grows with the distance of the proposal from it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Estimate


def average_weights(log_weight: Float[Array, "rows draws"]) -> Estimate:
    """Return the logarithm of the mean weight of each row: at most log p(v) on average, and nearer with more draws.

    Its standard error is that of the mean weight, by the delta method: √(χ²/K), with χ² from the weights themselves.
    Where one draw outweighs all others it is too small itself; `effective_size` says so. Of one draw it is infinite:
    nobody knows it.
    """
    log_weight = log_weight.astype(jnp.result_type(float))
    draws = log_weight.shape[-1]
    if draws == 1:
        return Estimate(log_weight[..., 0], jnp.full(log_weight.shape[:-1], jnp.inf, log_weight.dtype))
    highest = jnp.max(log_weight, axis=-1, keepdims=True)
    scaled = jnp.exp(log_weight - highest)
    mean = jnp.mean(scaled, axis=-1)
    error = jnp.std(scaled, axis=-1, ddof=1) / (mean * draws**0.5)
    return Estimate(highest[..., 0] + jnp.log(mean), error)


def effective_size(log_weight: Float[Array, "*rows draws"]) -> Float[Array, "*rows"]:
    """Return how many equal draws those of a row are worth: (Σ w)² / Σ w²."""
    return 1 / jnp.sum(jnp.square(jax.nn.softmax(log_weight, axis=-1)), axis=-1)


class WeightedDraws(NamedTuple):
    """Draws of what is hidden of each row, from a proposal, and what each of them is worth.

    `hidden` has the axes (rows, draws, …). `log_weight` is log p(v, h) − log q(h | v): the mean of its exponential over
    draws is p(v), on average.
    """

    hidden: Float[Array, "rows draws *hidden"]
    log_weight: Float[Array, "rows draws"]

    @property
    def weights(self) -> Float[Array, "rows draws"]:
        """The share of each draw among those of its row: w / Σ w."""
        return jax.nn.softmax(self.log_weight, axis=-1)

    def log_likelihood(self) -> Estimate:
        """Return the logarithm of the mean weight of each row, with its standard error."""
        return average_weights(self.log_weight)

    def effective_size(self) -> Float[Array, " rows"]:
        """Return how many equal draws those of a row are worth: (Σ w)² / Σ w²."""
        return effective_size(self.log_weight)
