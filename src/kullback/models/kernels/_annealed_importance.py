"""Annealed importance sampling: the constant of a law, by chains that come to it from one whose constant is known."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Estimate
from kullback.numerics import Numeric

#: Where log weights spread more than this, in nats, few chains have all the weight, and errors come out too small.
MOST_SPREAD = 3.0


class Annealed(NamedTuple):
    """The logarithm of a ratio of constants, from weights of chains, and how far it can be trusted.

    `x` has where the chains end: with their weights they are draws of the last law. `spread` is the standard deviation
    of the log weights.
    """

    value: Float[Array, "..."]
    standard_error: Float[Array, "..."]
    spread: Float[Array, "..."]
    x: Float[Array, "... chains d"]
    log_weight: Float[Array, "... chains"]

    @property
    def estimate(self) -> Estimate:
        """The number with its standard error."""
        return Estimate(self.value, self.standard_error)

    @property
    def trusted(self) -> Array:
        """Whether the log weights are close enough for the standard error to mean something."""
        return jnp.asarray(self.spread) <= MOST_SPREAD

    @property
    def note(self) -> str:
        """A sentence, where the number is not to be trusted; empty otherwise."""
        worst = float(np.max(self.spread))
        return "" if worst <= MOST_SPREAD else untrusted(worst)


def untrusted(spread: float) -> str:
    """Return what is said of weights that spread so far."""
    return (
        f"The log weights of annealed importance sampling have a standard deviation of {spread:.1f} nats, more than "
        f"{MOST_SPREAD:.0f}: the estimate and its standard error are not to be trusted; ask with more temperatures."
    )


def annealed_importance(
    log_density: Callable[[Array, Float[Array, "... chains d"]], Float[Array, "... chains"]],
    kernel: Callable[[Array, Array, Float[Array, "... chains d"]], Float[Array, "... chains d"]],
    betas: Float[Numeric, " temperatures"],
    start: Float[Numeric, "... chains d"],
    key: Array,
) -> Annealed:
    """Return log Z(β_last) − log Z(β_first), from chains that begin with draws of the first law.

    At each β the weight of a chain grows by p_β(x) / p_β′(x) of unnormalized densities, with β′ the one before; then
    `kernel(key, β, x)`, which leaves p_β as it is, moves the chain. The mean weight is the ratio of the constants on
    average; its logarithm is at most the true one on average.

    Neal (2001).
    """
    ladder, first = jnp.asarray(betas), jnp.asarray(start)

    def turn(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        x, log_weight = carry
        before, now = ladder[number - 1], ladder[number]
        log_weight = log_weight + log_density(now, x) - log_density(before, x)
        return kernel(jax.random.fold_in(key, number), now, x), log_weight

    begin = first, jnp.zeros(first.shape[:-1], first.dtype)
    x, log_weight = jax.lax.fori_loop(1, len(ladder), turn, begin)
    wide = log_weight.astype(jnp.result_type(float))
    value, error = mean_weight(wide)
    return Annealed(value, error, jnp.std(wide, axis=-1, ddof=min(1, wide.shape[-1] - 1)), x, log_weight)


def mean_weight(log_weight: Float[Array, "... chains"]) -> Estimate:
    """Return the logarithm of the mean weight, with its standard error by the delta method.

    Of one weight it is infinite: nobody knows it.
    """
    count = log_weight.shape[-1]
    if count == 1:
        return Estimate(log_weight[..., 0], jnp.full(log_weight.shape[:-1], jnp.inf, log_weight.dtype))
    highest = jnp.max(log_weight, axis=-1, keepdims=True)
    scaled = jnp.exp(log_weight - highest)
    mean = jnp.mean(scaled, axis=-1)
    error = jnp.std(scaled, axis=-1, ddof=1) / (mean * count**0.5)
    return Estimate(highest[..., 0] + jnp.log(mean), error)
