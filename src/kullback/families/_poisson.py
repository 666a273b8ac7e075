"""Counts that come at a rate."""

import math
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Float, Num

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import COUNTS
from kullback.families._family import ExpectationSource
from kullback.families._marginal import scipy_law
from kullback.families._scalar import ScalarFamily, keep_nan
from kullback.families._unsplittable import NaturalFree
from kullback.numerics import (
    LinearForm,
    Numeric,
    as_parameter,
    bounded_log_scale,
    check_interior,
    check_values,
    entropy_excess,
    exponential_excess,
    log_or_lowest,
    upper_gamma,
)

#: H = ½·log(2πeλ) − Σ c_j λ^−j for large λ.
_ENTROPY = (1 / 12, 1 / 24, 19 / 360, 9 / 80, 863 / 2520, 1375 / 1008, 33953 / 5040, 57281 / 1440)
_LARGE = 64.0
#: log 0!, log 1!, … up to where the series is exact.
_LOG_FACTORIALS = tuple(math.lgamma(count + 1) for count in range(9))


class Poisson(ExpectationSource, NaturalFree, ScalarFamily):
    """P(x) = λˣ e^(−λ) / x! for x = 0, 1, …

    The base measure is 1/x!. Coordinates: source and expectation λ; statistic T = x; natural and free log λ. A rate
    of 0 is on the boundary: always 0, without natural coordinates.

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
        return self.mean

    @property
    def column_variances(self) -> Any:
        return self.variance

    @property
    def mean(self) -> Float[Array, "*batch"]:
        """The mean λ."""
        return jnp.asarray(self.rate)

    @property
    def variance(self) -> Float[Array, "*batch"]:
        """The variance λ."""
        return jnp.asarray(self.rate)

    @property
    def mode(self) -> Num[Array, "*batch"]:
        """The most probable count: ⌈λ⌉ − 1, and for a whole λ also λ."""
        return jnp.maximum(jnp.ceil(self.rate) - 1, 0).astype(int)

    def cdf(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x, dtype=jnp.asarray(self.rate).dtype)
        inside = (x >= 0) & jnp.isfinite(x)
        below = upper_gamma(jnp.floor(jnp.where(inside, x, 0)) + 1, self.rate)
        return keep_nan(x, jnp.where(inside, below, x > 0))

    def raise_zeros(self, least: float) -> Self:
        return eqx.tree_at(lambda p: p.rate, self, np.maximum(np.asarray(self.rate), least))

    def law(self) -> Any:
        return scipy_law("poisson", self.rate)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        rate = jnp.asarray(self.rate)
        x = jnp.asarray(x, dtype=rate.dtype)
        count = (x >= 0) & (x == jnp.floor(x))
        safe = jnp.where(count, x, 0)
        return jnp.where(count, xlogy(safe, rate) - rate - gammaln(safe + 1.0), -jnp.inf)

    def linear_form(self, x: Any) -> LinearForm:
        """Return log p(x) = x·log λ − λ − log x!."""
        rate = jnp.asarray(self.rate)
        x = jnp.asarray(x, dtype=rate.dtype)
        count = (x >= 0) & (x == jnp.floor(x)) & jnp.isfinite(x)
        safe = jnp.where(count, x, 0)
        features = jnp.stack([safe, jnp.ones_like(safe)], axis=-1)
        coefficients = jnp.stack([log_or_lowest(rate), -rate], axis=-1)
        return LinearForm(features, coefficients, jnp.where(count, -gammaln(safe + 1), -jnp.inf))

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        return jax.random.poisson(key, self.rate, shape + self.batch_shape)

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        check_interior("rate", self.rate, lambda r: r > 0)
        return jnp.log(self.source)

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(jnp.exp(natural[..., 0]))

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        return cls._from_natural(bounded_log_scale(free))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        log_rate = bounded_log_scale(natural[..., 0])
        count = (x >= 0) & (x == jnp.floor(x)) & jnp.isfinite(x)
        # −x·(λ/x − 1 − log λ/x) − ½log 2πx − …, Stirling's series: nothing large is subtracted; small ones are listed
        large = x >= len(_LOG_FACTORIALS)
        many, few = jnp.where(large, x, len(_LOG_FACTORIALS)), jnp.where(count & ~large, x, 0)
        far = -many * exponential_excess(log_rate - jnp.log(many)) - 0.5 * jnp.log(2 * np.pi * many) - _stirling(many)
        factorials = jnp.asarray(_LOG_FACTORIALS, log_rate.dtype)[few.astype(jnp.int32)]
        near = few * log_rate - jnp.exp(log_rate) - factorials
        return jnp.where(count, jnp.where(large, far, near), -jnp.inf)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        return (jnp.asarray(y) / self.mean - 1)[..., None]

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


def _stirling(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return log x! − (x + ½)·log x + x − ½log 2π for x of 9 or more."""
    inverse = 1 / x
    square = inverse * inverse
    return inverse * (
        1 / 12
        - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188 - square * (691 / 360360)))))
    )


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
