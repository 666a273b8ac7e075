"""Who looks on while batch EM climbs."""

from typing import Any


class Watch:
    """May end a fit after any iteration, keep what it has reached, and hand over what an earlier one had reached.

    An estimator whose `_watch` it is asks it. `begun` is the model and the log-likelihoods of iterations that were made
    before, or None.
    """

    begun: tuple[Any, list[float]] | None = None
    ended = False

    def step(self, model: Any, history: list[float]) -> bool:
        """Look at the model after an iteration, and say whether to end here."""
        return False
