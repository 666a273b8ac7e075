"""What a person wants to see of a step of learning; what the next step needs is the model."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.families import Statistics


class Report(NamedTuple):
    """Average log-likelihood of the data, in nats per point, under the model before the step."""

    log_likelihood: Float[Array, ""]


def report(statistics: Statistics) -> Report:
    """Read the report off the statistics of the data: no second pass is needed."""
    mass = jnp.asarray(statistics.mass)
    return Report(jnp.where(mass > 0, statistics.log_likelihood / jnp.where(mass > 0, mass, 1), 0))
