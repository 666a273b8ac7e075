"""One line that says how far a fit has come."""

from typing import Any, Self

from tqdm.auto import tqdm


class Progress:
    """A bar for each start, with the average log-likelihood; nothing at all unless `verbose`."""

    def __init__(self, verbose: int, steps: int | None, unit: str = "steps"):
        self._verbose, self._steps, self._unit, self._bar = verbose, steps, unit, None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._close()

    def begin(self, start: int) -> None:
        """Begin a new bar."""
        self._close()
        if self._verbose:
            self._bar = tqdm(total=self._steps, desc=f"start {start + 1}", unit=f" {self._unit}", leave=True)

    def step(self, log_likelihood: float, gain: float | None = None) -> None:
        """Say what one more step has reached."""
        if self._bar is not None:
            more = "" if gain is None else f", gain {gain:.2g}"
            self._bar.set_postfix_str(f"{log_likelihood:.4f} nats per point{more}", refresh=False)
            self._bar.update()

    def end(self, converged: bool) -> None:
        """Say how a start has ended; the bar of one that has converged is full, however few steps it took."""
        if self._bar is not None:
            self._bar.set_description_str(f"{self._bar.desc} {'converged' if converged else 'ended'}", refresh=False)
            if converged:
                self._bar.total = self._bar.n
            self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
