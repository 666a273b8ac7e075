"""Probabilistic principal component analysis: few hidden factors, and one noise for all columns."""

from typing import Any, Self

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.models.factors._model import FactorModel, check_parameters
from kullback.models.factors._principal import check_moments, floor_noise, principal_loadings
from kullback.numerics import Numeric, as_parameter


class ProbabilisticPCA(FactorModel):
    """v = W h + μ + ε with h ~ N(0, I_q) and ε ~ N(0, σ²I), so that v ~ N(μ, W Wᵀ + σ²I).

    `noise` is σ², one variance for all columns. `principal_axes` turns the factors to the principal components.

    >>> model = ProbabilisticPCA.from_moments(mean=[0.0, 0.0], covariance=[[5.0, 4.0], [4.0, 5.0]], q=1)
    >>> float(model.noise.round(3)), model.loadings.round(3).tolist()  # eigenvalues 1 and 9, (9 − 1)/2 = 2²
    (1.0, [[2.0], [2.0]])
    """

    mean: Float[Numeric, "*batch n"]
    loadings: Float[Numeric, "*batch n q"]
    noise: Float[Numeric, "*batch"]

    def __init__(self, mean: Any, loadings: Any, noise: Any):
        self.mean, self.loadings, self.noise = check_parameters(mean, loadings, noise, per_column=False)

    @property
    def noises(self) -> Float[Array, "*batch n"]:
        """The noise variance of each column: the same for all."""
        return jnp.broadcast_to(jnp.asarray(self.noise)[..., None], self.mean.shape)

    def _nearest_noise(self, rest: Float[Array, "*batch n"], variance: Float[Array, "*batch n"]) -> Array:
        return floor_noise(jnp.mean(rest, axis=-1), jnp.mean(variance, axis=-1))

    @classmethod
    def from_moments(cls, mean: Any, covariance: Any, q: int) -> Self:
        """Return the most likely model of data with this mean and covariance (Tipping & Bishop 1999).

        W = U_q(Λ_q − σ²I)^½ with the q largest eigenvalues Λ_q and their vectors, σ² the mean of the others.
        """
        mean, covariance = as_parameter(mean), as_parameter(covariance)
        check_moments(mean, covariance, q)
        return cls(mean, *principal_loadings(covariance, q))
