"""What a minimization has found, and its history."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

from kullback.search._restarts import Run
from kullback.search._stopping import CONVERGED, SENTENCES


class History(NamedTuple):
    """A number for each generation, in seven arrays.

    `evaluations` so far; the least value (`best`) and the median one of the generation; the largest standard deviation
    of a coordinate (`spread`) and the `condition` number after it; how often each point was evaluated (`repeats`); and
    which `run` it belongs to, 0 before the first restart.
    """

    evaluations: NDArray[np.int64]
    best: NDArray[np.float64]
    median: NDArray[np.float64]
    spread: NDArray[np.float64]
    condition: NDArray[np.float64]
    repeats: NDArray[np.int64]
    run: NDArray[np.int64]


def called_off(
    callback: Callable[[OptimizeResult], Any],
    x: NDArray[np.float64],
    value: float,
    evaluations: int,
    populations: int,
    restarts: int,
) -> bool:
    """Show a person how far it is, and say whether that is enough: the answer is True, or StopIteration."""
    seen = OptimizeResult(x=x.copy(), fun=value, nfev=evaluations, nit=populations, restarts=restarts)
    try:
        return callback(seen) is True
    except StopIteration:
        return True


def disputed(result: OptimizeResult, alone: float) -> OptimizeResult:
    """Return a result whose value is not the one that f has at x alone, with that value; warn and say why."""
    told = (
        f"f is {alone:g} at x, where map has said {result.fun:g}: "
        f"map must return values in the order of the points, and an f with noise needs noisy=True."
    )
    warnings.warn(told, RuntimeWarning, stacklevel=4)
    result.update(fun=alone, success=False, message=f"{result.message} But {told}")
    return result


def made_result(
    x: NDArray[np.float64],
    value: float,
    stopped: str,
    history: History,
    runs: list[Run],
    target: float,
    distribution: Any,
    evaluations: int,
    failed: int,
    reason: str,
) -> OptimizeResult:
    """Return it as SciPy does. It is a success where the target was reached, or a run has converged."""
    sentence = SENTENCES[stopped]
    if stopped == "failed" or not np.isfinite(value):
        widest = max((run.shrink for run in runs), default=1.0)
        sentence += f", also with steps {widest:g} times as long" if widest > 1 else ""
        sentence += f"; the last time, {reason}" if failed else ""
    elif len(runs) > 1:
        sentence += f", after {len(runs) - 1} restart{'s' if len(runs) > 2 else ''}"
    reached = value <= target if target > -np.inf else any(run.stopped in CONVERGED for run in runs)
    return OptimizeResult(
        x=x,
        fun=value,
        nfev=evaluations,
        nit=len(history.run),
        success=bool(value < np.inf and reached),
        status=list(SENTENCES).index(stopped),
        message=sentence[0].upper() + sentence[1:] + ".",
        stopped=stopped,
        restarts=max(len(runs) - 1, 0),
        runs=tuple(runs),
        nfailed=failed,
        history=history,
        distribution=distribution,
    )
