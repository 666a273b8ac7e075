"""Directions in the plane."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import i0e
from jaxtyping import Array, Bool, Float
from numpy.typing import NDArray

from kullback.core import Key, MeanStatistics, Shape, as_key, as_shape
from kullback.families._component import Support
from kullback.families._dirichlet import concentrated
from kullback.families._marginal import Marginal, scipy_law
from kullback.families._scalar import ScalarFamily
from kullback.families._unsplittable import NaturalFree
from kullback.numerics import (
    Numeric,
    as_parameter,
    bessel_ratio,
    bessel_ratio_gap,
    bessel_ratio_slope,
    check_finite,
    check_interior,
    check_values,
    inverse_bessel_ratio,
    log_i0e,
    share_batch,
)


class VonMises(NaturalFree, ScalarFamily):
    """p(x) = exp(κ cos(x − μ)) / 2πI₀(κ) for an angle x in radians.

    Any angle is a point; samples and means lie in (−π, π]. With A = I₁/I₀ the coordinates are

    - source: μ, κ (at κ = 0 the direction means nothing and the source metric is singular)
    - statistics T: cos x, sin x
    - natural and free: κ cos μ, κ sin μ
    - expectation: A(κ) cos μ, A(κ) sin μ

    >>> VonMises(mean=0.0, concentration=2.0).expectation.round(3).tolist()
    [0.698..., 0.0]
    """

    fixed_size = 2
    support = Support(np.isfinite, "an angle in radians")
    words = "{mean} rad, κ {concentration}"

    mean: Float[Numeric, "*batch"]
    concentration: Float[Numeric, "*batch"]

    def __init__(self, mean: Any, concentration: Any):
        mean, kappa = as_parameter(mean), as_parameter(concentration)
        check_finite("mean", mean)
        check_values("concentration", kappa, lambda v: np.isfinite(v) & (v >= 0), "finite and not negative")
        self.mean, self.concentration = share_batch(("mean", mean), ("concentration", kappa))

    @classmethod
    def standard(cls, shape: tuple[int, ...], categories: int = 0) -> Self:
        return cls(np.zeros(shape), np.ones(shape))

    @classmethod
    def cluster_view(cls, column: NDArray[Any], categories: int = 0) -> NDArray[Any]:
        return np.stack([np.cos(column), np.sin(column)], axis=1)

    @property
    def column_means(self) -> Any:
        return self.mean

    @property
    def variance(self) -> Float[Array, "*batch"]:
        """The circular variance 1 − A(κ), from 0 where all angles are alike to 1 where none is preferred."""
        return bessel_ratio_gap(self.concentration)

    @property
    def mode(self) -> Float[Array, "*batch"]:
        """The mean direction, in (−π, π]."""
        return _polar(_circle(jnp.asarray(self.mean)))[1]

    def cdf(self, x: Any) -> Float[Array, "..."]:
        """Return P(X ≤ x) for X in (−π, π], where samples lie: 0 at −π, and 1 at π."""
        x, mean = jnp.clip(jnp.asarray(x, dtype=jnp.asarray(self.mean).dtype), -np.pi, np.pi), jnp.asarray(self.mean)
        return self._turned(x - mean) - self._turned(-np.pi - mean)

    def _turned(self, angle: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the probability of the turn from μ − π to μ + angle, which goes on growing turn by turn."""
        turns = jnp.round(angle / (2 * np.pi))
        away = angle - 2 * np.pi * turns
        kappa = jnp.asarray(self.concentration)
        # beyond 14 standard deviations, or so, nothing is left: the nodes stay where the density is
        reach = jnp.minimum(jnp.abs(away), 14 / jnp.sqrt(jnp.maximum(kappa, 1)))
        nodes, weights = (jnp.asarray(each, reach.dtype) for each in np.polynomial.legendre.leggauss(64))
        places = 0.5 * reach[..., None] * (nodes + 1)
        heights = jnp.exp(-2 * kappa[..., None] * jnp.square(jnp.sin(places / 2)))
        side = 0.5 * reach * jnp.sum(weights * heights, axis=-1) / (2 * np.pi * i0e(kappa))
        return turns + 0.5 + jnp.sign(away) * side

    def _refusal(self) -> str | None:
        return concentrated(self.concentration, " of the circle")

    def embed(self, x: Any) -> Float[Array, "... 2"]:
        return self.statistics(x)

    @property
    def mean_embedding(self) -> Float[Array, "*batch 2"]:
        return self.expectation

    def from_embedding(self, embedding: Any) -> Float[Array, "..."]:
        """Return the direction."""
        return _polar(embedding)[1]

    def law(self) -> Any:
        return scipy_law("vonmises", self.concentration, loc=np.asarray(self.mean))

    def marginal(self) -> Marginal:
        return super().marginal()._replace(span=(-np.pi, np.pi), angle=True)

    @property
    def interior(self) -> Bool[Array, "*batch"]:
        return jnp.all(jnp.isfinite(self.source), axis=-1) & (jnp.asarray(self.concentration) >= 0)

    def log_prob(self, x: Any) -> Float[Array, "..."]:
        # κ cos d − log I₀(κ) = −2κ sin²(d/2) − log(e^−κ I₀(κ)): nothing large is subtracted
        kappa = jnp.asarray(self.concentration)
        away = jnp.square(jnp.sin(jnp.subtract(jnp.asarray(x), self.mean) / 2))
        return -2 * kappa * away - jnp.log(2 * np.pi * i0e(kappa))

    def sample(self, key: Key, shape: Shape = ()) -> Float[Array, "..."]:
        key, shape = as_key(key), as_shape(shape)
        mean, kappa = jnp.asarray(self.mean), jnp.asarray(self.concentration)
        turn = _sample_turn(key, jnp.broadcast_to(kappa, shape + self.batch_shape))
        angle = mean + turn
        return angle - 2 * np.pi * jnp.ceil((angle - np.pi) / (2 * np.pi))

    def statistics(self, x: Any) -> Float[Array, "... d"]:
        return _circle(jnp.asarray(x, dtype=jnp.asarray(self.mean).dtype))

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        return jnp.asarray(self.concentration)[..., None] * _circle(jnp.asarray(self.mean))

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return bessel_ratio(self.concentration)[..., None] * _circle(jnp.asarray(self.mean))

    @classmethod
    def _from_natural(cls, natural: Numeric) -> Self:
        length, angle = _polar(natural)
        return cls(angle, length)

    @classmethod
    def _from_expectation(cls, expectation: Numeric) -> Self:
        length, angle = _polar(expectation)
        check_values("the length of expectation", length, lambda v: v < 1, "less than 1")
        return cls(angle, inverse_bessel_ratio(length))

    @classmethod
    def _density_natural(cls, natural: Array, x: Array) -> Float[Array, "..."]:
        # κ − ⟨θ, T⟩ = |θ − κT|²/2κ, since T is of length 1: nothing large is subtracted
        kappa, _ = _polar(natural)
        away = (natural - kappa[..., None] * _circle(jnp.asarray(x, natural.dtype))) / jnp.sqrt(kappa)[..., None]
        return -0.5 * jnp.sum(jnp.square(away), axis=-1) - jnp.log(2 * np.pi) - log_i0e(kappa)

    def toward(self, y: Any) -> Float[Array, "... d"]:
        away, direction = jnp.subtract(jnp.asarray(y), self.mean), _circle(jnp.asarray(self.mean))
        variances = self._spread()
        along = (bessel_ratio_gap(self.concentration) - 2 * jnp.square(jnp.sin(away / 2))) / variances[0]
        across = jnp.sin(away) / variances[1]
        return along[..., None] * direction + across[..., None] * _normal(direction)

    @property
    def log_partition(self) -> Float[Array, "*batch"]:
        kappa = jnp.asarray(self.concentration)
        return jnp.log(2 * np.pi * i0e(kappa)) + kappa

    @property
    def entropy(self) -> Float[Array, "*batch"]:
        kappa = jnp.asarray(self.concentration)
        return jnp.log(2 * np.pi * i0e(kappa)) + kappa * (1 - bessel_ratio(kappa))

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        check_interior("concentration", self.concentration, lambda k: k > 0)
        kappa = jnp.asarray(self.concentration)
        diagonal = jnp.stack([kappa * bessel_ratio(kappa), bessel_ratio_slope(kappa)], axis=-1)
        return diagonal[..., None] * jnp.eye(2, dtype=kappa.dtype)

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return self._rotate(*self._spread())

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        along, across = self._spread()
        return self._rotate(1 / along, 1 / across)

    def _spread(self) -> tuple[Array, Array]:
        """Variance of T along the mean direction, A′(κ), and across it, A(κ)/κ."""
        kappa = jnp.asarray(self.concentration)
        tiny = kappa < 1e-6
        across = bessel_ratio(kappa) / jnp.where(tiny, 1, kappa)
        return bessel_ratio_slope(kappa), jnp.where(tiny, 0.5, across)

    def _rotate(self, along: Array, across: Array) -> Float[Array, "*batch 2 2"]:
        direction = _circle(jnp.asarray(self.mean))
        normal = _normal(direction)
        first = along[..., None, None] * direction[..., :, None] * direction[..., None, :]
        return first + across[..., None, None] * normal[..., :, None] * normal[..., None, :]

    def _from_statistics(self, statistics: MeanStatistics) -> Self:
        length, angle = _polar(statistics.mean)
        return eqx.tree_at(lambda v: (v.mean, v.concentration), self, (angle, inverse_bessel_ratio(length)))


def _circle(angle: Float[Array, "*batch"]) -> Float[Array, "*batch 2"]:
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def _normal(direction: Float[Array, "*batch 2"]) -> Float[Array, "*batch 2"]:
    return jnp.stack([-direction[..., 1], direction[..., 0]], axis=-1)


def _polar(vector: Numeric) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    x, y = jnp.asarray(vector)[..., 0], jnp.asarray(vector)[..., 1]
    # a hair off the origin, where the angle means nothing, so that what does not depend on it has a derivative there
    x = x + jnp.where((x == 0) & (y == 0), np.finfo(x.dtype).tiny ** 0.5, 0)
    return jnp.hypot(x, y), jnp.arctan2(y, x)


def _sample_turn(key: Array, kappa: Float[Array, "..."]) -> Float[Array, "..."]:
    """Draw angles around 0 by rejection from a wrapped Cauchy (Best and Fisher 1979)."""
    tau = 1 + jnp.sqrt(1 + 4 * jnp.square(kappa))
    rho = (tau - jnp.sqrt(2 * tau)) / (2 * jnp.where(kappa > 0, kappa, 1))
    # for small κ the quotient is 0/0; its series is 1/r = κ/2 + …
    s = jnp.where(kappa > 1e-4, (1 + jnp.square(rho)) / (2 * jnp.where(kappa > 1e-4, rho, 1)), 1 / (kappa + 1e-30))

    def propose(state: Any) -> Any:
        key, done, cosine = state
        key, first, second = jax.random.split(key, 3)
        z = jnp.cos(np.pi * jax.random.uniform(first, kappa.shape, kappa.dtype))
        f = (1 + s * z) / (s + z)
        c = kappa * (s - f)
        u = jax.random.uniform(second, kappa.shape, kappa.dtype)
        accepted = (c * (2 - c) > u) | (jnp.log(c) - jnp.log(u) + 1 - c >= 0)
        return key, done | accepted, jnp.where(done, cosine, f)

    key, side, flat = jax.random.split(key, 3)
    uniform = jnp.cos(np.pi * jax.random.uniform(flat, kappa.shape, kappa.dtype))
    start = (key, ~(kappa > 1e-8), jnp.where(jnp.isnan(kappa), jnp.nan, uniform))  # κ = 0 has nothing to reject
    _, _, cosine = jax.lax.while_loop(lambda state: ~jnp.all(state[1]), propose, start)
    sign = jnp.where(jax.random.bernoulli(side, 0.5, kappa.shape), 1.0, -1.0)
    return sign * jnp.arccos(jnp.clip(cosine, -1, 1))
