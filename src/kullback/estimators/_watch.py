"""Who looks on while batch EM climbs."""

import abc
from typing import Any


class Watch(abc.ABC):
    """May end a fit after any iteration, keep what it has reached, and hand over what an earlier one had reached.

    An estimator whose `_watch` it is asks it. `begun` is the model and the log-likelihoods of iterations that were made
    before, or None.
    """

    begun: tuple[Any, list[float]] | None = None
    ended = False

    @abc.abstractmethod
    def step(self, model: Any, history: list[float]) -> bool:
        """Look at the model after an iteration, and say whether to end here."""


class Nobody(Watch):
    """Lets a fit go on to its end."""

    def step(self, model: Any, history: list[float]) -> bool:
        """Say that it goes on."""
        return False
