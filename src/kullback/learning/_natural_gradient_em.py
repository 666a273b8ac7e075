"""Online EM to first order: a step of natural gradient with the Fisher matrix of the joint."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from kullback.families import Batch, Coordinates, Extent
from kullback.learning._report import Report, report
from kullback.runtime import jit

Model = TypeVar("Model", bound=Any)


def natural_gradient_em_step(
    model: Model, batch: Batch, rate: Any, coordinates: Coordinates = "natural"
) -> tuple[Model, Report]:
    """Return Θ − γ·I_F⁻¹∇L: L is the average −log p(v | Θ), I_F the Fisher matrix of the joint p(h, v | Θ).

    ∇L is the gradient of the cross-entropy of the data's expected statistics (Fisher's identity), I_F the Hessian of
    the cross-entropy of the model's own. It agrees with online EM to second order in γ. The model must have flat
    coordinates, `model.coordinates(name)` and `model.at(name, vector)`: families and mixtures of them do.

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, _ = natural_gradient_em_step(start, Batch([0, 1, 12]), 0.1)
    >>> bool(model.components.rate[1] > 9)
    True
    """
    return _step(model, batch, rate, coordinates)


def _natural_step(model: Any, batch: Batch, rate: Any, coordinates: Coordinates) -> tuple[Any, Report]:
    data, _ = model.expected_statistics(batch)
    own = model.own_statistics(Extent())
    here = model.coordinates(coordinates)
    gradient = jax.grad(lambda x: model.at(coordinates, x).cross_entropy(data))(here) / data.mass
    fisher = jax.hessian(lambda x: model.at(coordinates, x).cross_entropy(own))(here)
    return model.at(coordinates, here - rate * jnp.linalg.solve(fisher, gradient)), report(data)


_step = jit(_natural_step, static_argnames="coordinates")
