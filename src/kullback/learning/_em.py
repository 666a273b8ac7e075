"""Batch EM: the model nearest to the data points."""

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp

from kullback.core import Batch, Statistics
from kullback.learning._adaptive_jit import adaptive_jit
from kullback.learning._alternation import alternate
from kullback.learning._data import AllAtOnce
from kullback.learning._learner import AT_ONCE, Clock, ClosedFormT, Gathered, Learner, Scalar, StepInfo
from kullback.learning._step import gather, move


class StatisticsLearner(Learner[ClosedFormT, None, None, Statistics]):
    """A learner whose message is the expected statistics of the data."""

    draws_at_random = False

    def gather(
        self, model: ClosedFormT, state: None, memory: None, batch: Batch, clock: Clock
    ) -> Gathered[Statistics, None]:
        """E-step: the statistics under the posterior of the model."""
        return Gathered(self.expect(model, batch), None)

    def expect(self, model: ClosedFormT, batch: Batch) -> Statistics:
        """Return what the posterior of the model says of a batch: the half of EM that discriminates."""
        statistics: Statistics = model.expected_statistics(batch)[0]
        return statistics


class EM(StatisticsLearner[ClosedFormT]):
    """The model nearest to the data points, each taken with its posterior under the old model.

    Batches hold whole sequences, so nothing is carried from one to the next. A prior enters each model that is made,
    and never the statistics.
    """

    prior: Any = None

    def move(
        self, model: ClosedFormT, state: None, message: Statistics, clock: Clock
    ) -> tuple[ClosedFormT, None, StepInfo]:
        """M-step: the model with these statistics."""
        return model.maximize(message, self.prior), None, info_of(message)

    def nearest(self, model: ClosedFormT, message: Statistics) -> tuple[ClosedFormT, Scalar]:
        """Return the model with these statistics, and what the old one was worth: the half of EM that generates."""
        moved, _, info = self.move(model, None, message, AT_ONCE)
        return moved, info.value


def info_of(statistics: Statistics) -> StepInfo:
    """Read the average log-likelihood off the statistics of the data: no second pass is needed."""
    mass = jnp.asarray(statistics.mass)
    return StepInfo(jnp.where(mass > 0, statistics.log_likelihood / jnp.where(mass > 0, mass, 1), 0), mass)


def em_step(model: ClosedFormT, batches: Batch | Iterable[Batch], prior: Any = None) -> tuple[ClosedFormT, StepInfo]:
    """Return the model nearest to all points of the batches, each taken with its posterior under the old model."""
    learner: EM[ClosedFormT] = EM(prior)
    message, _ = AllAtOnce(batches).gather(learner, model, None, (None,), AT_ONCE)
    moved, _, info = move(model, message, learner, None, AT_ONCE)
    return moved, info


def e_step(model: ClosedFormT, batch: Batch) -> Statistics:
    """Return what the data says: its expected statistics."""
    learner: EM[ClosedFormT] = EM()
    return gather(model, batch, learner, None, None, AT_ONCE)[0]


@adaptive_jit
def m_step(model: ClosedFormT, statistics: Statistics, prior: Any = None) -> ClosedFormT:
    """Return the model with these statistics."""
    return model.maximize(statistics, prior)


def em(
    model: ClosedFormT, batch: Batch, steps: int = 100, tolerance: float = 1e-3, prior: Any = None
) -> tuple[ClosedFormT, list[float]]:
    """Move to the model nearest to the data until its log-likelihood gains less than `tolerance` nats per point.

    It is `alternate` with the posterior for one half and the nearest model for the other. Returns the model, and the
    average log-likelihood before each step. Without a prior it never falls.

    >>> from kullback.families import Poisson
    >>> from kullback.models import Mixture
    >>> start = Mixture(weights=[0.5, 0.5], components=Poisson(rate=[1.0, 9.0]))
    >>> model, history = em(start, Batch([0, 1, 2, 1, 11, 13, 12, 0]))
    >>> [round(float(rate)) for rate in model.components.rate]
    [1, 12]
    """
    learner: EM[ClosedFormT] = EM(prior)
    return alternate(learner.expect, learner.nearest, model, batch, steps, tolerance)
