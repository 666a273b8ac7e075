"""The likelihood as an objective: that of models whose density is known."""

from typing import Any, Protocol

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch, weighted_total
from kullback.learning._gradient import Loss


class _Density(Protocol):
    def log_likelihood(self, batch: Batch) -> Float[Array, " rows"]: ...


def negative_log_likelihood(model: _Density, batch: Batch, memory: Any = None, key: Any = None) -> Loss:
    """Return the mean energy −log p(v | inputs) of the rows, in nats: an objective for `Gradient`."""
    rows = model.log_likelihood(batch)
    weight = jnp.asarray(batch.weight, rows.dtype)
    return Loss(-weighted_total(weight, rows) / jnp.sum(weight), memory)
