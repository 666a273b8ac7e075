"""Data as the models see it: a batch of points, and its extent without the values."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float, Num

from kullback.families._types import Numeric


class Extent(eqx.Module):
    """How much data there is, never what it says: what a model needs to know to answer for its own statistics.

    `mass` is the total weight, one number or one for each member of a batched model.
    """

    mass: Float[Numeric, "*batch"]

    def __init__(self, mass: Any = 1.0):
        self.mass = jnp.asarray(mass, dtype=float)


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
        self.values = jnp.asarray(values)
        self.weight = jnp.ones(self.values.shape[:1]) if weight is None else jnp.asarray(weight, dtype=float)
        self.width = jnp.asarray(width, dtype=float)

    @property
    def extent(self) -> Extent:
        """The total weight."""
        return Extent(jnp.sum(self.weight, axis=0))

    def weighted(self, weight: Float[Numeric, "rows *batch"]) -> "Batch":
        """Return the same points under other weights."""
        return Batch(self.values, weight, self.width)
