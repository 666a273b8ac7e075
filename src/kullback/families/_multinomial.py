"""Counts of K categories in a fixed number of trials."""

import math
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr, gammaln, xlog1py, xlogy
from jaxtyping import Array, Bool, Float, Num
from numpy.typing import NDArray

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._categorical import (
    Categorical,
    positive_shares,
    simplex_covariance,
    simplex_fisher,
    with_reference,
)
from kullback.families._component import COUNTS
from kullback.families._family import Kind
from kullback.families._marginal import Marginal, count_marginals
from kullback.families._modes import multinomial_mode
from kullback.families._unsplittable import NaturalFree
from kullback.numerics import Numeric, check_interior, is_concrete


class Multinomial(NaturalFree):
    """P(x) = N! ∏ p_k^x_k / x_k! for counts x that sum to N.

    The base measure is N!/∏ x_k!. Coordinates, each of length K−1; the last category is the reference:

    - source: p₀, …, p_{K−2}
    - statistics T: x₀, …, x_{K−2}
    - natural and free: log(p_k / p_{K−1})
    - expectation: N·p₀, …, N·p_{K−2}

    >>> Multinomial(trials=8, probabilities=[0.5, 0.25, 0.25]).expectation.tolist()
    [4.0, 2.0]
    """

    support = COUNTS._replace(total="same")

    probabilities: Float[Numeric, "*batch k"]
    trials: int = eqx.field(static=True)

    def __init__(self, trials: int, probabilities: Any):
        if not (math.isfinite(trials) and int(trials) == trials and trials >= 1):
            raise ValueError(f"trials is {trials}: it must be a whole number, 1 or more.")
        self.trials = int(trials)
        self.probabilities = Categorical(probabilities).probabilities

    @property
    def _one(self) -> Categorical:
        return Categorical(self.probabilities)

    @property
    def size(self) -> int:
        return self.probabilities.shape[-1] - 1

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Self:
        return cls(max(trials, 1), np.full((members, columns), 1 / columns))

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    def mean(self) -> Float[Array, "*batch k"]:
        """The means N·p_k."""
        return self.trials * jnp.asarray(self.probabilities)

    @property
    def variance(self) -> Float[Array, "*batch k"]:
        """The variance N·p_k(1−p_k) of each count."""
        return self.mean * (1 - jnp.asarray(self.probabilities))

    @property
    def mode(self) -> Num[Array, "*batch k"]:
        """The most probable counts: ⌊N·p_k⌋, and the trials that are left one by one where p_k/(x_k+1) is largest."""
        return multinomial_mode(self.trials, jnp.asarray(self.probabilities)).astype(int)

    @classmethod
    def _fit_structure(cls, kind: Kind) -> dict[str, Any]:
        return {}  # the trials follow from the points

    @classmethod
    def _start(cls, values: Numeric) -> Self:
        if not is_concrete(values):
            raise ValueError("x is being traced, so the number of trials is not known: fit outside of jit and vmap.")
        k = values.shape[-1]
        return cls(int(np.sum(values[0])), np.full(k, 1 / k))

    @property
    def row_total(self) -> int:
        return self.trials

    def raise_zeros(self, least: float) -> Self:
        return eqx.tree_at(lambda m: m.probabilities, self, positive_shares(self.probabilities, least))

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        return count_marginals("binom", [(p,) for p in np.asarray(self.probabilities).T], self.trials, "probability")

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return self._one.interior

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x, dtype=jnp.asarray(self.probabilities).dtype)
        counts = jnp.all((x >= 0) & (x == jnp.floor(x)), axis=-1) & (jnp.sum(x, axis=-1) == self.trials)
        safe = jnp.where(counts[..., None], x, 0)
        ways = gammaln(self.trials + 1.0) - jnp.sum(gammaln(safe + 1.0), axis=-1)
        return jnp.where(counts, ways + jnp.sum(xlogy(safe, self.probabilities), axis=-1), -jnp.inf)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        p = jnp.broadcast_to(jnp.asarray(self.probabilities), shape + self.probabilities.shape)
        return jax.random.multinomial(key, self.trials, p, dtype=p.dtype).astype(int)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return jnp.asarray(x, dtype=jnp.asarray(self.probabilities).dtype)[..., :-1]

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return jnp.asarray(self.probabilities)[..., :-1]

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        return self._one.natural

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return self.trials * self.source

    @classmethod
    def _from_source(cls, source: Numeric, trials: int) -> Self:
        return cls(trials, Categorical._from_source(source).probabilities)

    @classmethod
    def _from_natural(cls, natural: Numeric, trials: int) -> Self:
        return cls(trials, Categorical._from_natural(natural).probabilities)

    @classmethod
    def _from_expectation(cls, expectation: Numeric, trials: int) -> Self:
        return cls._from_source(jnp.asarray(expectation) / trials, trials)

    @classmethod
    def _density_natural(cls, natural: Array, x: Array, trials: int) -> Float[Array, "..."]:
        log_p = jax.nn.log_softmax(with_reference(natural), axis=-1)
        x = jnp.asarray(x, dtype=log_p.dtype)
        counts = jnp.all((x >= 0) & (x == jnp.floor(x)), axis=-1) & (jnp.sum(x, axis=-1) == trials)
        safe = jnp.where(counts[..., None], x, 0)
        ways = gammaln(trials + 1.0) - jnp.sum(gammaln(safe + 1.0), axis=-1)
        return jnp.where(counts, ways + jnp.sum(safe * log_p, axis=-1), -jnp.inf)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        check_interior("probabilities", self.probabilities, lambda p: p > 0)
        gaps = self.extended_statistics(y) / self.probabilities
        return gaps[..., :-1] - gaps[..., -1:]

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        return self.trials * self._one.log_partition

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        # −log N! − N·Σ p log p + Σ_k E[log x_k!], and each x_k is binomial
        p = jnp.asarray(self.probabilities)
        x = jnp.arange(self.trials + 1.0, dtype=p.dtype)
        n = float(self.trials)
        ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
        binomial = jnp.exp(ways + xlogy(x, p[..., None]) + xlog1py(n - x, -p[..., None]))
        binomial = binomial / jnp.sum(binomial, axis=-1, keepdims=True)
        # around log Γ(Np+1), so that what is summed is small
        middle = gammaln(n * p + 1)
        factorials = middle + jnp.sum(binomial * (gammaln(x + 1) - middle[..., None]), axis=-1)
        return n * jnp.sum(entr(p), axis=-1) - gammaln(n + 1) + jnp.sum(factorials, axis=-1)

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        return self.trials * self._one.relative_entropy(other._one)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return self.trials * simplex_fisher(self.probabilities)

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return self.trials * simplex_covariance(self.probabilities)

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        return simplex_fisher(self.probabilities) / self.trials

    def extended_statistics(self, x: Any) -> Float[Array, "... k"]:
        """Return the frequencies of all K categories."""
        return jnp.asarray(x, dtype=jnp.asarray(self.probabilities).dtype) / self.trials

    @property
    def extended_expectation(self) -> Float[Array, "*batch k"]:
        return jnp.asarray(self.probabilities)

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda m: m.probabilities, self, statistics.mean)

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        return self.trials * self._one.cross_entropy(statistics)
