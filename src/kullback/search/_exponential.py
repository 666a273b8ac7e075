"""Natural evolution strategies in exponential coordinates: xNES, and SNES for diagonal covariances."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.numerics import Numeric
from kullback.search._method import Method, checked_population, checked_start, standard_population
from kullback.search._ranking import places, positive_weights
from kullback.search._root import (
    Covariance,
    RootState,
    checked_covariance,
    condition_number,
    deviations,
    drawn,
    gaussian,
    moved,
    root_state,
    whitened,
)


class Exponential(Method):
    """Natural gradient in exponential coordinates: x = μ + A·z with z ~ N(0, I).

    Around the current distribution, covariances are written as A·exp(M)·Aᵀ with M symmetric. There the Fisher matrix is
    that of N(0, I), so nothing is inverted, and no step can leave the domain. With utilities uᵢ that sum to 0:

    - μ ← μ + A·Σ uᵢzᵢ
    - A ← A·exp(½·rate·Σ uᵢ(zᵢzᵢᵀ − I))

    `covariance` "diagonal" keeps the diagonal of the exponent only (SNES), "spherical" its mean: fewer numbers, learned
    at a higher rate.

    Glasmachers, Schaul, Sun, Wierstra, Schmidhuber, Exponential natural evolution strategies (2010).

    >>> import jax
    >>> search = Exponential(mean=[3.0, -2.0], scale=1.0, covariance="diagonal")
    >>> points, state = search.ask(search.init(jax.random.key(0)))
    >>> state = search.tell(state, points, (points**2).sum(axis=1))
    >>> bool(abs(state.mean).sum() < 5)
    True
    """

    mean: Float[Numeric, " n"]
    scale: Float[Numeric, " n"]
    population: int = eqx.field(static=True)
    covariance: Covariance = eqx.field(static=True)

    def __init__(self, mean: Any, scale: Any = 0.3, population: int | None = None, covariance: Covariance = "full"):
        self.mean, self.scale = checked_start(mean, scale)
        self.population = checked_population(population, standard_population(self.mean.size))
        self.covariance = checked_covariance(covariance, self.scale, ("full", "diagonal", "spherical"))

    @property
    def rate(self) -> float:
        """The rate of the root: (3 + ln n)/(5√n) for one number to each coordinate, 3/n of it for a matrix."""
        n = self.dimension
        return (3 + math.log(n)) / (5 * math.sqrt(n)) * (min(1.0, 3 / n) if self.covariance == "full" else 1.0)

    def init(self, key: Array) -> RootState:
        """Return the state before the first population."""
        return root_state(key, self.mean, self.scale, self.covariance)

    def ask(self, state: RootState) -> tuple[Float[Array, "population n"], RootState]:
        """Draw x = μ + A·z."""
        return drawn(state, self.population)

    def tell(self, state: RootState, points: Any, values: Any) -> RootState:
        """Move the mean, and multiply the root by an exponential."""
        z, values = whitened(state, points, values)
        weights = positive_weights(len(z)) - 1 / len(z)
        utilities = jnp.asarray(weights, z.dtype)[places(values)]
        half = 0.5 * self.rate * utilities
        match self.covariance:
            case "full":
                exponent, basis = jnp.linalg.eigh((z.T * half) @ z)
                factor = (basis * jnp.exp(exponent)) @ basis.T
            case "diagonal":
                factor = jnp.exp(half @ jnp.square(z))
            case "spherical":
                factor = jnp.exp(half @ jnp.mean(jnp.square(z), axis=1))
        return moved(state, utilities @ z, factor)

    def distribution(self, state: RootState) -> Gaussian | DiagonalGaussian | SphericalGaussian:
        """Return N(μ, AAᵀ)."""
        return gaussian(state)

    def spread(self, state: RootState) -> Float[Array, " n"]:
        """Return the roots of the diagonal of AAᵀ."""
        return deviations(state)

    def condition(self, state: RootState) -> Float[Array, ""]:
        """Return the condition number of AAᵀ."""
        return condition_number(state)
