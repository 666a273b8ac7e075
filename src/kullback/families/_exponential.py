"""The exponential on the positive half-line."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from kullback.core import Batch, MeanStatistics
from kullback.families._unsplittable import UnsplittableFamily, gather_means, own_means
from kullback.numerics import Numeric, as_parameter, check_positive, ratio_excess


class Exponential(UnsplittableFamily):
    """p(x) = r e^(−rx) for x ≥ 0.

    Coordinates: source r; statistic T = x; natural −r; expectation 1/r.

    >>> float(Exponential(rate=4.0).expectation[0])
    0.25
    """

    fixed_size = 1

    rate: Float[Numeric, "*batch"]

    def __init__(self, rate: Any):
        self.rate = as_parameter(rate)
        check_positive("rate", self.rate)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.rate.shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def size(self) -> int:
        return 1

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return (jnp.asarray(self.rate) > 0) & jnp.isfinite(self.rate)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        return jnp.where(x >= 0, jnp.log(self.rate) - self.rate * x, -jnp.inf)

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        rate = jnp.asarray(self.rate)
        return jax.random.exponential(key, shape + self.batch_shape, rate.dtype) / rate

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return jnp.asarray(x, dtype=jnp.asarray(self.rate).dtype)[..., None]

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return jnp.asarray(self.rate)[..., None]

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        return -self.source

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return 1 / self.source

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        return cls(source[..., 0])

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(-natural[..., 0])

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        check_positive("E[x]", expectation[..., 0])
        return cls(1 / expectation[..., 0])

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

    def _statistics_of(self, batch: Batch, log_likelihood: Float[Array, "*batch"]) -> MeanStatistics:
        return gather_means(self, batch, self.statistics(batch.values), log_likelihood)

    def _expected_statistics(self, mass: Float[Array, "*batch"]) -> MeanStatistics:
        return own_means(self, mass, self.expectation)

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda e: e.rate, self, 1 / statistics.mean[..., 0])

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        return jnp.multiply(statistics.mass, self.rate * statistics.mean[..., 0] - jnp.log(self.rate))
