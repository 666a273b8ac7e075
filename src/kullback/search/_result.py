"""What a minimization has found, as SciPy says it."""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from kullback.search._restarts import Run
from kullback.search._run_state import RunState
from kullback.search._stopping import CONVERGED, SENTENCES


def correct_value(result: OptimizeResult, alone: float) -> OptimizeResult:
    """Return a result whose value is not the one that f has at x alone, with that value; warn and say why."""
    reason = (
        f"f is {alone:g} at x, where map has said {result.fun:g}: "
        f"map must return values in the order of the points, and an f with noise needs noisy=True."
    )
    warnings.warn(reason, RuntimeWarning, stacklevel=4)
    result.update(fun=alone, success=False, message=f"{result.message} But {reason}")
    return result


def make_result(state: RunState, runs: list[Run], target: float, distribution: Any, failure: str) -> OptimizeResult:
    """Return it as SciPy does. It is a success where the target was reached, or a run has converged."""
    reached = state.value <= target if target > -np.inf else any(run.stopped in CONVERGED for run in runs)
    sentence = SENTENCES[state.stopped] + _details(state, runs, failure)
    return OptimizeResult(
        x=state.x,
        fun=state.value,
        nfev=state.evaluations,
        nit=len(state.history),
        success=bool(state.value < np.inf and (reached or state.stopped == "exhausted")),
        status=list(SENTENCES).index(state.stopped),
        message=sentence[0].upper() + sentence[1:] + ".",
        stopped=state.stopped,
        restarts=max(len(runs) - 1, 0),
        runs=tuple(runs),
        nfailed=state.failed,
        history=state.table(),
        distribution=distribution,
    )


def _details(state: RunState, runs: list[Run], failure: str) -> str:
    """Return what follows a sentence: why f has no value, or how many restarts there were."""
    if state.stopped == "exhausted":
        return ""
    if state.stopped == "failed" or not np.isfinite(state.value):
        widest = max((run.shrink for run in runs), default=1.0)
        wider = f", also with steps {widest:g} times as long" if widest > 1 else ""
        return wider + (f"; the last time, {failure}" if state.failed else "")
    return f", after {len(runs) - 1} restart{'s' if len(runs) > 2 else ''}" if len(runs) > 1 else ""
