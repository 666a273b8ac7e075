"""Online EM: the model nearest to the current one (the inertia) and to the points of a new batch."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax.numpy as jnp

from kullback.families import Batch, ClosedFormModel, Extent
from kullback.learning._em import gathered, merged
from kullback.learning._report import Report, report
from kullback.runtime import jit

Model = TypeVar("Model", bound=ClosedFormModel)


def online_em_step(
    model: Model, batches: Batch | Iterable[Batch], rate: Any, prior: Any = None, carry: Any = None
) -> tuple[Model, Any, Report]:
    """Return the model nearest to the current one, with weight 1 − rate, and to the batch, with weight rate.

    Rate 1 is a step of batch EM; rate 0 stays. Several batches are one step, towards all of them together. Returns the
    model, what the next batch carries on, and the report. A batch that continues an earlier one is given its carry; the
    inertia starts from there as well.
    """
    several = [batches] if isinstance(batches, Batch) else list(batches)
    if len(several) == 1:
        return _step(model, several[0], rate, prior, carry)
    data = gathered(model, several)
    inertia = functools.reduce(merged, [_inertia(model, batch) for batch in several])
    moved, seen = _towards(model, inertia, data, rate, prior)
    return moved, None, seen


@jit
def _step(model: Any, batch: Batch, rate: Any, prior: Any, carry: Any) -> tuple[Any, Any, Report]:
    data, carried = model.expected_statistics(batch, carry)
    inertia = model.own_statistics(batch.extent.after(carry))
    moved, seen = _towards(model, inertia, data, rate, prior)
    return moved, carried, seen


@jit
def _inertia(model: Any, batch: Batch) -> Any:
    return model.own_statistics(batch.extent)


@jit
def _towards(model: Any, inertia: Any, data: Any, rate: Any, prior: Any) -> tuple[Any, Report]:
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

    For models with time, a batch whose first row does not begin a sequence continues the batch before it.

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
    center, carry = model, None
    for t, batch in enumerate(batches):
        like = batch.extent.after(carry)
        model, carry, seen = online_em_step(model, batch, jnp.asarray(schedule(t)), None, carry)
        history.append(float(seen.log_likelihood))
        if average:
            center = _between(center, model, like, 1 / (t + 1))
    return (center if average else model), history


@jit
def _between(first: Any, second: Any, like: Extent, part: Any) -> Any:
    """Return the model nearest to both, with weights 1 − part and part."""
    return first.maximize(first.own_statistics(like.scale(1 - part)).merge(second.own_statistics(like.scale(part))))
