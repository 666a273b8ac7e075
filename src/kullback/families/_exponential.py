"""The exponential on the positive half-line."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import MeanStatistics
from kullback.families._component import Support
from kullback.families._marginal import scipy_law
from kullback.families._scalar import ScalarFamily
from kullback.numerics import Numeric, as_parameter, check_positive, ratio_excess


class Exponential(ScalarFamily):
    """p(x) = r e^(−rx) for x ≥ 0.

    Coordinates: source r; statistic T = x; natural −r; expectation 1/r.

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
        return 1 / self.rate

    @property
    def mode(self) -> Any:
        return jnp.zeros_like(jnp.asarray(self.rate))

    @property
    def column_variances(self) -> Any:
        return 1 / np.square(self.rate)

    def law(self) -> Any:
        return scipy_law("expon", scale=1 / np.asarray(self.rate))

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        return jnp.where(x >= 0, jnp.log(self.rate) - self.rate * x, -jnp.inf)

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
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
