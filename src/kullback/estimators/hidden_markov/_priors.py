"""Priors of hidden Markov models, with the parameters and the meaning that hmmlearn gives them.

A prior is added to the statistics of the data when a model is made of them, and never kept. Parameters that are not to
be learned enter the same way: the statistics are made those of the parameter as it is.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import CenteredStatistics, MeanStatistics, expand
from kullback.families import Gaussian
from kullback.models import HiddenMarkovModel, HiddenMarkovStatistics

#: Points that are next to none: hmmlearn's number.
_FEW = 1e-5


class HiddenMarkovPrior(eqx.Module):
    """Dirichlet priors of the initial and the transition probabilities, and a prior of the emissions."""

    initial: Any
    transitions: Any
    emissions: Any = None

    def added_to(self, data: HiddenMarkovStatistics, model: HiddenMarkovModel) -> HiddenMarkovStatistics:
        """Add a − 1 to the counts; a prior below 1 takes counts away, and none is left below 0."""
        emissions = data.emissions
        if self.emissions is not None:
            emissions = self.emissions.added_to(emissions, model.emissions)
        return eqx.tree_at(
            lambda s: (s.initial, s.transitions, s.emissions),
            data,
            (
                jnp.maximum(data.initial + jnp.asarray(self.initial) - 1, 0),
                jnp.maximum(data.transitions + jnp.asarray(self.transitions) - 1, 0),
                emissions,
            ),
        )


class GaussianPrior(eqx.Module):
    """A normal prior of the means and an inverse gamma or Wishart prior of the covariances.

    With N points of mean m and scatter S in a state: mean' = (w·m₀ + N·m)/(w + N), and covariance' =
    (C₀ + w·(mean' − m₀)² + S + N·(m − mean')²)/(c + N), where c is `covars_weight` less 1, or less the number of
    columns for matrices, and at least 0. A matrix of a state that is left with less than 1e-5 points stays as the model
    has it. So do means and covariances that are not learned.
    """

    means_prior: Any
    means_weight: Any
    covars_prior: Any
    covars_weight: Any
    learned: str = eqx.field(static=True)
    tied: bool = eqx.field(static=True)

    def added_to(self, data: CenteredStatistics, model: Any) -> CenteredStatistics:
        """Return the statistics whose mean and spread are what the prior makes of them."""
        covariances = jnp.asarray(covariance_of(model))
        mean = self._mean(data) if "m" in self.learned else jnp.asarray(model.mean)
        spread = self._spread(data, mean, covariances) if "c" in self.learned else covariances
        return CenteredStatistics(data.mass, data.log_likelihood, mean, spread, data.square)

    def _mean(self, data: CenteredStatistics) -> Float[Array, "k n"]:
        mass, w = jnp.asarray(data.mass)[:, None], jnp.asarray(self.means_weight)
        total = w + mass
        moved = (w * self.means_prior + mass * data.mean) / jnp.where(total > 0, total, 1)
        return jnp.where(total > 0, moved, data.mean)

    def _spread(self, data: CenteredStatistics, mean: Float[Array, "k n"], before: Array) -> Array:
        square, axes = data.square, data.spread.ndim - 1  # products, squares, or the mean of squares
        root = jnp.sqrt(jnp.asarray(self.means_weight))
        scatter = expand(jnp.asarray(data.mass), axes) * (data.spread + square(data.mean - mean))
        scatter = scatter + square(root * (mean - self.means_prior))
        matrices = axes == 2
        more = jnp.maximum(jnp.asarray(self.covars_weight) - (mean.shape[-1] if matrices else 1), 0)
        if self.tied:
            one = (self.covars_prior + scatter.sum(axis=0)) / (more + jnp.sum(data.mass))
            return jnp.broadcast_to(one, data.spread.shape)
        count = expand(more + data.mass, axes)
        spread = (self.covars_prior + scatter) / jnp.maximum(count, _FEW)
        return jnp.where(count < _FEW, before, spread) if matrices else spread


def covariance_of(gaussians: Any) -> Any:
    """Return the covariances of Gaussians, or what they have in their place."""
    return gaussians.covariance if isinstance(gaussians, Gaussian) else gaussians.variance


class CategoricalPrior(eqx.Module):
    """A Dirichlet prior of the probabilities of symbols."""

    prior: Any

    def added_to(self, data: MeanStatistics, model: Any) -> MeanStatistics:
        """Add a − 1 to the counts of all symbols; none is left below 0."""
        counts = jnp.maximum(data.mean * jnp.asarray(data.mass)[:, None] + jnp.asarray(self.prior) - 1, 0)
        total = counts.sum(axis=-1)
        share = jnp.where(total[:, None] > 0, counts / jnp.where(total > 0, total, 1)[:, None], data.mean)
        return eqx.tree_at(lambda s: (s.mean, s.mass), data, (share, total))


class PoissonPrior(eqx.Module):
    """A gamma prior of the rates: (α + N·mean)/(β + N), N the number of all points."""

    alpha: Any
    beta: Any

    def added_to(self, data: MeanStatistics, model: Any) -> MeanStatistics:
        """Return the statistics whose means are what the prior makes of them."""
        count = jnp.sum(data.mass)
        total = jnp.asarray(self.beta) + count
        moved = (jnp.asarray(self.alpha) + count * data.mean) / jnp.where(total > 0, total, 1)
        return eqx.tree_at(lambda s: s.mean, data, jnp.where(total > 0, moved, data.mean))
