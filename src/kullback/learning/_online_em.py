"""Online EM: the model nearest to the current one (the inertia) and to the points of a new batch."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from kullback.families import Batch, ClosedFormModel, Extent
from kullback.learning._em import gathered
from kullback.learning._report import Report, report

Model = TypeVar("Model", bound=ClosedFormModel)


def online_em_step(
    model: Model, batches: Batch | Iterable[Batch], rate: Any, prior: Any = None
) -> tuple[Model, Report]:
    """Return the model nearest to the current one, with weight 1 − rate, and to the batch, with weight rate.

    Rate 1 is a step of batch EM; rate 0 stays. Several batches are one step, towards all of them together.
    """
    several = [batches] if isinstance(batches, Batch) else list(batches)
    if len(several) == 1:
        return _step(model, several[0], rate, prior)
    data = gathered(model, several)
    extent = Extent(sum(batch.extent.mass for batch in several))
    return _towards(model, data, extent, rate, prior)


@jax.jit
def _step(model: Any, batch: Batch, rate: Any, prior: Any) -> tuple[Any, Report]:
    data, _ = model.expected_statistics(batch)
    return _towards(model, data, batch.extent, rate, prior)


@jax.jit
def _towards(model: Any, data: Any, extent: Extent, rate: Any, prior: Any) -> tuple[Any, Report]:
    inertia = model.own_statistics(extent)
    return model.maximize(inertia.scale(1 - rate).merge(data.scale(rate)), prior), report(data)


def decaying_rate(exponent: float = 0.6, offset: float = 1.0) -> Callable[[int], float]:
    """Return the schedule γ_t = (t + offset)^−exponent for t = 0, 1, …; it converges for 0.5 < exponent ≤ 1."""
    if not 0.5 < exponent <= 1:
        raise ValueError(f"exponent is {exponent}: it must be in (0.5, 1].")
    if not offset >= 1:
        raise ValueError(f"offset is {offset}: it must be 1 or more, so that no rate exceeds 1.")
    return lambda t: (t + offset) ** -exponent


def online_em(
    model: Model,
    batches: Iterable[Batch],
    rate: float | Callable[[int], float] | None = None,
    average: bool = False,
) -> tuple[Model, list[float]]:
    """Go through the batches once. `rate` is a schedule, or a constant that follows drift.

    With `average` the model that is returned is nearest to all the models on the way (Polyak averaging): it wavers less
    than the last of them. Returns the model, and the average log-likelihood of each batch under the model that met it.

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, history = online_em(start, [Batch([0, 1, 12]), Batch([1, 11, 13])], rate=0.5)
    >>> len(history)
    2
    """
    schedule = decaying_rate() if rate is None else rate if callable(rate) else lambda _: rate
    history: list[float] = []
    center = model
    for t, batch in enumerate(batches):
        model, seen = online_em_step(model, batch, jnp.asarray(schedule(t)))
        history.append(float(seen.log_likelihood))
        if average:
            center = _between(center, model, 1 / (t + 1))
    return (center if average else model), history


@jax.jit
def _between(first: Any, second: Any, part: Any) -> Any:
    """Return the model nearest to both, with weights 1 − part and part."""
    return first.maximize(first.own_statistics(Extent(1 - part)).merge(second.own_statistics(Extent(part))))
