"""The Gamma on the positive half-line."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, gammaln, xlogy
from jaxtyping import Array, Float

from kullback.core import MeanStatistics
from kullback.families._component import Support
from kullback.families._marginal import scipy_law
from kullback.families._scalar import ScalarFamily
from kullback.numerics import Numeric, as_parameter, check_positive, gamma_shape, share_batch, trigamma


class Gamma(ScalarFamily):
    """p(x) = r^k x^(k−1) e^(−rx) / Γ(k) for x > 0, with shape k and rate r.

    The base measure is 1/x. Coordinates:

    - source: k, r
    - statistics T: log x, x
    - natural: k, −r
    - expectation: digamma(k) − log r, k/r

    >>> [round(float(e), 3) for e in Gamma(shape=3.0, rate=2.0).expectation]
    [0.23, 1.5]
    """

    fixed_size = 2
    support = Support(lambda x: x > 0, "positive")
    log_view = True

    shape: Float[Numeric, "*batch"]
    rate: Float[Numeric, "*batch"]

    def __init__(self, shape: Any, rate: Any):
        shape, rate = as_parameter(shape), as_parameter(rate)
        check_positive("shape", shape)
        check_positive("rate", rate)
        self.shape, self.rate = share_batch(("shape", shape), ("rate", rate))

    @property
    def column_means(self) -> Any:
        return self.shape / self.rate

    @property
    def mode(self) -> Any:
        shape = jnp.asarray(self.shape)
        return jnp.maximum((shape - 1) / self.rate, np.finfo(shape.dtype).tiny)

    @property
    def column_variances(self) -> Any:
        return np.asarray(self.shape) / np.square(self.rate)

    def law(self) -> Any:
        return scipy_law("gamma", self.shape, scale=1 / np.asarray(self.rate))

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        safe = jnp.where(x >= 0, x, 1)
        value = xlogy(jnp.subtract(self.shape, 1), safe) - self.rate * safe - self.log_partition
        return jnp.where(x >= 0, value, -jnp.inf)

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
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
        slack = k * trigamma(k) - 1
        return _two_by_two(k / slack, -r / slack, r**2 * trigamma(k) / slack)

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        log_mean, mean = statistics.mean[..., 0], statistics.mean[..., 1]
        shape = gamma_shape(jnp.log(mean) - log_mean)
        return eqx.tree_at(lambda g: (g.shape, g.rate), self, (shape, shape / mean))

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        log_mean, mean = statistics.mean[..., 0], statistics.mean[..., 1]
        linear = jnp.subtract(self.shape, 1) * log_mean - self.rate * mean
        return jnp.multiply(statistics.mass, self.log_partition - linear)


def _two_by_two(a: Array, b: Array, d: Array) -> Float[Array, "*batch 2 2"]:
    return jnp.stack([jnp.stack([a, b], axis=-1), jnp.stack([b, d], axis=-1)], axis=-2)
