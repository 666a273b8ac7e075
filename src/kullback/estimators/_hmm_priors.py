"""Priors of hidden Markov models, with the parameters and the meaning that hmmlearn gives them.

A prior is added to the statistics of the data when a model is made of them, and never kept. Parameters that are not to
be learned enter the same way: the statistics are made those of the parameter as it is.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.families import CentredStatistics, MeanStatistics
from kullback.families._statistics import expand
from kullback.models import HiddenMarkovStatistics


class HiddenMarkovPrior(eqx.Module):
    """Dirichlet priors of the initial and the transition probabilities, and a prior of the emissions."""

    initial: Any
    transitions: Any
    emissions: Any = None

    def added_to(self, data: HiddenMarkovStatistics) -> HiddenMarkovStatistics:
        """Add a − 1 to the counts; a prior below 1 takes counts away, and none is left below 0."""
        emissions = data.emissions if self.emissions is None else self.emissions.added_to(data.emissions)
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
    columns for matrices, and at least 0. `means` and `covariances` are those to be left as they are, or None.
    """

    means_prior: Any
    means_weight: Any
    covars_prior: Any
    covars_weight: Any
    means: Any
    covariances: Any
    tied: bool = eqx.field(static=True)

    def added_to(self, data: CentredStatistics) -> CentredStatistics:
        """Return the statistics whose mean and spread are what the prior makes of them."""
        mass = jnp.asarray(data.mass)[:, None]
        n = data.mean.shape[-1]
        w, m0 = jnp.asarray(self.means_weight), jnp.asarray(self.means_prior)
        total = w + mass
        moved = (w * m0 + mass * data.mean) / jnp.where(total > 0, total, 1)
        mean = jnp.where(total > 0, moved, data.mean) if self.means is None else jnp.asarray(self.means)
        if self.covariances is not None:
            return self._with(data, mean, jnp.asarray(self.covariances))
        square = data.square  # products, squares, or the mean of squares
        matrices = data.spread.ndim == 3
        away = expand(jnp.asarray(data.mass), data.spread.ndim - 1) * (data.spread + square(data.mean - mean))
        scatter = away + _squares(w, mean - m0, square)
        prior = jnp.asarray(self.covars_prior)
        if prior.ndim == 2 and data.spread.ndim == 1:  # one variance for all columns
            prior = prior.mean(axis=-1)
        count = jnp.maximum(jnp.asarray(self.covars_weight) - (n if matrices else 1), 0) + data.mass
        if self.tied:
            spread = (prior + scatter.sum(axis=0)) / (jnp.maximum(self.covars_weight - n, 0) + jnp.sum(data.mass))
            return self._with(data, mean, jnp.broadcast_to(spread, data.spread.shape))
        floor = 0.0 if matrices else 1e-5
        below = expand(jnp.maximum(count, floor), data.spread.ndim - 1)
        spread = jnp.where(below > 0, (prior + scatter) / jnp.where(below > 0, below, 1), data.spread)
        return self._with(data, mean, spread)

    def _with(self, data: CentredStatistics, mean: Float[Array, "k n"], spread: Array) -> CentredStatistics:
        return CentredStatistics(data.mass, data.log_likelihood, mean, spread, data.square)


def _squares(weight: Array, away: Array, square: Any) -> Array:
    """Return weight·square(away) for a weight that is one number, or one for each state or entry."""
    root = jnp.sqrt(jnp.broadcast_to(weight, away.shape))
    return square(root * away)


class CategoricalPrior(eqx.Module):
    """A Dirichlet prior of the probabilities of symbols; `kept` are probabilities to be left as they are, or None."""

    prior: Any
    kept: Any

    def added_to(self, data: MeanStatistics) -> MeanStatistics:
        """Add a − 1 to the counts of all symbols; none is left below 0."""
        if self.kept is not None:
            return eqx.tree_at(lambda s: s.mean, data, jnp.asarray(self.kept))
        counts = jnp.maximum(data.mean * jnp.asarray(data.mass)[:, None] + jnp.asarray(self.prior) - 1, 0)
        total = counts.sum(axis=-1)
        share = jnp.where(total[:, None] > 0, counts / jnp.where(total > 0, total, 1)[:, None], data.mean)
        return eqx.tree_at(lambda s: (s.mean, s.mass), data, (share, total))


class PoissonPrior(eqx.Module):
    """A gamma prior of the rates: (α + N·mean)/(β + N), N the number of all points; `kept` are rates to be left."""

    alpha: Any
    beta: Any
    kept: Any

    def added_to(self, data: MeanStatistics) -> MeanStatistics:
        """Return the statistics whose means are what the prior makes of them."""
        if self.kept is not None:
            return eqx.tree_at(lambda s: s.mean, data, jnp.asarray(self.kept))
        count = jnp.sum(data.mass)
        total = jnp.asarray(self.beta) + count
        moved = (jnp.asarray(self.alpha) + count * data.mean) / jnp.where(total > 0, total, 1)
        return eqx.tree_at(lambda s: s.mean, data, jnp.where(total > 0, moved, data.mean))
