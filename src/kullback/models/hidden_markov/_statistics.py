"""Expected counts of a hidden chain, and the statistics of what it emits."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import SummedStatistics
from kullback.numerics import Numeric


class HiddenMarkovStatistics(SummedStatistics):
    """How often sequences begin in each state, go from one to another, and end; and the statistics of the emissions.

    The mass is that of the steps. A sequence counts once for its start and T − 1 times for its transitions.
    """

    mass: Float[Numeric, ""]
    log_likelihood: Float[Numeric, ""]
    initial: Float[Numeric, " k"]
    transitions: Float[Numeric, "k k"]
    ending: Float[Numeric, " k"] | None
    emissions: Any


def with_end(transitions: Numeric, ending: Numeric | None) -> Numeric:
    """Put the end beside the states that can follow."""
    return transitions if ending is None else jnp.concatenate([transitions, jnp.asarray(ending)[:, None]], axis=1)


def shares(counts: Numeric, now: Numeric) -> Float[Array, "..."]:
    """Return counts as shares of their sum. What is 0 now stays 0, and without any counts all stays."""
    counts = jnp.where(jnp.asarray(now) > 0, jnp.maximum(counts, 0), 0)
    total = jnp.sum(counts, axis=-1, keepdims=True)
    return jnp.where(total > 0, counts / jnp.where(total > 0, total, 1), now)
