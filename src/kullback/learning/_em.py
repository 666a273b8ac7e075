"""Batch EM: the model nearest to the data points."""

from collections.abc import Iterable
from typing import Any, TypeVar

import jax

from kullback.families import Batch, ClosedFormModel
from kullback.learning._report import Report, report
from kullback.learning._sized import sized_jit
from kullback.runtime import jit

Model = TypeVar("Model", bound=ClosedFormModel)

_finished: Any = jax.block_until_ready  # it has no types


def em_step(model: Model, batches: Batch | Iterable[Batch], prior: Any = None) -> tuple[Model, Report]:
    """Return the model nearest to all points of the batches, each taken with its posterior under the old model."""
    return nearest(model, gathered(model, [batches] if isinstance(batches, Batch) else batches), prior)


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


def gathered(model: Any, batches: Iterable[Batch]) -> Any:
    """E-step over several batches: what all the data says."""
    data: Any = None
    for batch in batches:
        found = expected(model, batch)
        # computing runs ahead of the loop: without waiting, the batches of a long table would pile up
        data = _finished(found if data is None else merged(data, found))
    return data


@sized_jit
def expected(model: Any, batch: Batch) -> Any:
    """E-step: what the data says."""
    return model.expected_statistics(batch)[0]


@jit
def merged(one: Any, other: Any) -> Any:
    """Put the statistics of two sets of data together."""
    return one.merge(other)


@sized_jit
def nearest(model: Any, statistics: Any, prior: Any = None) -> tuple[Any, Report]:
    """M-step: the model with these statistics."""
    return model.maximize(statistics, prior), report(statistics)
