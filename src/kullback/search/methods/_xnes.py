"""Natural evolution strategies in exponential coordinates: xNES, and SNES for diagonal covariances."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from kullback.search.methods._method import Method
from kullback.search.methods._ranking import places, positive_weights
from kullback.search.methods._root_method import Covariance, RootMethod, RootState, check_covariance, move, whiten


class XNES(RootMethod):
    """Natural gradient in exponential coordinates: x = μ + A·z with z ~ N(0, I).

    Around the current distribution, covariances are written as A·exp(M)·Aᵀ with M symmetric. There the Fisher matrix is
    that of N(0, I), so nothing is inverted, and no step can leave the domain. With utilities uᵢ that sum to 0:

    - μ ← μ + A·Σ uᵢzᵢ
    - A ← A·exp(½·rate·Σ uᵢ(zᵢzᵢᵀ − I))

    `covariance` "diagonal" keeps the diagonal of the exponent only (SNES), "spherical" its mean: fewer numbers, learned
    at a higher rate.

    Glasmachers, Schaul, Sun, Wierstra, Schmidhuber, Exponential natural evolution strategies (2010).

    >>> import jax
    >>> search = XNES(mean=[3.0, -2.0], scale=1.0, covariance="diagonal")
    >>> points, state = search.ask(search.init(jax.random.key(0)))
    >>> state = search.tell(state, points, (points**2).sum(axis=1))
    >>> bool(abs(state.mean).sum() < 5)
    True
    """

    covariance: Covariance = eqx.field(static=True)

    def __init__(self, mean: Any, scale: Any = 0.3, population: int | None = None, covariance: Covariance = "full"):
        Method.__init__(self, mean, scale, population)
        self.covariance = check_covariance(covariance, self.scale, ("full", "diagonal", "spherical"))

    @property
    def rate(self) -> float:
        """The rate of the root: (3 + ln n)/(5√n) for one number to each coordinate, 3/n of it for a matrix."""
        n = self.dimension
        return (3 + math.log(n)) / (5 * math.sqrt(n)) * (min(1.0, 3 / n) if self.covariance == "full" else 1.0)

    def tell(self, state: RootState, points: Any, values: Any) -> RootState:
        """Move the mean, and multiply the root by an exponential."""
        z, values = whiten(state, points, values)
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
        return move(state, utilities @ z, factor)
