"""Online EM: the model nearest to the current one (the inertia) and to the points of a new batch."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp

from kullback.families import Batch, ClosedFormModel
from kullback.learning._report import Report, report

Model = TypeVar("Model", bound=ClosedFormModel)


@eqx.filter_jit
def online_em_step(model: Model, batch: Batch, rate: Any, prior: Any = None) -> tuple[Model, Report]:
    """Return the model nearest to the current one, with weight 1 − rate, and to the batch, with weight rate.

    Rate 1 is a step of batch EM; rate 0 stays.
    """
    data, _ = model.expected_statistics(batch)
    inertia = model.own_statistics(batch.extent)
    return model.maximize(inertia.scale(1 - rate).merge(data.scale(rate)), prior), report(data)


def decaying_rate(exponent: float = 0.6, offset: float = 1.0) -> Callable[[int], float]:
    """Return the schedule γ_t = (t + offset)^−exponent for t = 0, 1, …; it converges for 0.5 < exponent ≤ 1."""
    if not 0.5 < exponent <= 1:
        raise ValueError(f"exponent is {exponent}: it must be in (0.5, 1].")
    if not offset >= 1:
        raise ValueError(f"offset is {offset}: it must be 1 or more, so that no rate exceeds 1.")
    return lambda t: (t + offset) ** -exponent


def online_em(
    model: Model, batches: Iterable[Batch], rate: float | Callable[[int], float] | None = None
) -> tuple[Model, list[float]]:
    """Go through the batches once. `rate` is a schedule, or a constant that follows drift.

    Returns the model, and the average log-likelihood of each batch under the model that met it.

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, history = online_em(start, [Batch([0, 1, 12]), Batch([1, 11, 13])], rate=0.5)
    >>> len(history)
    2
    """
    schedule = decaying_rate() if rate is None else rate if callable(rate) else lambda _: rate
    history: list[float] = []
    for t, batch in enumerate(batches):
        model, seen = online_em_step(model, batch, jnp.asarray(schedule(t)))
        history.append(float(seen.log_likelihood))
    return model, history
