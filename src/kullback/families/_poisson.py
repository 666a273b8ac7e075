"""Counts that come at a rate."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Float, Num

from kullback.core import MeanStatistics
from kullback.families._component import COUNTS
from kullback.families._family import ExpectationSource
from kullback.families._marginal import scipy_law
from kullback.families._scalar import ScalarFamily
from kullback.numerics import (
    LinearForm,
    Numeric,
    as_parameter,
    check_interior,
    check_values,
    entropy_excess,
    log_or_lowest,
)

#: H = ½·log(2πeλ) − Σ c_j λ^−j for large λ.
_ENTROPY = (1 / 12, 1 / 24, 19 / 360, 9 / 80, 863 / 2520, 1375 / 1008, 33953 / 5040, 57281 / 1440)
_LARGE = 64.0


class Poisson(ExpectationSource, ScalarFamily):
    """P(x) = λˣ e^(−λ) / x! for x = 0, 1, …

    The base measure is 1/x!. Coordinates: source λ; statistic T = x; natural log λ; expectation λ. A rate of 0
    is on the boundary: always 0, without natural coordinates.

    >>> round(float(Poisson(rate=3.0).natural[0]), 3)
    1.099
    """

    fixed_size = 1
    support = COUNTS
    log_view = True

    rate: Float[Numeric, "*batch"]

    def __init__(self, rate: Any):
        self.rate = as_parameter(rate)
        check_values("rate", self.rate, lambda v: np.isfinite(v) & (v >= 0), "finite and not negative")

    @property
    def column_means(self) -> Any:
        return self.rate

    @property
    def mode(self) -> Any:
        return jnp.floor(self.rate)

    @property
    def column_variances(self) -> Any:
        return self.rate

    def raise_zeros(self, least: float) -> Self:
        return eqx.tree_at(lambda p: p.rate, self, np.maximum(np.asarray(self.rate), least))

    def law(self) -> Any:
        return scipy_law("poisson", self.rate)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        count = (x >= 0) & (x == jnp.floor(x))
        safe = jnp.where(count, x, 0)
        return jnp.where(count, xlogy(safe, self.rate) - self.rate - gammaln(safe + 1.0), -jnp.inf)

    def linear_form(self, x: Any) -> LinearForm:
        """Return log p(x) = x·log λ − λ − log x!."""
        rate = jnp.asarray(self.rate)
        x = jnp.asarray(x, dtype=rate.dtype)
        count = (x >= 0) & (x == jnp.floor(x)) & jnp.isfinite(x)
        safe = jnp.where(count, x, 0)
        features = jnp.stack([safe, jnp.ones_like(safe)], axis=-1)
        coefficients = jnp.stack([log_or_lowest(rate), -rate], axis=-1)
        return LinearForm(features, coefficients, jnp.where(count, -gammaln(safe + 1), -jnp.inf))

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Num[Array, "..."]:
        return jax.random.poisson(key, self.rate, shape + self.batch_shape)

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        check_interior("rate", self.rate, lambda r: r > 0)
        return jnp.log(self.source)

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(jnp.exp(natural[..., 0]))

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        return jnp.asarray(self.rate)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        rate = jnp.asarray(self.rate)
        return jnp.where(rate > _LARGE, _entropy_series(rate), _entropy_sum(rate))

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        return entropy_excess(self.rate, other.rate)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        check_interior("rate", self.rate, lambda r: r > 0)
        return 1 / self.source[..., None]

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        check_interior("rate", self.rate, lambda r: r > 0)
        return self.source[..., None]

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda p: p.rate, self, statistics.mean[..., 0])

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        return jnp.multiply(statistics.mass, self.rate - xlogy(statistics.mean[..., 0], self.rate))


def _entropy_sum(rate: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """−Σ P(x) log P(x), term by term: enough terms for the rates below the series."""
    rate = jnp.minimum(rate, _LARGE)[..., None]
    x = jnp.arange(192.0, dtype=rate.dtype)
    log_p = xlogy(x, rate) - rate - gammaln(x + 1)
    return -jnp.sum(jnp.where(log_p > -700, jnp.exp(log_p) * log_p, 0), axis=-1)


def _entropy_series(rate: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    rate = jnp.maximum(rate, _LARGE)
    tail = jnp.zeros_like(rate)
    for c in reversed(_ENTROPY):
        tail = (tail + c) / rate
    return 0.5 * (jnp.log(2 * np.pi * rate) + 1) - tail
