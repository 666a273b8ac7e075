"""The Dirichlet on the probability simplex."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float
from numpy.typing import NDArray

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support
from kullback.families._family import NaturalSource
from kullback.families._fit import MOST_CONCENTRATED
from kullback.families._marginal import Marginal, scipy_law
from kullback.families._modes import dirichlet_mode
from kullback.families._unsplittable import UnsplittableFamily
from kullback.numerics import (
    Numeric,
    as_parameter,
    bounded_log_scale,
    check_ndim,
    check_positive,
    check_values,
    dirichlet_concentration,
    dirichlet_slack,
    exponential_excess,
    log_beta,
    log_gamma_gap,
    log_gap,
    log_means,
    trigamma,
    trigamma_gaps,
    trigamma_shortfall,
)


class Dirichlet(NaturalSource, UnsplittableFamily):
    """p(x) ∝ ∏ x_i^(α_i − 1) on the simplex of K probabilities.

    The base measure is ∏ 1/x_i, so that small concentrations keep their digits. Coordinates, of length K:

    - source and natural: α
    - statistics T: log x_i
    - expectation: digamma(α_i) − digamma(Σα)
    - free: log α_i

    >>> d = Dirichlet(concentration=[1.0, 2.0, 3.0])
    >>> [round(float(a), 3) for a in Dirichlet.from_expectation(d.expectation).concentration]
    [1.0, 2.0, 3.0]
    """

    support = Support(lambda x: x > 0, "positive", total=1.0)
    stand_in = 0.5

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
        return self.mean

    @property
    def mean(self) -> Float[Array, "*batch k"]:
        """The mean α_i/Σα."""
        return self.source / jnp.sum(self.source, axis=-1, keepdims=True)

    @property
    def variance(self) -> Float[Array, "*batch k"]:
        """The variance α_i(Σα − α_i)/(Σα)²(Σα + 1) of each coordinate."""
        alpha = self.source
        total = jnp.sum(alpha, axis=-1, keepdims=True)
        others = jnp.sum(alpha[..., None, :] * (1 - np.eye(self.size)), axis=-1)  # where α_i is nearly all of the sum
        return alpha / total * (others / total) / (total + 1)

    @property
    def mode(self) -> Float[Array, "*batch k"]:
        """(α_i − 1)/Σ(α_i − 1) over the coordinates with α_i > 1; the others are the least positive number.

        Where no α_i exceeds 1 it is next to the corner of the largest, or, of the uniform distribution, the center.
        """
        return dirichlet_mode(jnp.asarray(self.concentration))

    def _refusal(self) -> str | None:
        return concentrated(np.sum(self.concentration, axis=-1), "")

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
        inside = jnp.all(x >= 0, axis=-1) & _sums_to_one(x)
        value = jnp.sum(xlogy(jnp.subtract(self.concentration, 1), jnp.maximum(x, 0)), axis=-1)
        return jnp.where(inside, value - self.log_partition, -jnp.inf)

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
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
    def free(self) -> Float[Array, "*batch d"]:
        return jnp.log(self.source)

    @classmethod
    def _from_free(cls, free: Numeric) -> Self:
        return cls(jnp.exp(bounded_log_scale(free)))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        return cls._density_free(jnp.log(natural), x)

    @classmethod
    def _density_free(cls, free: Array, x: Array) -> Float[Array, "..."]:
        inside = jnp.all(x > 0, axis=-1) & _sums_to_one(x)
        safe = jnp.where(inside[..., None], x, 0.5)
        return jnp.where(inside, log_density(bounded_log_scale(free), jnp.log(safe)), -jnp.inf)

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        alpha = self.source
        return alpha[..., :, None] * self._fisher_natural() * alpha[..., None, :]

    def toward(self, y: Any) -> Float[Array, "... d"]:
        return step_toward(jnp.asarray(self.concentration), jnp.log(jnp.asarray(y)))

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


def _sums_to_one(x: Float[Array, "... k"]) -> Bool[Array, "..."]:
    rounding = x.shape[-1] * np.finfo(jnp.result_type(x, np.float32)).eps
    return jnp.abs(jnp.sum(x, axis=-1) - 1) < max(1e-6, float(rounding))


def log_density(log_alpha: Float[Array, "... k"], log_x: Float[Array, "... k"]) -> Float[Array, "..."]:
    """Return the log density at x of the member α, both by their logarithms.

    With A = Σα and g(a) = a·log a − a − log Γ(a) it is −Σ αᵢ·(A·xᵢ/αᵢ − 1 − log A·xᵢ/αᵢ) − Σ log xᵢ + Σ g(αᵢ) − g(A):
    nothing large is subtracted.
    """
    log_total = jax.nn.logsumexp(log_alpha, axis=-1)
    alpha, total = jnp.exp(log_alpha), jnp.exp(log_total)
    far = alpha * exponential_excess(log_total[..., None] - log_alpha + log_x)
    return jnp.sum(log_gamma_gap(alpha) - log_x - far, axis=-1) - log_gamma_gap(total)


def step_toward(alpha: Float[Array, "*batch k"], log_y: Float[Array, "... k"]) -> Float[Array, "... k"]:
    """Return the natural gradient of the log density at y, in log α.

    The inverse Fisher matrix is diag(w) + wwᵀ/slack with w = 1/ψ′(α), and w is nearly α: Σ α·(log y − η) is of second
    order in log y − η, and has a form of its own.
    """
    total = jnp.sum(alpha, axis=-1, keepdims=True)
    apart = log_y - log_means(alpha)
    far = alpha * exponential_excess(jnp.log(total) - jnp.log(alpha) + log_y)
    along = jnp.sum(alpha * log_gap(alpha) - far, axis=-1, keepdims=True) - total * log_gap(total)
    along = along - jnp.sum(trigamma_shortfall(alpha) * apart, axis=-1, keepdims=True)
    return (apart + along / dirichlet_slack(alpha)) / (alpha * trigamma(alpha))


def concentrated(concentration: Any, points: str) -> str | None:
    """Return why a fit with such a concentration is none: its points differ by no more than rounding does."""
    if np.all(np.asarray(concentration) <= MOST_CONCENTRATED):  # NaN is not
        return None
    return f"all points{points} are alike, or nearly so, and its likelihood grows without bound."


def check_log_means(name: str, eta: Numeric) -> None:
    """Raise unless exp(η) sums to less than 1: means of logarithms lie below logarithms of means."""
    check_values(name, eta, lambda v: v < 0, "negative, a mean of log x with x in (0, 1)")
    total = jnp.sum(jnp.exp(jnp.asarray(eta)), axis=-1)
    check_values(f"sum(exp({name}))", total, lambda v: v < 1, "less than 1")
