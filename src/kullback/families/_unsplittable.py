"""Families whose points are there or missing as a whole."""

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Batch, MeanStatistics, average, keep_observed, keep_rows, replace, row_weight, weighted_total
from kullback.families._family import Coordinates, ExponentialFamily
from kullback.numerics import LinearForm, Numeric


class UnsplittableFamily(ExponentialFamily):
    """A family without a rule for a part of a point: a point with a missing entry counts as missing.

    A missing point says nothing: its likelihood is 1, and its statistics are those the model itself expects. The first
    parameter is taken to have one entry for each column on its last axis; a `ScalarFamily` has no such axis.
    """

    #: What stands in the place of missing entries, so that nothing that is worked out of them is infinite.
    stand_in: ClassVar[float] = 0.0

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return np.shape(jax.tree.leaves(self)[0])[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return np.shape(jax.tree.leaves(self)[0])[-1:]

    @classmethod
    @abc.abstractmethod
    def _density_natural(cls, natural: Array, x: Array, *args: Any, **structure: Any) -> Array:
        """Return the log density at points that are there."""

    @classmethod
    @abc.abstractmethod
    def _density_free(cls, free: Array, x: Array, *args: Any, **structure: Any) -> Array: ...

    @classmethod
    def _log_prob_natural(cls, natural: Array, x: Array, observed: Any, *args: Any, **structure: Any) -> Array:
        return cls._where_seen(lambda points: cls._density_natural(natural, points, *args, **structure), x, observed)

    @classmethod
    def _log_prob_free(cls, free: Array, x: Array, observed: Any, *args: Any, **structure: Any) -> Array:
        return cls._where_seen(lambda points: cls._density_free(free, points, *args, **structure), x, observed)

    @classmethod
    def _where_seen(cls, density: Callable[[Array], Array], x: Array, observed: Any) -> Array:
        """Return a log density of points that are there, and 0 of the others, with the gradient 0."""
        if observed is None:
            return density(x)
        seen = jnp.asarray(observed)
        if cls._point_axes:
            seen = jnp.all(seen, axis=-1)
        there = seen[..., None] if cls._point_axes else seen
        return jnp.where(seen, density(jnp.where(there, x, cls.stand_in)), 0)

    def extended_statistics(self, x: Any) -> Float[Array, "... e"]:
        """Return what is averaged over points: T(x), or more where its average would lose digits."""
        return self.statistics(x)

    @property
    def extended_expectation(self) -> Float[Array, "*batch e"]:
        """What the members expect of it."""
        return self.expectation

    def linear_form(self, x: Any) -> LinearForm | None:
        """Return log p(x) as a product of features and coefficients, where there is such a form."""
        return None

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Log density of each row under each member."""
        axes = (1,) * len(self.batch_shape)
        rows, *event = batch.values.shape
        values, seen = jnp.asarray(batch.values).reshape(rows, *axes, *event), _seen(batch)
        if seen is None:
            return self.log_prob(values)
        there = seen.reshape(rows, *axes, *(1 for _ in event))
        value = self.log_prob(jnp.where(there, values, self.stand_in))
        return jnp.where(seen.reshape(rows, *axes), value, 0)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[Any, None]:
        """Return the statistics of the data: what is observed is all there is."""
        total = weighted_total(row_weight(batch, self.batch_shape), self.log_likelihood(batch))
        return replace(self.member_statistics(batch), log_likelihood=total), carry

    def member_statistics(self, batch: Batch) -> MeanStatistics:
        weight, seen = row_weight(batch, self.batch_shape), _seen(batch)
        if seen is None:
            return self._average(batch.values, weight)
        there = seen.reshape(-1, *(1,) * len(self.batch_shape))
        data = self._average(batch.values, jnp.where(there, weight, 0))
        return data.merge(self._expected_statistics(jnp.sum(jnp.where(there, 0, weight), axis=0)))

    def _average(self, values: Any, weight: Float[Array, "rows *batch"]) -> MeanStatistics:
        mass, mean = average(self.extended_statistics(values), weight)
        return MeanStatistics(mass, jnp.zeros_like(mass), mean)

    def _expected_statistics(self, mass: Float[Array, "*batch"]) -> MeanStatistics:
        return MeanStatistics(mass, jnp.zeros_like(mass), self.extended_expectation)

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        """Return ψ(θ) − ⟨θ, E[T]⟩, times the mass."""
        return jnp.multiply(statistics.mass, self.log_partition - jnp.sum(self.natural * statistics.mean, axis=-1))

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows ..."]:
        """Draw the missing points, for each member."""
        return keep_rows(batch, self.sample(key, batch.values.shape[:1]))

    def embed(self, x: Any) -> Float[Array, "..."]:
        """Return points as what averages: numbers are their own embedding."""
        return jnp.asarray(x, jnp.asarray(jax.tree.leaves(self)[0]).dtype)

    @property
    def mean_embedding(self) -> Float[Array, "..."]:
        """The embedding that the members expect of a point: the mean, of numbers."""
        return jnp.asarray(self.column_means)

    def conditional_embedding(self, batch: Batch) -> Float[Array, "rows ..."]:
        """Return what the members expect of missing points; those that are there are what they are."""
        rows, *event = batch.values.shape
        own = self.embed(jnp.asarray(batch.values).reshape(rows, *(1,) * len(self.batch_shape), *event))
        seen, mean = _seen(batch), self.mean_embedding
        if seen is None:
            return jnp.broadcast_to(own, (rows, *mean.shape))
        return jnp.where(seen.reshape(rows, *(1,) * mean.ndim), own, mean)

    def leave_one_out(self, batch: Batch, carry: None = None) -> Float[Array, "rows ..."]:
        """Return 0: without one of its entries a point is missing."""
        columns = math.prod(self.event_shape)
        return jnp.zeros((batch.values.shape[0], *self.batch_shape, columns), self.expectation.dtype)

    def conditional_mode(self, batch: Batch) -> Num[Array, "rows ..."]:
        """Return the missing points at the mode of each member; one that lacks an entry is missing as a whole."""
        mode = jnp.asarray(self.mode)
        return keep_rows(batch, jnp.broadcast_to(mode, (batch.values.shape[0], *mode.shape)))


class NaturalFree(UnsplittableFamily):
    """A family whose natural coordinates are bounded by nothing: they are its free coordinates."""

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return self.natural

    @classmethod
    def _from_free(cls, free: Numeric, *args: Any, **structure: Any) -> Self:
        return cls._from_natural(free, *args, **structure)

    @classmethod
    def _density_free(cls, free: Array, x: Array, *args: Any, **structure: Any) -> Float[Array, "..."]:
        return cls._density_natural(free, x, *args, **structure)

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        return self._fisher_natural()

    def _slope(self, coordinates: Coordinates) -> Float[Array, "*batch d d"]:
        return self._fisher_natural() if coordinates == "expectation" else super()._slope(coordinates)


def draw_missing(family: ExponentialFamily, batch: Batch, key: Array) -> Num[Array, "rows ..."]:
    """Keep what is observed, and draw the rest without looking at it."""
    return keep_observed(batch, family.sample(key, batch.values.shape[:1]))


def _seen(batch: Batch) -> Bool[Array, " rows"] | None:
    if batch.observed is None:
        return None
    observed = jnp.asarray(batch.observed)
    return jnp.all(observed, axis=tuple(range(1, observed.ndim)))
