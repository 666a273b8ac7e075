"""Data as the models see it: a batch of points, and its extent without the values."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from kullback.families._types import Numeric


def as_float(value: Any) -> Float[Array, "..."]:
    """Return an array of floating numbers: of the type it has, or JAX's default for others."""
    array = jnp.asarray(value)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


class Extent(eqx.Module):
    """How much data there is, never what it says: what a model needs to know to answer for its own statistics.

    `mass` is the total weight, one number or one for each member of a batched model.
    """

    mass: Float[Numeric, "*batch"]

    def __init__(self, mass: Any = 1.0):
        self.mass = as_float(mass)


class Batch(eqx.Module):
    """Points with weights. A padded row is a row of weight 0: its values are never looked at.

    `weight` has one entry for each row, or one for each row and each member of a batched model (the
    responsibilities of a mixture). `width` is the variance of a data point itself: N(v, width·I) in place of
    the Dirac at v. It enters the statistics of Gaussian families and nothing else.
    """

    values: Num[Numeric, "rows ..."]
    weight: Float[Numeric, "rows *batch"]
    width: Float[Numeric, ""]

    def __init__(self, values: Any, weight: Any = None, width: Any = 0.0):
        values = jnp.asarray(values)
        dtype = as_float(values).dtype
        self.width = jnp.asarray(width, dtype)
        if weight is None:
            self.values, self.weight = values, jnp.ones(values.shape[:1], dtype)
            return
        self.weight = jnp.asarray(weight, dtype)
        seen = jnp.any(self.weight > 0, axis=tuple(range(1, self.weight.ndim)))
        # a padded row takes the values of a row that counts, so that nothing it held reaches a sum or a gradient
        row = values[jnp.argmax(seen)] if len(values) else values
        self.values = jnp.where(seen.reshape(-1, *(1,) * (values.ndim - 1)), values, row)

    @property
    def extent(self) -> Extent:
        """The total weight."""
        return Extent(jnp.sum(self.weight, axis=0))

    def weighted(self, weight: Float[Numeric, "rows *batch"]) -> "Batch":
        """Return the same points under other weights."""
        return eqx.tree_at(lambda batch: batch.weight, self, jnp.asarray(weight))
