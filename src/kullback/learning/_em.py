"""Batch EM: the model nearest to the data points."""

from typing import Any, TypeVar

import equinox as eqx

from kullback.families import Batch, ClosedFormModel
from kullback.learning._report import Report, report

Model = TypeVar("Model", bound=ClosedFormModel)


@eqx.filter_jit
def em_step(model: Model, batch: Batch, prior: Any = None) -> tuple[Model, Report]:
    """Return the model nearest to all points of the batch, each taken with its posterior under the old model."""
    data, _ = model.expected_statistics(batch)
    return model.maximize(data, prior), report(data)


def em(
    model: Model, batch: Batch, steps: int = 100, tolerance: float = 1e-3, prior: Any = None
) -> tuple[Model, list[float]]:
    """Repeat `em_step` until the average log-likelihood gains less than `tolerance` nats per point.

    Returns the model, and the average log-likelihood before each step. Without a prior it never falls.

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, history = em(start, Batch([0, 1, 2, 1, 11, 13, 12, 0]))
    >>> [round(float(rate)) for rate in model.components.rate]
    [1, 12]
    """
    history: list[float] = []
    for _ in range(steps):
        model, seen = em_step(model, batch, prior)
        history.append(float(seen.log_likelihood))
        if len(history) > 1 and history[-1] - history[-2] < tolerance:
            break
    return model, history
