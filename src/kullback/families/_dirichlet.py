"""The Dirichlet on the probability simplex."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float
from numpy.typing import NDArray

from kullback.core import MeanStatistics
from kullback.families._component import Support
from kullback.families._family import NaturalSource
from kullback.families._marginal import Marginal, scipy_law
from kullback.families._modes import dirichlet_mode
from kullback.families._unsplittable import UnsplittableFamily
from kullback.numerics import (
    Numeric,
    as_parameter,
    check_ndim,
    check_positive,
    check_values,
    dirichlet_concentration,
    dirichlet_slack,
    log_beta,
    log_means,
    trigamma,
    trigamma_gaps,
)


class Dirichlet(NaturalSource, UnsplittableFamily):
    """p(x) ∝ ∏ x_i^(α_i − 1) on the simplex of K probabilities.

    The base measure is ∏ 1/x_i, so that small concentrations keep their digits. Coordinates, of length K:

    - source and natural: α
    - statistics T: log x_i
    - expectation: digamma(α_i) − digamma(Σα)

    >>> d = Dirichlet(concentration=[1.0, 2.0, 3.0])
    >>> [round(float(a), 3) for a in Dirichlet.from_expectation(d.expectation).concentration]
    [1.0, 2.0, 3.0]
    """

    support = Support(lambda x: x > 0, "positive", total=1.0)

    concentration: Float[Numeric, "*batch k"]

    def __init__(self, concentration: Any):
        self.concentration = as_parameter(concentration)
        check_ndim("concentration", self.concentration, 1, "at least one axis, the last for the categories")
        if self.concentration.shape[-1] < 2:
            raise ValueError(f"concentration has shape {self.concentration.shape}: it needs two categories or more.")
        check_positive("concentration", self.concentration)

    @property
    def size(self) -> int:
        return self.concentration.shape[-1]

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> Self:
        return cls(np.ones((members, columns)))

    @property
    def column_means(self) -> Any:
        return self.concentration / self.concentration.sum(axis=-1, keepdims=True)

    @property
    def mode(self) -> Any:
        return dirichlet_mode(jnp.asarray(self.concentration))

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        alpha = np.asarray(self.concentration, dtype=float)
        rest = alpha.sum(axis=1, keepdims=True) - alpha
        return [
            Marginal.of_law(
                scipy_law("beta", a[:, None], b[:, None]), "concentration {concentration}", {"concentration": a}
            )
            for a, b in zip(alpha.T, rest.T, strict=True)
        ]

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all((self.source > 0) & jnp.isfinite(self.source), axis=-1)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        x = jnp.asarray(x)
        inside = jnp.all(x >= 0, axis=-1) & (jnp.abs(jnp.sum(x, axis=-1) - 1) < 1e-6)
        value = jnp.sum(xlogy(jnp.subtract(self.concentration, 1), jnp.maximum(x, 0)), axis=-1)
        return jnp.where(inside, value - self.log_partition, -jnp.inf)

    def sample(self, key: Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        alpha = jnp.asarray(self.concentration)
        return jax.random.dirichlet(key, alpha, shape + self.batch_shape, alpha.dtype)

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return jnp.log(jnp.asarray(x))

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return jnp.asarray(self.concentration)

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return log_means(self.concentration)

    @classmethod
    def _from_source(cls, source: Numeric) -> Self:
        return cls(source)

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        check_log_means("expectation", expectation)
        return cls(dirichlet_concentration(expectation))

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        return log_beta(self.concentration)

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        return self.log_partition - jnp.sum(jnp.subtract(self.concentration, 1) * self.expectation, axis=-1)

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        alpha = jnp.asarray(self.concentration)
        eye = jnp.eye(self.size, dtype=alpha.dtype)
        total = jnp.sum(alpha, axis=-1)[..., None, None]
        return trigamma_gaps(alpha)[..., None] * eye - trigamma(total) * (1 - eye)

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        alpha = jnp.asarray(self.concentration)
        inverse = 1 / trigamma(alpha)
        product = inverse[..., :, None] * inverse[..., None, :]
        return inverse[..., None] * jnp.eye(self.size, dtype=alpha.dtype) + product / dirichlet_slack(alpha)[..., None]

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        return eqx.tree_at(lambda d: d.concentration, self, dirichlet_concentration(statistics.mean))

    def cross_entropy(self, statistics: MeanStatistics) -> Float[Array, "*batch"]:
        linear = jnp.sum(jnp.subtract(self.concentration, 1) * statistics.mean, axis=-1)
        return jnp.multiply(statistics.mass, self.log_partition - linear)


def check_log_means(name: str, eta: Numeric) -> None:
    """Raise unless exp(η) sums to less than 1: means of logarithms lie below logarithms of means."""
    check_values(name, eta, lambda v: v < 0, "negative, a mean of log x with x in (0, 1)")
    total = jnp.sum(jnp.exp(jnp.asarray(eta)), axis=-1)
    check_values(f"sum(exp({name}))", total, lambda v: v < 1, "less than 1")
