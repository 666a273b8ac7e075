"""Online EM: the model nearest to the current one (the inertia) and to the points of a new batch."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from kullback.core import Batch, Statistics
from kullback.learning._averaged import Averaged
from kullback.learning._data import Stream, gather_in_turn
from kullback.learning._em import info_of
from kullback.learning._fit import begin, fit
from kullback.learning._learner import (
    AT_ONCE,
    Clock,
    ClosedFormT,
    Gathered,
    Key,
    Learner,
    Scalar,
    Start,
    StepInfo,
    as_number,
)
from kullback.learning._rules import Epochs
from kullback.learning._step import move, step
from kullback.numerics import Numeric


class DecayingRate(eqx.Module):
    """The schedule γ_t = (t + offset)^−exponent."""

    exponent: Numeric
    offset: Numeric

    def __call__(self, step: Scalar) -> Numeric:
        """Return the rate of step t = 0, 1, …"""
        return (step + self.offset) ** -self.exponent


#: A number, a schedule, or a function of the step.
Rate: TypeAlias = "Scalar | DecayingRate | Callable[[int], float]"


class Pull(NamedTuple):
    """What moves a model online: the statistics of the data, and what the model itself says of as much of it."""

    data: Statistics
    inertia: Statistics


class OnlineEM(Learner[ClosedFormT, None, object, Pull]):
    """The model nearest to the current one, with weight 1 − rate, and to the batch, with weight rate.

    Rate 1 is batch EM; rate 0 stays. `rate` is a number, a `DecayingRate` of the step, or a Python function of it, with
    which steps are taken one at a time. The memory of a stream is what models with time carry on; the inertia starts
    from there as well. With `standardize` a model that has a quick kernel tries it in the scale in which it expects the
    data itself.
    """

    draws_at_random = False

    rate: Rate = eqx.field(converter=as_number)
    prior: Any = None
    standardize: bool = eqx.field(static=True, default=False)

    def memory(self, model: ClosedFormT, start: Start, key: Key) -> object:
        """Return what a stream carries before its first batch."""
        return model.blank_carry()

    def gather(
        self, model: ClosedFormT, state: None, memory: object, batch: Batch, clock: Clock
    ) -> Gathered[Pull, object]:
        """Return what the batch says, and what the model says of as much data."""
        batch, sound = model.standardized(batch) if self.standardize else (batch, True)
        data, carried = model.expected_statistics(batch, memory)
        inertia = model.own_statistics(batch.extent.after(memory))
        return Gathered(Pull(data, inertia), carried, sound)

    def move(self, model: ClosedFormT, state: None, message: Pull, clock: Clock) -> tuple[ClosedFormT, None, StepInfo]:
        """Return the model nearest to both."""
        data, inertia = message
        rate: Any = self.rate(clock.step) if isinstance(self.rate, DecayingRate) else self.rate
        moved = model.maximize(inertia.scale(1 - rate).merge(data.scale(rate)), self.prior)
        return moved, None, info_of(data)

    def at(self, step: int, points: float) -> tuple[Self, int | None]:
        """Ask a function of the user's for the rate of the next step."""
        if isinstance(self.rate, DecayingRate) or not callable(self.rate):
            return self, None
        return type(self)(float(self.rate(step)), self.prior, self.standardize), 1


def decaying_rate(exponent: float = 0.6, offset: float = 1.0) -> DecayingRate:
    """Return the schedule γ_t = (t + offset)^−exponent for t = 0, 1, …; it converges for 0.5 < exponent ≤ 1."""
    if not 0.5 < exponent <= 1:
        raise ValueError(f"exponent is {exponent}: it must be in (0.5, 1].")
    if not offset >= 1:
        raise ValueError(f"offset is {offset}: it must be 1 or more, so that no rate exceeds 1.")
    return DecayingRate(np.asarray(float(exponent)), np.asarray(float(offset)))


def online_em_step(
    model: ClosedFormT, batches: Batch | Iterable[Batch], rate: Scalar, prior: Any = None, carry: object = None
) -> tuple[ClosedFormT, Any, StepInfo]:
    """Return the model nearest to the current one, with weight 1 − rate, and to the batch, with weight rate.

    Several batches are one step, towards all of them together; each continues the one before it. Returns the model,
    what the next batch carries on, and what is to be seen of the step.
    """
    learner: OnlineEM[ClosedFormT] = OnlineEM(jnp.asarray(rate), prior)
    if isinstance(batches, Batch):
        found = step(learner, model, None, carry, (batches,), AT_ONCE)
        return found.model, found.memory, found.info
    message, carried = gather_in_turn(batches, learner, model, None, carry, AT_ONCE)
    moved, _, info = move(model, message, learner, None, AT_ONCE)
    return moved, carried, info


def online_em(
    model: ClosedFormT,
    batches: Iterable[Batch],
    rate: float | Callable[[int], float] | None = None,
    average: bool = False,
) -> tuple[ClosedFormT, list[float]]:
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
    schedule = decaying_rate() if rate is None else rate
    learner: Learner[ClosedFormT, Any, object, Any] = Averaged(OnlineEM(schedule)) if average else OnlineEM(schedule)
    data, rule = Stream.of(batches), Epochs(1)
    history: list[StepInfo] = []
    place, _ = fit(learner, begin(learner, model, data, rule), data, rule, record=history.extend)
    return learner.result(place.model, place.state), [float(info.value) for info in history]
