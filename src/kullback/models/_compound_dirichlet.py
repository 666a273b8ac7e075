"""Counts whose probabilities vary from row to row: words in documents, goods in baskets."""

from typing import Any, Literal, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Bool, Float, Num
from numpy.typing import NDArray

from kullback.core import (
    Batch,
    Completion,
    Extent,
    Key,
    MeanStatistics,
    Shape,
    Want,
    as_key,
    as_shape,
    by_blocks,
    expand,
    keep_rows,
    refuse_temperature,
    replace,
    row_weight,
    weighted_total,
)
from kullback.families import (
    COUNTS,
    Component,
    Coordinates,
    Dirichlet,
    Kind,
    Marginal,
    Role,
    count_marginals,
    mode_shares,
    multinomial_mode,
    register_family,
    typical_totals,
)
from kullback.models._counts_completion import complete_counts, draw_counts
from kullback.numerics import Numeric, digamma_rise, log_rising
from kullback.runtime import in_given_precision


class CompoundDirichletKind(NamedTuple):
    """Compound Dirichlets of so many categories, by their free coordinates: what a network may answer with."""

    size: int
    trials: int

    @property
    def columns(self) -> int:
        """How many columns the points have."""
        return self.size

    def __str__(self) -> str:
        return f"CompoundDirichlet of {self.size} categories and {self.trials} trials"

    def at(self, coordinates: Coordinates, vector: Any) -> "CompoundDirichlet":
        """Return the member with these coordinates of its Dirichlet."""
        hidden: Any = self._hidden.at(coordinates, vector)
        return CompoundDirichlet(hidden.concentration, self.trials)

    @property
    def _hidden(self) -> Kind:
        return Kind(Dirichlet, self.size, ())

    @property
    def roles(self) -> tuple[Role, ...]:
        """What each free coordinate is."""
        return self._hidden.roles

    def fisher_at(self, coordinates: Coordinates, vector: Any) -> Float[Array, "... d d"]:
        """Return the Fisher matrix of probabilities and counts together, that of the Dirichlet: it bounds the other."""
        return self._hidden.fisher_at(coordinates, vector)

    def fisher_product_at(
        self, free: Any, columns: Float[Numeric, "... d k"], observed: Any = None
    ) -> Float[Array, "... d k"]:
        """Return that matrix times the columns of another; counts that lack an entry are missing as a whole."""
        return self._hidden.fisher_product_at(free, columns, observed)

    def log_prob_at(
        self, coordinates: Literal["natural", "free"], vector: Any, x: Any, observed: Any = None
    ) -> Float[Numeric, "..."]:
        """Return the log probability of counts x; where one of them is missing, 0."""
        if coordinates not in ("natural", "free"):
            raise ValueError(f"coordinates is {coordinates!r}: log_prob_at takes 'natural' or 'free'.")
        for name, array in (("vector", vector), ("x", x)):
            if np.shape(array)[-1:] != (self.size,):
                raise ValueError(f"{name} has shape {np.shape(array)}: it needs {self.size} on the last axis.")
        return _log_prob_at(vector, x, observed, self, coordinates)


@in_given_precision
def _log_prob_at(
    vector: Any, x: Any, observed: Any, kind: CompoundDirichletKind, coordinates: Coordinates
) -> Float[Array, "..."]:
    model = kind.at(coordinates, vector)
    if observed is None:
        return -model.energy(x)
    seen = jnp.all(jnp.asarray(observed), axis=-1)
    return jnp.where(seen, -model.energy(jnp.where(seen[..., None], x, 0)), 0)


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

    @property
    def kind(self) -> CompoundDirichletKind:
        """How many categories, and how many trials are drawn."""
        return CompoundDirichletKind(self.size, self.trials)

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

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        """Draw rows of `trials` counts."""
        return self.sample_joint(key, shape)[1]

    def sample_joint(self, key: Key, shape: Shape = ()) -> tuple[Float[Array, "..."], Num[Array, "..."]]:
        """Draw probabilities, and the rows of `trials` counts they belong to."""
        key, shape = as_key(key), as_shape(shape)
        first, second = jax.random.split(key)
        h = self.hidden.sample(first, shape)
        return h, draw_counts(second, self.trials, h)

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
        return keep_rows(batch, jnp.broadcast_to(self.mode, (batch.values.shape[0], *self.concentration.shape)))

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Return probabilities, missing rows of `trials` counts, or both: posteriors are Dirichlets."""
        self.check_single()
        if temperature not in (0, 1):
            raise refuse_temperature(temperature, "a CompoundDirichlet", "what is hidden or missing")
        if want == ("v",):
            return super().completed(batch, want, temperature, key)
        return complete_counts(self, batch, want, temperature, key)

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
