"""Families whose points are there or missing as a whole."""

import abc
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Batch, MeanStatistics, Statistics, average, row_weight, weighted_total
from kullback.families._family import ExponentialFamily
from kullback.numerics import Numeric


class UnsplittableFamily(ExponentialFamily):
    """A family without a rule for a part of a point: a point with a missing entry counts as missing.

    A missing point says nothing: its likelihood is 1, and its statistics are those the model itself expects.
    """

    @abc.abstractmethod
    def _statistics_of(self, batch: Batch, log_likelihood: Float[Array, "*batch"]) -> Statistics: ...

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Log density of each row under each member."""
        axes = (1,) * len(self.batch_shape)
        rows, *event = batch.values.shape
        value = self.log_prob(jnp.asarray(batch.values).reshape(rows, *axes, *event))
        seen = _seen(batch)
        return value if seen is None else jnp.where(seen.reshape(rows, *axes), value, 0)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[Any, None]:
        """Return the statistics of the data: what is observed is all there is."""
        weight = row_weight(batch, self.batch_shape)
        total = weighted_total(weight, self.log_likelihood(batch))
        seen = _seen(batch)
        if seen is None:
            return self._statistics_of(batch, total), carry
        there = seen.reshape(-1, *(1,) * len(self.batch_shape))
        gathered = self._statistics_of(batch.weighted(jnp.where(there, weight, 0)), total)
        return gathered.merge(self._expected_statistics(jnp.sum(jnp.where(there, 0, weight), axis=0))), carry

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows ..."]:
        """Draw the missing points, for each member."""
        seen = _seen(batch)
        whole = batch if seen is None else batch.columns(batch.values, _like(seen, batch.values))
        return drawn_where_missing(self, whole, key)


def drawn_where_missing(family: ExponentialFamily, batch: Batch, key: Array) -> Num[Array, "rows ..."]:
    """Keep what is observed, and draw the rest without looking at it."""
    values = jnp.asarray(batch.values)
    rows, *event = values.shape
    axes = (1,) * len(family.batch_shape)
    drawn = family.sample(key, (rows,))
    seen = jnp.ones((), bool) if batch.observed is None else jnp.reshape(batch.observed, (rows, *axes, *event))
    return jnp.where(seen, values.reshape(rows, *axes, *event), drawn)


def _like(seen: Bool[Array, " rows"], values: Numeric) -> Bool[Array, "rows ..."]:
    return jnp.broadcast_to(seen.reshape(-1, *(1,) * (values.ndim - 1)), values.shape)


def _seen(batch: Batch) -> Bool[Array, " rows"] | None:
    if batch.observed is None:
        return None
    observed = jnp.asarray(batch.observed)
    return jnp.all(observed, axis=tuple(range(1, observed.ndim)))


def gather_means(
    family: ExponentialFamily,
    batch: Batch,
    statistics: Float[Array, "rows d"],
    log_likelihood: Float[Array, "*batch"],
) -> MeanStatistics:
    """Average the statistics of the rows, for families whose average needs no care."""
    mass, mean = average(statistics, row_weight(batch, family.batch_shape))
    return MeanStatistics(mass, log_likelihood, mean)


def own_means(family: ExponentialFamily, mass: Array, mean: Float[Array, "*batch d"]) -> MeanStatistics:
    """Return the average a member expects, with this mass and no data behind it."""
    return MeanStatistics(mass, jnp.zeros_like(mass), mean)
