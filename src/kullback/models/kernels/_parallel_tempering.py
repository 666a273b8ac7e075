"""Parallel tempering: chains at several temperatures that exchange their states, so that those at the end mix."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric


class TemperedChains(NamedTuple):
    """Where the chains of each temperature have come to, and how often neighbors have exchanged their states."""

    x: Float[Array, "temperatures chains d"]
    exchanges: Float[Array, " neighbors"]


def parallel_tempering(
    log_density: Callable[[Float[Array, "temperatures 1"], Float[Array, "temperatures chains d"]], Array],
    kernel: Callable[[Array, Float[Array, "temperatures 1"], Float[Array, "temperatures chains d"]], Array],
    betas: Float[Numeric, " temperatures"],
    start: Float[Numeric, "temperatures chains d"],
    key: Array,
    steps: int | Array,
) -> TemperedChains:
    """Run chains at each β; after a step of `kernel`, neighbors exchange states with the probability of Metropolis.

    `log_density(β, x)` and `kernel(key, β, x)` are those of a path of laws; β has an axis of length 1 where x has its
    chains. In even steps the neighbors (0, 1), (2, 3), … may exchange, in odd steps (1, 2), (3, 4), …: with probability
    min(1, p_i(x_j)·p_j(x_i) / p_i(x_i)·p_j(x_j)). So the product of the laws stays as it is.

    Swendsen and Wang (1986); Geyer (1991).
    """
    ladder = jnp.asarray(betas)[:, None]
    count = len(ladder)
    place = jnp.arange(count)

    def step(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        x, exchanges = carry
        first, second = jax.random.split(jax.random.fold_in(key, number))
        x = kernel(first, ladder, x)
        # the neighbor of each temperature in this step; one without a neighbor is its own
        other = jnp.clip(jnp.where((place - number) % 2 == 0, place + 1, place - 1), 0, count - 1)
        alone = other == place
        gain = log_density(ladder, x[other]) - log_density(ladder, x)
        log_ratio = gain + gain[other]
        chance = jax.random.uniform(second, gain.shape, gain.dtype)
        lower = jnp.minimum(place, other)  # both of a pair throw the same die
        taken = (chance[lower] < jnp.exp(jnp.minimum(log_ratio, 0))) & ~alone[:, None]
        up = taken[:-1] & (other[:-1] == place[1:])[:, None]
        return jnp.where(taken[..., None], x[other], x), exchanges + jnp.mean(up, axis=1)

    first = jnp.asarray(start)
    x, exchanges = jax.lax.fori_loop(0, steps, step, (first, jnp.zeros(count - 1, first.dtype)))
    return TemperedChains(x, 2 * exchanges / jnp.maximum(steps, 1))
