"""Counts whose probabilities vary from row to row: words in documents, goods in baskets."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Bool, Float, Num
from numpy.typing import NDArray

from kullback.core import (
    Batch,
    Extent,
    MeanStatistics,
    by_blocks,
    expand,
    keep_observed,
    keep_rows,
    replace,
    row_weight,
    weighted_total,
)
from kullback.families import (
    COUNTS,
    Component,
    Coordinates,
    Dirichlet,
    Marginal,
    count_marginals,
    mode_shares,
    multinomial_mode,
    register_family,
    typical_totals,
)
from kullback.numerics import Numeric, digamma_rise, log_rising


@register_family
class CompoundDirichlet(Component):
    """v | h ~ Multinomial(n, h) with hidden probabilities h ~ Dirichlet(α), a new h for each row.

    p(v | α) = n!/∏ v_i! · B(α + v)/B(α) with n = Σ v_i, and the posterior of h is Dirichlet(α + v). Rows may have
    different totals: n is part of the data. `trials` is the total of the rows that the model draws itself, and nothing
    else. Only the Dirichlet has parameters, so statistics are E[log h_i]: ψ(α_i + v_i) − ψ(Σα + n) from the data,
    ψ(α_i) − ψ(Σα) from the model itself, with ψ the digamma function.

    A row with a missing entry counts as missing. Batched over leading axes, so that mixtures of it can be made.

    >>> coin = CompoundDirichlet(concentration=[1.0, 1.0])
    >>> coin.log_likelihood(Batch([[0, 3], [2, 1]])).round(3).tolist()  # any number of heads, log 1/4
    [-1.386..., -1.386...]
    """

    support = COUNTS

    concentration: Float[Numeric, "*batch k"]
    trials: int = eqx.field(static=True)

    def __init__(self, concentration: Any, trials: int = 100):
        self.concentration = Dirichlet(concentration).concentration
        if int(trials) != trials or trials < 1:
            raise ValueError(f"trials is {trials}: it must be a whole number, 1 or more.")
        self.trials = int(trials)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes: how many members are held."""
        return self.concentration.shape[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        return self.concentration.shape[-1:]

    @property
    def size(self) -> int:
        """The number of coordinates, those of the Dirichlet."""
        return self.concentration.shape[-1]

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Self:
        """Return members that are all alike, whatever the totals of the data are."""
        return cls(np.ones((members, columns)))

    @property
    def column_means(self) -> Any:
        """The mean of each count, of a row that the model draws."""
        return self.trials * np.asarray(self.hidden.column_means)

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        """Return what a picture draws of each count: a beta-binomial, for rows with these totals."""
        alpha = np.asarray(self.concentration, dtype=float)
        columns = [(a, alpha.sum(axis=1) - a) for a in alpha.T]
        return count_marginals("betabinom", columns, typical_totals(totals, self.trials), "concentration")

    @property
    def hidden(self) -> Dirichlet:
        """The distribution of the probabilities h."""
        return Dirichlet(self.concentration)

    def coordinates(self, name: Coordinates) -> Float[Array, "*batch k"]:
        """Return the coordinates of the Dirichlet, which is all that has any."""
        return self.hidden.coordinates(name)

    def at(self, name: Coordinates, vector: Any) -> Self:
        """Return the model of the same kind with these coordinates."""
        return self._with(self.hidden.at(name, vector))

    def _with(self, hidden: Dirichlet) -> Self:
        return replace(self, concentration=hidden.concentration)

    # --- what the data says -----------------------------------------------------------------------------

    def _counts(self, batch: Batch) -> tuple[Float[Array, "rows k"], Bool[Array, " rows"]]:
        """Return the counts of each row, and whether they are counts. Rows that say nothing are rows of zeros."""
        values = jnp.asarray(batch.values, jnp.asarray(self.concentration).dtype)
        k = self.concentration.shape[-1]
        if values.ndim != 2 or values.shape[-1] != k:
            raise ValueError(f"values have shape {values.shape}: rows of {k} counts are needed, one for each category.")
        if batch.observed is not None:
            values = jnp.where(jnp.all(jnp.asarray(batch.observed), axis=-1, keepdims=True), values, 0)
        possible = _are_counts(values)
        return jnp.where(possible[:, None], values, 0), possible

    def log_likelihood(self, batch: Batch) -> Float[Array, "rows *batch"]:
        """Return log n!/∏ v_i! + Σ log (α_i)…(α_i+v_i−1) − log (Σα)…(Σα+n−1) for each row."""
        counts, possible = self._counts(batch)
        ways, axes = _log_ways(counts), (1,) * len(self.batch_shape)
        value = self._log_compound(counts.reshape(counts.shape[0], *axes, -1)) + ways.reshape(-1, *axes)
        return jnp.where(possible.reshape(-1, *axes), value, -jnp.inf)

    def _log_compound(self, counts: Float[Array, "... k"]) -> Float[Array, "..."]:
        alpha = jnp.asarray(self.concentration)
        total, trials = jnp.sum(alpha, axis=-1), jnp.sum(counts, axis=-1)
        return jnp.sum(log_rising(alpha, counts), axis=-1) - log_rising(total, trials)

    def posterior(self, batch: Batch, key: Any = None) -> Dirichlet:
        """Return Dirichlet(α + v) for each row."""
        counts, _ = self._counts(batch)
        axes = (1,) * len(self.batch_shape)
        return Dirichlet(self.concentration + counts.reshape(counts.shape[0], *axes, -1))

    def energy(self, v: Any, h: Any = None, inputs: None = None) -> Float[Array, "..."]:
        """Return −log p(h, v); without h the free energy −log p(v)."""
        v = jnp.asarray(v, jnp.asarray(self.concentration).dtype)
        possible = _are_counts(v)
        counts = jnp.where(possible[..., None], v, 0)
        if h is None:
            given = self._log_compound(counts)
        else:
            given = self.hidden.log_prob(h) + jnp.sum(xlogy(counts, jnp.asarray(h)), axis=-1)
        return jnp.where(possible, -given - _log_ways(counts), jnp.inf)

    def expected_statistics(self, batch: Batch, carry: None = None) -> tuple[MeanStatistics, None]:
        """Return the average of E[log h | v], block by block. A row that is impossible says nothing of h."""
        return by_blocks(self._of_block, batch), carry

    def _of_block(self, batch: Batch) -> MeanStatistics:
        weight = row_weight(batch, self.batch_shape).astype(jnp.asarray(self.concentration).dtype)
        alpha = jnp.asarray(self.posterior(batch).concentration)
        mass = jnp.sum(weight, axis=0)
        mean = jnp.sum(expand(weight, 1) * _log_means(alpha), axis=0) / expand(jnp.where(mass > 0, mass, 1), 1)
        return MeanStatistics(mass, weighted_total(weight, self.log_likelihood(batch)), mean)

    # --- what the model says ----------------------------------------------------------------------------

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Num[Array, "..."]:
        """Draw rows of `trials` counts."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Array, shape: tuple[int, ...] = ()) -> tuple[Float[Array, "..."], Num[Array, "..."]]:
        """Draw probabilities, and the rows of `trials` counts they belong to."""
        first, second = jax.random.split(key)
        h = self.hidden.sample(first, shape)
        return h, _draw_counts(second, self.trials, h)

    def impute(self, batch: Batch, key: Array) -> Num[Array, "rows *batch k"]:
        """Draw the missing rows, of `trials` counts each, for each member."""
        return keep_rows(batch, self.sample(key, batch.values.shape[:1]))

    def conditional_embedding(self, batch: Batch) -> Float[Array, "rows *batch k"]:
        """Return the mean α_i/Σα of `trials` counts for missing rows."""
        alpha = jnp.asarray(self.concentration)
        mean = self.trials * alpha / jnp.sum(alpha, axis=-1, keepdims=True)
        return keep_rows(batch, jnp.broadcast_to(mean, (batch.values.shape[0], *mean.shape)))

    @property
    def mode(self) -> Float[Array, "*batch k"]:
        """The most probable counts: those of a multinomial with shares in proportion to α − 1, where it is positive.

        A trial more multiplies the probability by (α_i + v_i)/(v_i + 1) = 1 + (α_i − 1)/(v_i + 1): above 1 and falling
        where α_i > 1, below 1 elsewhere. Where no α is above 1 all trials are in the category of the largest.
        """
        return multinomial_mode(self.trials, mode_shares(jnp.asarray(self.concentration)))

    def conditional_mode(self, batch: Batch) -> Num[Array, "rows *batch k"]:
        """Return the missing rows at the mode of each member."""
        return keep_observed(batch, jnp.broadcast_to(self.mode, (batch.values.shape[0], *self.concentration.shape)))

    def own_statistics(self, like: Extent) -> MeanStatistics:
        """Return ψ(α_i) − ψ(Σα): exact, whatever the totals of the rows."""
        return self.hidden.own_statistics(like)

    # --- the nearest model ------------------------------------------------------------------------------

    def maximize(self, statistics: MeanStatistics, prior: MeanStatistics | None = None) -> Self:
        """Return the model whose Dirichlet has these means of log h, by Newton steps of O(k)."""
        return self._with(self.hidden.maximize(statistics, prior))

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        """Return −E[log p(h)], times the mass: no parameter enters p(v | h)."""
        return self.hidden.cross_entropy(statistics)

    def aligned_to(self, reference: Self) -> Self:
        """Return itself: the hidden probabilities have the names of the visible categories."""
        return self


def _draw_counts(key: Array, trials: int, h: Float[Array, "... k"]) -> Num[Array, "... k"]:
    """Draw from the multinomial: up to 100 trials one by one, no slower than by binomials and soon compiled."""
    if trials > 100:
        return jax.random.multinomial(key, trials, h, dtype=h.dtype).astype(int)
    u = jax.random.uniform(key, (*h.shape[:-1], 1, trials), h.dtype)
    below = jnp.sum(u < jnp.cumsum(h, axis=-1)[..., :-1, None], axis=-1)
    ends = jnp.broadcast_to(jnp.asarray([0, trials], below.dtype), (*below.shape[:-1], 2))
    return jnp.diff(jnp.concatenate([ends[..., :1], below, ends[..., 1:]], axis=-1), axis=-1)


def _are_counts(values: Float[Array, "... k"]) -> Bool[Array, "..."]:
    return jnp.all((values >= 0) & (values == jnp.floor(values)) & jnp.isfinite(values), axis=-1)


def _log_ways(counts: Float[Array, "... k"]) -> Float[Array, "..."]:
    """Return log n!/∏ v_i!."""
    return gammaln(jnp.sum(counts, axis=-1) + 1) - jnp.sum(gammaln(counts + 1), axis=-1)


def _log_means(alpha: Float[Array, "... k"]) -> Float[Array, "... k"]:
    """Return ψ(α_i) − ψ(Σα), with the sum of the others where one is most of it: nothing is subtracted."""
    largest = jax.nn.one_hot(jnp.argmax(alpha, axis=-1), alpha.shape[-1], dtype=bool)
    rest = jnp.sum(jnp.where(largest, 0, alpha), axis=-1, keepdims=True)
    return -digamma_rise(alpha, jnp.where(largest, rest, jnp.sum(alpha, axis=-1, keepdims=True) - alpha))
