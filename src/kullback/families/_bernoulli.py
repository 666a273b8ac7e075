"""A coin."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr, xlog1py, xlogy
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support
from kullback.families._family import ExpectationSource
from kullback.families._marginal import Marginal
from kullback.families._scalar import ScalarFamily, keep_nan
from kullback.families._unsplittable import NaturalFree
from kullback.numerics import (
    LinearForm,
    Numeric,
    as_parameter,
    check_interior,
    check_values,
    entropy_excess,
    log1m_or_lowest,
    log_or_lowest,
)


class Bernoulli(ExpectationSource, NaturalFree, ScalarFamily):
    """P(x = 1) = p for x in {0, 1}. For variables in {−1, +1} see `Ising`.

    Coordinates: source and expectation p; statistic T = x; natural and free log p/(1−p).

    >>> round(float(Bernoulli(probability=0.75).natural[0]), 3)  # log 3
    1.099
    """

    fixed_size = 1
    support = Support(lambda x: (x == 0) | (x == 1), "0 or 1", discrete=True)

    probability: Float[Numeric, "*batch"]

    def __init__(self, probability: Any):
        self.probability = as_parameter(probability)
        check_values("probability", self.probability, lambda v: (v >= 0) & (v <= 1), "in [0, 1]")

    @classmethod
    def standard(cls, shape: tuple[int, ...], categories: int = 0) -> Self:
        return cls(np.full(shape, 0.5))

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    def mean(self) -> Float[Array, "*batch"]:
        """The mean p."""
        return jnp.asarray(self.probability)

    @property
    def variance(self) -> Float[Array, "*batch"]:
        """The variance p(1−p)."""
        return self.mean * (1 - self.mean)

    @property
    def mode(self) -> Num[Array, "*batch"]:
        """The more probable of 0 and 1."""
        return (self.mean > 0.5).astype(int)

    def cdf(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        return keep_nan(x, jnp.where(x >= 1, 1, jnp.where(x >= 0, 1 - self.mean, 0)))

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return (jnp.asarray(self.probability) > 0) & (jnp.asarray(self.probability) < 1)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        p = jnp.asarray(self.probability)
        value = jnp.where(x == 1, jnp.log(p), jnp.log1p(-p))
        return jnp.where((x == 0) | (x == 1), value, -jnp.inf)

    def linear_form(self, x: Any) -> LinearForm:
        """Return log p(x) = [x = 1]·log p + [x = 0]·log(1−p)."""
        x, p = jnp.asarray(x), jnp.asarray(self.probability)
        features = jnp.stack([x == 1, x == 0], axis=-1)
        coefficients = jnp.stack([log_or_lowest(p), log1m_or_lowest(p)], axis=-1)
        base = jnp.where(jnp.any(features, axis=-1), jnp.zeros((), p.dtype), -jnp.inf)
        return LinearForm(features.astype(p.dtype), coefficients, base)

    def sample(self, key: Key, shape: Shape = ()) -> Num[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        return jax.random.bernoulli(key, self.probability, shape + self.batch_shape).astype(int)

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        self._check_interior()
        return jnp.log(self.source) - jnp.log1p(-self.source)

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        return cls(jax.nn.sigmoid(natural[..., 0]))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        theta = natural[..., 0]
        return jnp.where((x == 0) | (x == 1), -jax.nn.softplus(jnp.where(x == 1, -theta, theta)), -jnp.inf)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        self._check_interior()
        y, p = jnp.asarray(y), self.mean
        return jnp.where(y == 1, 1 / p, -1 / (1 - p))[..., None]

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        self._check_interior()
        return -jnp.log1p(-jnp.asarray(self.probability))

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        p = jnp.asarray(self.probability)
        return entr(p) - xlog1py(1 - p, -p)

    def relative_entropy(self, other: Self) -> Float[Array, "*batch"]:
        p, q = jnp.asarray(self.probability), jnp.asarray(other.probability)
        return entropy_excess(p, q) + entropy_excess(1 - p, 1 - q)

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return 1 / self._fisher_natural()

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        self._check_interior()
        return (self.source * (1 - self.source))[..., None]

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        return ((0.0, 1.0),)

    def tempered(self, temperature: float) -> Self:
        """Return the coins with log odds of 1/T times theirs."""
        p = jnp.asarray(self.probability)
        odds = jax.nn.sigmoid((jnp.log(p) - jnp.log1p(-p)) / temperature)
        return eqx.tree_at(lambda b: b.probability, self, odds)

    def raise_zeros(self, least: float) -> Self:
        return eqx.tree_at(lambda b: b.probability, self, np.clip(np.asarray(self.probability), least, 1 - least))

    def marginal(self) -> Marginal:
        p = np.ravel(self.probability)
        table = Marginal.of_table([0, 1], np.stack([1 - p, p], axis=1), "probability {probability}", {"probability": p})
        return table._replace(codes=2)

    def _check_interior(self) -> None:
        check_interior("probability", self.probability, lambda p: (p > 0) & (p < 1))

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda b: b.probability, self, _mean(statistics))

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        mean, p = _mean(statistics), jnp.asarray(self.probability)
        return -jnp.multiply(statistics.mass, xlogy(mean, p) + xlog1py(1 - mean, -p))


def _mean(statistics: MeanStatistics) -> Float[Array, "*batch"]:
    """Return the average of zeros and ones: rounding may carry it past 1, where 1 − p has no logarithm."""
    mean = jnp.asarray(statistics.mean)[..., 0]
    return jnp.where(mean > 1, 1, mean)
