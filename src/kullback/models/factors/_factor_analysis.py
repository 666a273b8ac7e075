"""Factor analysis: few hidden factors, and a noise of its own for each column."""

from typing import Any, Self

import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.models.factors._model import FactorModel, check_parameters
from kullback.models.factors._principal import check_moments, floor_noise, namespace, principal_loadings
from kullback.numerics import Numeric, as_parameter


class FactorAnalysis(FactorModel):
    """v = W h + μ + ε with h ~ N(0, I_q) and ε ~ N(0, diag ψ), so that v ~ N(μ, W Wᵀ + diag ψ).

    `noise` is ψ, one variance for each column. Batched over K it is the component of a mixture of factor analyzers.

    >>> from kullback.families import Batch
    >>> model = FactorAnalysis(mean=[0.0, 0.0], loadings=[[3.0], [4.0]], noise=[1.0, 1.0])
    >>> model.posterior(Batch([[3.0, 4.0]])).mean.round(3).tolist()  # 25/26
    [[0.962...]]
    """

    mean: Float[Numeric, "*batch n"]
    loadings: Float[Numeric, "*batch n q"]
    noise: Float[Numeric, "*batch n"]

    def __init__(self, mean: Any, loadings: Any, noise: Any):
        self.mean, self.loadings, self.noise = check_parameters(mean, loadings, noise, per_column=True)

    @property
    def noises(self) -> Float[Array, "*batch n"]:
        """The noise variance of each column."""
        return jnp.asarray(self.noise)

    def _nearest_noise(self, rest: Float[Array, "*batch n"], variance: Float[Array, "*batch n"]) -> Array:
        return floor_noise(rest, variance)

    @classmethod
    def from_moments(cls, mean: Any, covariance: Any, q: int) -> Self:
        """Return a start for EM: the principal axes of the correlations, and what they leave of each variance.

        Nobody's units matter. Each noise is at least 0.001 of the variance, so that no column begins at its end.
        """
        mean, covariance = as_parameter(mean), as_parameter(covariance)
        check_moments(mean, covariance, q)
        xp = namespace(mean, covariance)
        variance = xp.diagonal(covariance, axis1=-2, axis2=-1)
        deviation = xp.sqrt(xp.where(variance > 0, variance, 1))
        correlation = covariance / (deviation[..., :, None] * deviation[..., None, :])
        loadings = principal_loadings(correlation, q)[0] * deviation[..., None]
        rest = variance - xp.sum(xp.square(loadings), axis=-1)
        return cls(mean, loadings, floor_noise(xp.maximum(rest, 1e-3 * variance), variance))
