"""How far a fit of a hidden Markov model has come, as hmmlearn tells it."""

import sys
from collections import deque
from typing import Any

import numpy as np

from kullback.learning import CONVERGED, LIMIT, Bounds, Entry, Verdict


class ConvergenceMonitor:
    """The log-likelihoods of a fit, and whether it is done. A subclass may say otherwise when that is.

    >>> monitor = ConvergenceMonitor(tol=0.1, n_iter=10, verbose=False)
    >>> for log_prob in (-30.0, -20.0, -19.99):
    ...     monitor.report(log_prob)
    >>> monitor.iter, monitor.converged
    (3, True)
    """

    def __init__(self, tol: float, n_iter: int, verbose: bool):
        self.tol, self.n_iter, self.verbose = tol, n_iter, verbose
        self.history: deque[float] = deque()
        self.iter = 0

    def _reset(self) -> None:
        self.iter = 0
        self.history.clear()

    def report(self, log_prob: float) -> None:
        """Take the log-likelihood that one more step has met."""
        if self.verbose:
            gain = log_prob - self.history[-1] if self.history else np.nan
            print(f"{self.iter + 1:>10d} {log_prob:>16.8f} {gain:>+16.8f}", file=sys.stderr)
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """Whether the last step gained less than `tol`, or there are no more steps."""
        little = len(self.history) >= 2 and self.history[-1] - self.history[-2] < self.tol
        return self.iter == self.n_iter or little

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(history={list(self.history)}, iter={self.iter}, n_iter={self.n_iter}, "
            f"tol={self.tol}, verbose={self.verbose})"
        )


class MonitorRule:
    """Ends a fit when a monitor says so, which sees log-likelihoods of all rows, or after `most` steps."""

    every_step = True

    def __init__(self, monitor: ConvergenceMonitor, mass: float, most: int, done: int):
        self._monitor, self._mass, self._most, self._done = monitor, mass, most, done

    def init(self) -> Any:
        """Return the number of steps that were taken before."""
        return {"steps": self._done}

    def update(self, state: Any, entry: Entry) -> Verdict:
        """Tell the monitor of a step."""
        steps = state["steps"] + 1
        self._monitor.report(entry.value * self._mass)
        if steps == self._most:
            return Verdict({"steps": steps}, LIMIT)
        return Verdict({"steps": steps}, CONVERGED if self._monitor.converged else None)

    def bounds(self, state: Any) -> Bounds | None:
        """Return the monitor's tolerance, if it is one of ours and prints nothing, and the steps that are left."""
        monitor = self._monitor
        if type(monitor) is not ConvergenceMonitor or monitor.verbose:
            return None
        before = monitor.history[-1] / self._mass if monitor.history else None
        left = min(self._most - state["steps"], max(monitor.n_iter - monitor.iter, 1))
        return Bounds.of(before, monitor.tol, left, scale=self._mass)
