"""Pseudo-counts: what mixtures of bits and of categories have seen before the data came."""

from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.models import MixtureStatistics
from kullback.numerics import Numeric


class PseudoCounts(eqx.Module):
    """A prior for a mixture of independent columns: counts that are added to those of every component and column.

    The weights of the components are left out: there are no pseudo-rows, whose number would differ between columns.
    """

    counts: Float[Numeric, "n d"]  # of each statistic of a column
    total: Float[Numeric, " n"]

    @classmethod
    def of_sides(cls, smoothing: float, n: int) -> Self:
        """Return counts of both sides of n coins, whose one statistic is the share of ones."""
        return cls(np.full((n, 1), float(smoothing)), np.full(n, 2.0 * smoothing))

    @classmethod
    def of_categories(cls, smoothing: float, n_categories: np.ndarray) -> Self:
        """Return counts of the categories that each column has."""
        there = np.arange(max(n_categories)) < np.asarray(n_categories)[:, None]
        counts = np.where(there, float(smoothing), 0.0)
        return cls(counts, counts.sum(axis=1))

    def added_to(self, data: MixtureStatistics, model: Any = None) -> MixtureStatistics:
        """Return the statistics with these counts among them."""
        mean: Any = data.components.mean
        mass: Array = jnp.asarray(data.components.mass)[:, None, None]
        seen = mass * mean.reshape(len(mean), *self.counts.shape)
        share = (seen + self.counts) / (mass + jnp.asarray(self.total)[:, None])
        return eqx.tree_at(lambda s: s.components.mean, data, share.reshape(mean.shape))
