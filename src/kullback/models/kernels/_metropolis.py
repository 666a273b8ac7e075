"""Metropolis–Hastings: proposals that are taken or not, so that chains have the law exp(−energy/T)."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric


class Proposal(NamedTuple):
    """Where a chain may go, and log q(x | x′) − log q(x′ | x): 0 where proposals go both ways alike."""

    x: Float[Array, "chains d"]
    log_ratio: Float[Array, " chains"] | float = 0.0


class MetropolisChains(NamedTuple):
    """Where chains have come to, the energies there, and the average probability that a proposal was taken."""

    x: Float[Array, "chains d"]
    energy: Float[Array, " chains"]
    acceptance: Float[Array, ""]


def metropolis_hastings(
    energy: Callable[[Float[Array, "chains d"]], Float[Array, " chains"]],
    propose: Callable[[Array, Float[Array, "chains d"]], Proposal],
    start: Float[Numeric, "chains d"],
    key: Array,
    steps: int,
    temperature: float | Float[Array, ""] = 1.0,
) -> MetropolisChains:
    """Run chains: x′ of `propose(key, x)` is taken with probability min(1, e^((U(x) − U(x′))/T)·q(x|x′)/q(x′|x)).

    One with an energy that is not finite is not taken. `flip_one` proposes for binary entries.

    Metropolis et al. (1953); Hastings (1970).

    >>> coin = lambda x: 1.0 * x[:, 0]  # odds of e to 1
    >>> chains = metropolis_hastings(coin, flip_one, jnp.zeros((4000, 1)), jax.random.key(0), steps=50)
    >>> bool(abs(jnp.mean(chains.x) - 1 / (1 + jnp.e)) < 0.03)
    True
    """

    def step(number: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, here, total = carry
        first, second = jax.random.split(jax.random.fold_in(key, number))
        proposal = propose(first, x)
        there = energy(proposal.x)
        log_ratio = (here - there) / temperature + proposal.log_ratio
        probability = jnp.where(jnp.isfinite(log_ratio), jnp.exp(jnp.minimum(log_ratio, 0)), 0)
        taken = jax.random.uniform(second, probability.shape, probability.dtype) < probability
        x = jnp.where(taken[:, None], proposal.x, x)
        return x, jnp.where(taken, there, here), total + jnp.mean(probability)

    first = jnp.asarray(start)
    begin = first, energy(first), jnp.zeros((), first.dtype)
    x, found, total = jax.lax.fori_loop(0, steps, step, begin)
    return MetropolisChains(x, found, total / max(steps, 1))


def flip_one(key: Array, x: Float[Array, "chains d"]) -> Proposal:
    """Propose to turn one entry of each chain, chosen evenly, from 0 to 1 or back."""
    chosen = jax.random.randint(key, x.shape[:1], 0, x.shape[1])
    return Proposal(jnp.where(jnp.arange(x.shape[1]) == chosen[:, None], 1 - x, x))
