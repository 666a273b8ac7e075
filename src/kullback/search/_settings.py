"""What both front doors are asked for, checked once: limits, restarts, the seed, and where a run is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from kullback.numerics import with_article
from kullback.search._restarts import check_restarts


class Settings(NamedTuple):
    """How long to search, with which restarts, and what is told to people and files on the way."""

    budget: int
    target: float
    seed: int
    restarts: str
    most_restarts: float
    callback: Callable[[OptimizeResult], Any] | None
    checkpoint: Path | None
    resume: bool
    verbose: bool
    tolerance: float = 0.0
    noisy: bool = False


def check_settings(
    needed: int,
    budget: Any,
    target: Any,
    seed: Any,
    restarts: Any,
    callback: Any,
    checkpoint: Any,
    resume: Any,
    verbose: Any,
) -> Settings:
    """Return the settings of a search whose first population takes so many evaluations; raise where they are bad."""
    limits = _check_budget(budget, needed), _check_target(target), _check_seed(seed), *check_restarts(restarts)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {with_article(type(callback).__name__)}: it must be a function.")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs checkpoint: the file to go on from.")
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory: there is no place for the checkpoint.")
    return Settings(*limits, callback, path, bool(resume), bool(verbose))


def _check_budget(budget: Any, needed: int) -> int:
    """Return how many evaluations there may be; raise unless they are enough for one population."""
    if not _is_whole(budget):
        raise ValueError(f"budget is {budget!r}: it must be a whole number of evaluations, {needed} or more.")
    if budget < needed:
        raise ValueError(f"budget is {budget!r}: one population takes {needed} evaluations, so give it that or more.")
    return int(budget)


def _check_target(target: Any) -> float:
    """Return the value that is small enough, −∞ for None; raise where it is none, or where every value is below it."""
    if target is None:
        return -np.inf
    if not is_number(target):
        raise ValueError(f"target is {target!r}: it must be a number, or None.")
    if target == np.inf:
        raise ValueError(
            "target is inf: every value is that small, so nothing would be searched; give a finite number, or None."
        )
    return float(target)


def _check_seed(seed: Any) -> int:
    """Return the seed; raise where it is none."""
    if not _is_whole(seed) or not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed!r}: it must be a whole number from 0 to 2⁶⁴ − 1.")
    return int(seed)


def is_number(value: Any) -> bool:
    """Say whether a value is a real number, perhaps an infinite one."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not np.isnan(value)


def _is_whole(value: Any) -> bool:
    return is_number(value) and np.isfinite(value) and value == int(value)
