"""Online EM to first order: a step of natural gradient with the Fisher matrix of the joint."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from kullback.core import Batch, Extent, Statistics
from kullback.families import Coordinates
from kullback.learning._em import StatisticsLearner, info_of
from kullback.learning._learner import AT_ONCE, Clock, ClosedFormT, Scalar, StepInfo, as_number
from kullback.learning._step import step


class NaturalGradientEM(StatisticsLearner[ClosedFormT]):
    """Moves to Θ − γ·I_F⁻¹∇L: L is the average −log p(v | Θ), I_F the Fisher matrix of the joint p(h, v | Θ).

    ∇L is the gradient of the cross-entropy of the data's expected statistics (Fisher's identity), I_F the Hessian of
    the cross-entropy of the model's own. It agrees with online EM to second order in γ. The model must have flat
    coordinates, `model.coordinates(name)` and `model.at(name, vector)`: families and mixtures of them do.
    """

    rate: Scalar = eqx.field(converter=as_number)
    coordinates: Coordinates = eqx.field(static=True, default="natural")

    def move(
        self, model: ClosedFormT, state: None, message: Statistics, clock: Clock
    ) -> tuple[ClosedFormT, None, StepInfo]:
        """Go along the natural gradient."""
        flat: Any = model  # one that has flat coordinates
        own, here = flat.own_statistics(Extent()), flat.coordinates(self.coordinates)
        gradient = jax.grad(lambda x: flat.at(self.coordinates, x).cross_entropy(message))(here) / message.mass
        fisher = jax.hessian(lambda x: flat.at(self.coordinates, x).cross_entropy(own))(here)
        moved = flat.at(self.coordinates, here - self.rate * jnp.linalg.solve(fisher, gradient))
        return moved, None, info_of(message)


def natural_gradient_em_step(
    model: ClosedFormT, batch: Batch, rate: Scalar, coordinates: Coordinates = "natural"
) -> tuple[ClosedFormT, StepInfo]:
    """Return the model after one step of `NaturalGradientEM`.

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, _ = natural_gradient_em_step(start, Batch([0, 1, 12]), 0.1)
    >>> bool(model.components.rate[1] > 9)
    True
    """
    learner: NaturalGradientEM[ClosedFormT] = NaturalGradientEM(jnp.asarray(rate), coordinates)
    found = step(learner, model, None, None, (batch,), AT_ONCE)
    return found.model, found.info
