"""The exponential on the positive half-line."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support
from kullback.families._family import FreeGroup
from kullback.families._marginal import scipy_law
from kullback.families._scalar import ScalarFamily, keep_nan
from kullback.numerics import Numeric, as_parameter, bounded_log_scale, check_positive, ratio_excess


class Exponential(ScalarFamily):
    """p(x) = r e^(−rx) for x ≥ 0.

    Coordinates: source r; statistic T = x; natural −r; expectation 1/r; free −log r, the logarithm of the mean.

    >>> float(Exponential(rate=4.0).expectation[0])
    0.25
    """

    fixed_size = 1
    support = Support(lambda x: x >= 0, "0 or more")
    log_view = True

    rate: Float[Numeric, "*batch"]

    def __init__(self, rate: Any):
        self.rate = as_parameter(rate)
        check_positive("rate", self.rate)

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    def column_variances(self) -> Any:
        return self.variance

    @property
    def mean(self) -> Float[Array, "*batch"]:
        """The mean 1/r."""
        return 1 / jnp.asarray(self.rate)

    @property
    def variance(self) -> Float[Array, "*batch"]:
        """The variance 1/r²."""
        return jnp.square(self.mean)

    @property
    def mode(self) -> Float[Array, "*batch"]:
        """Always 0."""
        return jnp.zeros_like(jnp.asarray(self.rate))

    def cdf(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        return keep_nan(x, -jnp.expm1(-self.rate * jnp.maximum(x, 0)))

    def _refusal(self) -> str | None:
        finite = np.all(np.isfinite(self.rate))
        return None if finite else "all points are 0, and its likelihood grows without bound."

    def law(self) -> Any:
        return scipy_law("expon", scale=1 / np.asarray(self.rate))

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        return jnp.where(x >= 0, jnp.log(self.rate) - self.rate * x, -jnp.inf)

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        rate = jnp.asarray(self.rate)
        return jax.random.exponential(key, shape + self.batch_shape, rate.dtype) / rate

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        return -self.source

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return 1 / self.source

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(-natural[..., 0])

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        check_positive("E[x]", expectation[..., 0])
        return cls(1 / expectation[..., 0])

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return -jnp.log(self.source)

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        return cls(jnp.exp(-bounded_log_scale(free[..., 0])))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        rate = -natural[..., 0]
        return jnp.where(x >= 0, jnp.log(rate) - rate * x, -jnp.inf)

    @classmethod
    def _density_free(cls, free: Array, x: Array) -> Float[Array, "..."]:
        log_mean = bounded_log_scale(free[..., 0])
        return jnp.where(x >= 0, -log_mean - jnp.exp(-log_mean) * jnp.where(x >= 0, x, 0), -jnp.inf)

    @classmethod
    def _free_groups(cls, size: int) -> tuple[FreeGroup, ...]:
        return (FreeGroup((0,), -1.0),)

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        return jnp.ones_like(self.source)[..., None]

    def toward(self, y: Any) -> Float[Array, "... d"]:
        return (jnp.multiply(self.rate, jnp.asarray(y)) - 1)[..., None]

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        return -jnp.log(self.rate)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return 1 - jnp.log(self.rate)

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        return ratio_excess(other.rate, self.rate)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return (1 / jnp.square(self.rate))[..., None, None]

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return self._fisher_source()

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        return jnp.square(self.rate)[..., None, None]

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda e: e.rate, self, 1 / statistics.mean[..., 0])
