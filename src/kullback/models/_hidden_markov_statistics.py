"""Expected counts of a hidden chain, and the statistics of what it emits."""

from typing import Any, Self

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Statistics
from kullback.numerics import Numeric


class HiddenMarkovStatistics(Statistics):
    """How often sequences begin in each state, go from one to another, and end; and the statistics of the emissions.

    The mass is that of the steps. A sequence counts once for its start and T − 1 times for its transitions.
    """

    mass: Float[Numeric, ""]
    log_likelihood: Float[Numeric, ""]
    initial: Float[Numeric, " k"]
    transitions: Float[Numeric, "k k"]
    ending: Float[Numeric, " k"] | None
    emissions: Any

    def merge(self, other: Self) -> Self:
        """Add the counts and merge the emissions: states must mean the same in both."""
        return type(self)(
            jnp.add(self.mass, other.mass),
            jnp.add(self.log_likelihood, other.log_likelihood),
            jnp.add(self.initial, other.initial),
            jnp.add(self.transitions, other.transitions),
            None if self.ending is None or other.ending is None else jnp.add(self.ending, other.ending),
            self.emissions.merge(other.emissions),
        )

    def scale(self, weight: Float[Numeric, ""] | float) -> Self:
        """Return the same averages with `weight` times the mass."""
        return type(self)(
            jnp.multiply(self.mass, weight),
            jnp.multiply(self.log_likelihood, weight),
            jnp.multiply(self.initial, weight),
            jnp.multiply(self.transitions, weight),
            None if self.ending is None else jnp.multiply(self.ending, weight),
            self.emissions.scale(weight),
        )


def with_end(transitions: Numeric, ending: Numeric | None) -> Numeric:
    """Put the end beside the states that can follow."""
    return transitions if ending is None else jnp.concatenate([transitions, jnp.asarray(ending)[:, None]], axis=1)


def shares(counts: Numeric, now: Numeric) -> Float[Array, "..."]:
    """Return counts as shares of their sum. What is 0 now stays 0, and without any counts all stays."""
    counts = jnp.where(jnp.asarray(now) > 0, jnp.maximum(counts, 0), 0)
    total = jnp.sum(counts, axis=-1, keepdims=True)
    return jnp.where(total > 0, counts / jnp.where(total > 0, total, 1), now)
