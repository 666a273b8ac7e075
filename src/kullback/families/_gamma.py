"""The Gamma on the positive half-line."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, gammaln, xlogy
from jaxtyping import Array, Float

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support
from kullback.families._family import FreeGroup, Role
from kullback.families._marginal import scipy_law
from kullback.families._scalar import ScalarFamily, keep_nan
from kullback.numerics import (
    Numeric,
    as_parameter,
    bounded_log_ratio,
    bounded_log_scale,
    check_positive,
    exponential_excess,
    gamma_shape,
    log_gamma_gap,
    log_gap,
    lower_gamma,
    ratio_excess,
    share_batch,
    trigamma,
    trigamma_excess,
)


class Gamma(ScalarFamily):
    """p(x) = r^k x^(k−1) e^(−rx) / Γ(k) for x > 0, with shape k and rate r.

    The base measure is 1/x. Coordinates:

    - source: k, r
    - statistics T: log x, x
    - natural: k, −r
    - expectation: digamma(k) − log r, k/r
    - free: log k/r, log k: the logarithms of the mean and of the shape

    >>> [round(float(e), 3) for e in Gamma(shape=3.0, rate=2.0).expectation]
    [0.23, 1.5]
    """

    fixed_size = 2
    support = Support(lambda x: x > 0, "positive")
    log_view = True
    stand_in = 1.0

    shape: Float[Numeric, "*batch"]
    rate: Float[Numeric, "*batch"]

    def __init__(self, shape: Any, rate: Any):
        shape, rate = as_parameter(shape), as_parameter(rate)
        check_positive("shape", shape)
        check_positive("rate", rate)
        self.shape, self.rate = share_batch(("shape", shape), ("rate", rate))

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    def column_variances(self) -> Any:
        return self.variance

    @property
    def mean(self) -> Float[Array, "*batch"]:
        """The mean k/r."""
        return jnp.asarray(self.shape) / self.rate

    @property
    def variance(self) -> Float[Array, "*batch"]:
        """The variance k/r²."""
        return self.mean / self.rate

    @property
    def mode(self) -> Float[Array, "*batch"]:
        """(k−1)/r, and for k ≤ 1 the least positive number."""
        shape = jnp.asarray(self.shape)
        return jnp.maximum((shape - 1) / self.rate, float(np.finfo(shape.dtype).tiny))

    def cdf(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        inside = (x > 0) & jnp.isfinite(x)
        below = lower_gamma(self.shape, self.rate * jnp.where(inside, x, 1))
        return keep_nan(x, jnp.where(inside, below, x > 0))

    @classmethod
    def _nearest(cls, values: Numeric, weight: Numeric | None) -> Self:
        x = jnp.asarray(values)
        mean = jnp.average(x, axis=0, weights=weight)
        # log E[x] − E[log x] as E[x/m − 1 − log x/m]: nothing is subtracted that is nearly equal
        shape = gamma_shape(jnp.average(ratio_excess(x, mean), axis=0, weights=weight))
        return eqx.tree_at(jax.tree.leaves, cls.standard(mean.shape), [shape, shape / mean])

    def law(self) -> Any:
        return scipy_law("gamma", self.shape, scale=1 / np.asarray(self.rate))

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x, dtype=jnp.asarray(self.rate).dtype)
        safe = jnp.where(x >= 0, x, 1)
        value = xlogy(jnp.subtract(self.shape, 1), safe) - self.rate * safe - self.log_partition
        return jnp.where(x >= 0, value, -jnp.inf)

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        k = jnp.asarray(self.shape)
        return jax.random.gamma(key, k, shape + self.batch_shape, k.dtype) / self.rate

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        x = jnp.asarray(x, dtype=jnp.asarray(self.rate).dtype)
        return jnp.stack([jnp.log(x), x], axis=-1)

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        return jnp.stack([jnp.asarray(self.shape), -jnp.asarray(self.rate)], axis=-1)

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        k, r = jnp.asarray(self.shape), jnp.asarray(self.rate)
        return jnp.stack([digamma(k) - jnp.log(r), k / r], axis=-1)

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(natural[..., 0], -natural[..., 1])

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        log_mean, mean = expectation[..., 0], expectation[..., 1]
        check_positive("E[x]", mean)
        slack = jnp.log(mean) - log_mean
        check_positive("log E[x] − E[log x]", slack)
        shape = gamma_shape(slack)
        return cls(shape, shape / mean)

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return jnp.log(jnp.stack([self.mean, jnp.asarray(self.shape)], axis=-1))

    @classmethod
    def free_roles(cls, size: int) -> tuple[Role, ...]:
        return (Role.PLAIN, Role.LOG_SHAPE)

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        free = bounded_log_scale(free)
        return cls(jnp.exp(free[..., 1]), jnp.exp(free[..., 1] - free[..., 0]))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        log_shape, log_rate = jnp.log(natural[..., 0]), jnp.log(-natural[..., 1])
        return _log_density(log_shape - log_rate, log_shape, x)

    @classmethod
    def _density_free(cls, free: Array, x: Array) -> Float[Array, "..."]:
        return _log_density(bounded_log_scale(free[..., 0]), bounded_log_scale(free[..., 1]), x)

    @classmethod
    def _free_groups(cls, size: int) -> tuple[FreeGroup, ...]:
        return FreeGroup((0,), -1.0), FreeGroup((1,), dispersion=True)

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        k = jnp.asarray(self.shape)
        return _two_by_two(k, jnp.zeros_like(k), k * trigamma_excess(k))

    def toward(self, y: Any) -> Float[Array, "... d"]:
        k, away = jnp.asarray(self.shape), jnp.subtract(jnp.asarray(y), self.mean) / self.mean
        # the slope in log k is k·(log k − digamma(k) − (y/m − 1 − log y/m)), its information k·(k·trigamma(k) − 1)
        gap = log_gap(k) - ratio_excess(jnp.asarray(y), self.mean)
        return jnp.stack(jnp.broadcast_arrays(away, gap / trigamma_excess(k)), axis=-1)

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        k = jnp.asarray(self.shape)
        return gammaln(k) - k * jnp.log(self.rate)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        k = jnp.asarray(self.shape)
        return k - jnp.log(self.rate) + gammaln(k) + (1 - k) * digamma(k)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return self._fisher(-1)

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return self._fisher(1)

    def _fisher(self, sign: int) -> Float[Array, "*batch d d"]:
        k, r = jnp.asarray(self.shape), jnp.asarray(self.rate)
        return _two_by_two(trigamma(k), sign / r, k / r**2)

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        k, r = jnp.asarray(self.shape), jnp.asarray(self.rate)
        slack = trigamma_excess(k)
        return _two_by_two(k / slack, -r / slack, r**2 * trigamma(k) / slack)

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        log_mean, mean = statistics.mean[..., 0], statistics.mean[..., 1]
        shape = gamma_shape(jnp.log(mean) - log_mean)
        return eqx.tree_at(lambda g: (g.shape, g.rate), self, (shape, shape / mean))

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        log_mean, mean = statistics.mean[..., 0], statistics.mean[..., 1]
        linear = jnp.subtract(self.shape, 1) * log_mean - self.rate * mean
        return jnp.multiply(statistics.mass, self.log_partition - linear)


def _log_density(log_mean: Array, log_shape: Array, x: Array) -> Float[Array, "..."]:
    """Return −k·(x/m − 1 − log x/m) − log x + (k·log k − k − log Γ(k)): nothing large is subtracted."""
    safe, shape = jnp.where(x > 0, x, 1), jnp.exp(log_shape)
    excess = exponential_excess(bounded_log_ratio(jnp.log(safe) - log_mean))
    return jnp.where(x > 0, log_gamma_gap(shape) - jnp.log(safe) - shape * excess, -jnp.inf)


def _two_by_two(a: Array, b: Array, d: Array) -> Float[Array, "*batch 2 2"]:
    return jnp.stack([jnp.stack([a, b], axis=-1), jnp.stack([b, d], axis=-1)], axis=-2)
