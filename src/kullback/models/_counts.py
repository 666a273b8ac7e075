"""Counts of categories whose total is given with the data."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Float, Num
from numpy.typing import NDArray

from kullback.core import (
    Batch,
    Extent,
    Key,
    MeanStatistics,
    Shape,
    as_key,
    as_shape,
    average,
    expand,
    keep_rows,
    replace,
    row_weight,
    weighted_total,
)
from kullback.families import (
    COUNTS,
    Categorical,
    Component,
    Marginal,
    count_marginals,
    multinomial_mode,
    typical_totals,
)
from kullback.numerics import Numeric


class Counts(Component):
    """v | n ~ Multinomial(n, p), where each row has its own total n = Σ v_i, which is not modeled.

    Statistics are the average counts of a row; the nearest model has p in proportion to them. `total` is the average
    total: the model's own counts are total·p. Rows with a missing entry count as missing. Batched over leading axes.

    >>> coin = Counts(probabilities=[0.5, 0.5])
    >>> [round(float(value), 3) for value in coin.log_likelihood(Batch([[1, 1], [3, 0]]))]  # log 1/2 and log 1/8
    [-0.693, -2.079]
    """

    support = COUNTS

    probabilities: Float[Numeric, "*batch k"]
    total: Float[Numeric, "*batch"]

    def __init__(self, probabilities: Any, total: Any = 1.0):
        self.probabilities = Categorical(probabilities).probabilities
        shape = self.probabilities.shape[:-1]
        if isinstance(self.probabilities, np.ndarray) and not isinstance(total, jax.Array):
            self.total = np.broadcast_to(np.asarray(total, self.probabilities.dtype), shape)
        else:
            self.total = jnp.broadcast_to(jnp.asarray(total, jnp.asarray(self.probabilities).dtype), shape)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes: how many members are held."""
        return self.probabilities.shape[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        return self.probabilities.shape[-1:]

    @property
    def size(self) -> int:
        """The number of probabilities that are free."""
        return self.probabilities.shape[-1] - 1

    @property
    def column_means(self) -> Any:
        """The mean of each count, of a row with the average total."""
        return np.asarray(self.total)[..., None] * np.asarray(self.probabilities)

    def raise_zeros(self, least: float) -> Self:
        """Return members that rule out no category."""
        raised = Categorical(self.probabilities).raise_zeros(least)
        return eqx.tree_at(lambda m: m.probabilities, self, raised.probabilities)

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        """Return what a picture draws of each count: a binomial, for rows with these totals."""
        columns = [(p,) for p in np.asarray(self.probabilities, dtype=float).T]
        return count_marginals("binom", columns, typical_totals(totals, float(np.mean(self.total))), "probability")

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Return log n!/∏ v_i! + Σ v_i log p_i for each row and member; 0 for a row that is missing."""
        p = jnp.asarray(self.probabilities)
        v = jnp.asarray(batch.values, p.dtype)
        base = gammaln(v.sum(axis=-1) + 1) - gammaln(v + 1).sum(axis=-1)
        # counts of what cannot happen, apart from counts of 0, have no finite logarithm
        possible = jnp.tensordot(v, jnp.where(p > 0, jnp.log(jnp.where(p > 0, p, 1)), 0), axes=(-1, -1))
        impossible = jnp.tensordot(v, jnp.where(p > 0, 0.0, 1.0).astype(p.dtype), axes=(-1, -1)) > 0
        value = jnp.where(impossible, -jnp.inf, expand(base, len(self.batch_shape)) + possible)
        if batch.observed is None:
            return value
        return jnp.where(expand(jnp.all(jnp.asarray(batch.observed), axis=-1), len(self.batch_shape)), value, 0)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[MeanStatistics, None]:
        """Return the average counts of a row; the model's own for rows that are missing."""
        weight = row_weight(batch, self.batch_shape)
        likelihood = weighted_total(weight, self.log_likelihood(batch))
        values = jnp.asarray(batch.values, weight.dtype)
        if batch.observed is None:
            mass, mean = average(values, weight)
            return MeanStatistics(mass, likelihood, mean), carry
        there = expand(jnp.all(jnp.asarray(batch.observed), axis=-1), len(self.batch_shape))
        mass, mean = average(values, jnp.where(there, weight, 0))
        missing = jnp.sum(jnp.where(there, 0, weight), axis=0)
        return MeanStatistics(mass, likelihood, mean).merge(self.own_statistics(Extent(missing))), carry

    def own_statistics(self, like: Extent) -> MeanStatistics:
        """Return the counts the model expects of a row."""
        p = jnp.asarray(self.probabilities)
        mass = jnp.broadcast_to(jnp.asarray(like.mass, p.dtype), self.batch_shape)
        return MeanStatistics(mass, jnp.zeros_like(mass), expand(self.total, 1) * p)

    def maximize(self, statistics: MeanStatistics, prior: Any = None) -> Self:
        """Return the model whose probabilities are in proportion to the counts; without any it stays."""
        if prior is not None:
            statistics = prior.added_to(statistics, self)
        mean = jnp.asarray(statistics.mean)
        total = mean.sum(axis=-1)
        seen = (jnp.asarray(statistics.mass) > 0) & (total > 0)
        share = mean / expand(jnp.where(seen, total, 1), 1)
        probabilities = jnp.where(expand(seen, 1), share, self.probabilities)
        return replace(self, probabilities=probabilities, total=jnp.where(seen, total, self.total))

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        """Return −Σ E[v_i] log p_i, times the mass; the number of arrangements is the same for all members."""
        return -jnp.multiply(statistics.mass, jnp.sum(xlogy(statistics.mean, self.probabilities), axis=-1))

    def posterior(self, batch: Batch, key: Any = None) -> None:
        """Return nothing: nothing is hidden."""

    def energy(self, v: Any, h: None = None, inputs: None = None) -> Float[Array, "..."]:
        """−log p(v | n)."""
        v = jnp.asarray(v, jnp.asarray(self.probabilities).dtype)
        base = gammaln(v.sum(axis=-1) + 1) - gammaln(v + 1).sum(axis=-1)
        return -base - jnp.sum(xlogy(v, self.probabilities), axis=-1)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        """Draw counts whose total is the average total, rounded."""
        key, shape = as_key(key), as_shape(shape)
        p = jnp.asarray(self.probabilities)
        n = jnp.broadcast_to(jnp.round(self.total), shape + self.batch_shape)
        return jax.random.multinomial(key, n, p, shape=shape + p.shape)

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows *batch k"]:
        """Draw the rows that are missing, for each member."""
        return keep_rows(batch, self.sample(key, batch.values.shape[:1]))

    def conditional_embedding(self, batch: Batch) -> Float[Array, "rows *batch k"]:
        """Return the mean counts of missing rows, whose total is the average total."""
        mean = jnp.asarray(self.total)[..., None] * jnp.asarray(self.probabilities)
        return keep_rows(batch, jnp.broadcast_to(mean, (batch.values.shape[0], *mean.shape)))

    @property
    def mode(self) -> Float[Array, "*batch k"]:
        """The most probable counts whose total is the average total, rounded."""
        return multinomial_mode(jnp.round(self.total), jnp.asarray(self.probabilities))

    def conditional_mode(self, batch: Batch) -> Num[Array, "rows *batch k"]:
        """Return the missing rows at the mode of each member."""
        return keep_rows(batch, jnp.broadcast_to(self.mode, (batch.values.shape[0], *self.probabilities.shape)))

    def aligned_to(self, reference: Self) -> Self:
        """Return the model itself: nothing is hidden."""
        return self
