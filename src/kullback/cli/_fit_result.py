"""What a fit prints when it has ended."""

from pathlib import Path
from typing import Any

from kullback.cli._fit_method import Method
from kullback.cli._messages import count, print_answer, write_json
from kullback.cli._online_fit import Outcome
from kullback.cli._pairs import has_targets
from kullback.estimators import REGISTRY


def print_result(
    estimator: Any, outcome: Outcome, method: Method, passes: int, save: Path, seconds: float, as_json: bool
) -> None:
    """Print what was fitted to how many rows, how, and where the model is."""
    rows, kind = outcome.progress.rows, type(estimator).__name__
    if as_json:
        named = "batch" if method is Method.em and (has_targets(estimator) or _has_epochs(estimator)) else str(method)
        facts = {"kind": kind, "saved": str(save), "done": outcome.progress.done, "method": named, "rows": rows}
        facts |= {"bad_rows": outcome.bad_rows, "log_likelihood": float(estimator.lower_bound_)}
        write_json({**facts, "seconds": round(seconds, 3)})
        return
    left_out = f", {count(outcome.bad_rows, 'bad row')} left out" if outcome.bad_rows else ""
    how = _how(estimator, method, passes)
    print_answer(f"{kind} of {count(rows, 'row')}{left_out}, {how}, {seconds:.1f} s: {save}")


#: What the iterations of a model of targets are, and what they are called.
_OF_TARGETS = {
    "linear": ("Fisher scoring", "iteration"),
    "network": ("a network", "epoch"),
    "trees": ("boosted trees", "round"),
}


def _how(estimator: Any, method: Method, passes: int) -> str:
    if has_targets(estimator):
        how, each = _OF_TARGETS[estimator.method]
        if method is Method.em:
            end = f"converged after {count(estimator.n_iter_, each)}"
            return f"{how}, {end if estimator.converged_ else count(estimator.n_iter_, each) + ', not converged'}"
        return f"{how} online, {count(passes, 'pass', 'passes')}"
    if REGISTRY[type(estimator).__name__].capabilities.streams_only:
        return f"online, {count(passes, 'pass', 'passes')}"
    if _has_epochs(estimator):
        epochs = count(estimator.n_iter_, "epoch") if method is Method.em else count(passes, "pass", "passes")
        if method is not Method.em:
            return f"online, {epochs}"
        return f"converged after {epochs}" if estimator.converged_ else f"{epochs}, not converged"
    if method is Method.em:
        steps = count(estimator.n_iter_, "iteration")
        return f"batch EM, converged after {steps}" if estimator.converged_ else f"batch EM, {steps}, not converged"
    return f"online EM, {count(passes, 'pass', 'passes')}"


def _has_epochs(estimator: Any) -> bool:
    return REGISTRY[type(estimator).__name__].capabilities.has_epochs
