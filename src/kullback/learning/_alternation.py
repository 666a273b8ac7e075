"""Variational inference as one alternation: the best guess of what is hidden, then the best model for it."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax.numpy as jnp

from kullback.core import Batch
from kullback.learning._data import AllAtOnce
from kullback.learning._fit import begin, fit
from kullback.learning._learner import Clock, Gathered, Learner, Mergeable, ModelT, Scalar, StepInfo
from kullback.learning._rules import GainBelow

GuessT = TypeVar("GuessT", bound=Mergeable)


class Alternation(Learner[ModelT, None, None, GuessT]):
    """Two halves in turn: `discriminate(model, batch)`, a message, and `generate(model, message)`, a model and a value.

    Both are functions of a module, or modules that can be called, whose numbers are arrays.
    """

    discriminate: Callable[[ModelT, Batch], GuessT]
    generate: Callable[[ModelT, GuessT], tuple[ModelT, Scalar]]

    draws_at_random = False

    def gather(self, model: ModelT, state: None, memory: None, batch: Batch, clock: Clock) -> Gathered[GuessT, None]:
        """Take the first half."""
        return Gathered(self.discriminate(model, batch), None)

    def move(self, model: ModelT, state: None, message: GuessT, clock: Clock) -> tuple[ModelT, None, StepInfo]:
        """Take the second half."""
        moved, value = self.generate(model, message)
        return moved, None, StepInfo(value, jnp.asarray(message.mass))


def alternate(
    discriminate: Callable[[ModelT, Batch], GuessT],
    generate: Callable[[ModelT, GuessT], tuple[ModelT, Scalar]],
    model: ModelT,
    batches: Batch | Iterable[Batch],
    steps: int = 100,
    tolerance: float = 1e-3,
) -> tuple[ModelT, list[float]]:
    """Lower I(Z, X) = D(q(z | x) q(x), p(z, x)) in turn over q(z | x), with p fixed, and over p, with q fixed.

    It bounds D(q(x), p(x)) from above, and never rises, whatever q(z | x) and p are allowed to be. With no bounds on
    either the halves are the posterior and the nearest model, and this is EM; where q may be some only it is
    variational inference. Where what is hidden is the parameter w itself, and p(w) is what is learned, the second half
    makes the posterior the prior: for one x, and one step, that is Bayes's rule. To take more steps with the same x is
    to count it again, prior·likelihood², …, which leads to the maximum of the likelihood, and with all of q(x) in a
    batch to that of p(w): so Bayes takes one step for each datum, and goes through them once.

    Parameters
    ----------
    discriminate : function of (model, batch)
        Returns a message: what the best q(z | x) says to a model, with its mass. Messages of batches merge.
    generate : function of (model, message)
        Returns the best model for it, and −I(Z, X) of the old one, up to a constant of the data, in nats per point.
    model : Model
        The p to begin with.
    batches : Batch, or several
        The data; weights of rows may be those of a known q(x).
    steps, tolerance : int, float
        It ends after so many steps, or when the value gains less than the tolerance.

    Returns
    -------
    The model, and the value before each step.

    """
    if steps < 1:
        return model, []
    learner: Alternation[ModelT, GuessT] = Alternation(discriminate, generate)
    data, rule = AllAtOnce(batches), GainBelow(tolerance, steps)
    history: list[Any] = []
    place, _ = fit(learner, begin(learner, model, data, rule), data, rule, record=history.extend)
    return place.model, [float(info.value) for info in history]
