"""What is called after every iteration of batch EM."""

import abc
from collections.abc import Callable
from typing import Any


class FitCallback(abc.ABC):
    """May end a fit after any iteration, keep what it has reached, and continue an earlier one.

    `set_callback` of an estimator takes it. `resume_from` is the model of an earlier fit, with the log-likelihoods of
    its iterations, or None. `stopped` says that the callback has ended the fit.
    """

    resume_from: tuple[Any, list[float]] | None = None
    stopped = False

    @abc.abstractmethod
    def step(self, snapshot: Callable[[], Any], history: list[float]) -> bool:
        """Return whether the fit ends here, after iterations with these log-likelihoods.

        `snapshot()` is a copy of the estimator as if the fit had ended here.
        """


class NoCallback(FitCallback):
    """Lets a fit go on to its end."""

    def step(self, snapshot: Callable[[], Any], history: list[float]) -> bool:
        """Return that it does not end here."""
        return False
