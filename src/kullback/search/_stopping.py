"""When a run is over, and which rule says so."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: What each rule means, for people: of these, the first five end a run, after which the next one may begin.
SENTENCES = {
    "flat": "the values no longer change",
    "small steps": "the steps have become too small to matter",
    "condition": "the covariance has become too narrow for its numbers",
    "stagnation": "the values have not improved for long",
    "failed": "three populations have no point at which f has a value",
    "limit": "a short run has spent its share of evaluations",
    "target": "the target was reached",
    "budget": "the budget of evaluations is spent",
    "unbounded": "f has reached −∞",
    "callback": "the callback asked to stop",
    "exhausted": "every point has been evaluated",
}

#: Rules that say that a minimum, perhaps a local one, was found.
CONVERGED = ("flat", "small steps", "target", "unbounded")

#: So many populations without a value, one after the other, end a run.
FAILURES = 3
#: In units of the first scale, a step that is too small.
SMALL = 1e-11
#: A condition number that float64 cannot use.
NARROW = 1e14


class StoppingView(NamedTuple):
    """What the rules see after a generation: the run's best and median values so far, the last values in order, for how
    many generations they were level, and the distribution.
    """

    best: list[float]
    median: list[float]
    values: NDArray[np.float64]
    level: int
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    condition: float


def ending_rule(
    view: StoppingView, scale: NDArray[np.float64], whole: NDArray[np.bool_], tolerance: float
) -> str | None:
    """Return the rule that ends a run, None if it goes on. `whole` says which coordinates are integers."""
    n, m = len(scale), len(view.values)
    if has_failed(view):
        return "failed"
    if is_flat(view, n, m, tolerance, bool(whole.any())):
        return "flat"
    if not whole.all():
        spread, mean = view.spread[~whole], view.mean[~whole]
        if np.all(spread < SMALL * scale[~whole]) or np.any(mean == mean + 0.2 * spread):
            return "small steps"
    if view.condition > NARROW:
        return "condition"
    return "stagnation" if is_stagnant(view, n, m) else None


def has_failed(view: StoppingView) -> bool:
    """Say whether the last populations had no value at all."""
    return view.best[-FAILURES:] == [math.inf] * FAILURES


def is_flat(view: StoppingView, n: int, m: int, tolerance: float, integers: bool) -> bool:
    """Three quarters of the values are equal, twice; or the best values of the last 10 + 30n/m generations, and those
    of the last one, are within the tolerance and the precision of their numbers.
    """
    window = 10 + math.ceil(30 * n / m)
    # whole numbers are level while they wait for a better neighbor
    if view.level >= (window if integers else 2):
        return True
    if len(view.best) < 10 or not math.isfinite(view.values[0]):
        return False
    recent = view.best[-window:]
    least, most = min(recent), max(recent)
    allowed = tolerance + 2 * np.finfo(float).eps * abs(least)
    if most - least > allowed:
        return False
    return bool(most - least < 0.1 * allowed or view.values[-1] - view.values[0] <= allowed)


def is_stagnant(view: StoppingView, n: int, m: int) -> bool:
    """Medians of best and median values are no better than in as many generations before, and the best was long ago.

    The window is half of 100 + 100·n^1.5/m generations, or a tenth of all.
    """
    wait = 100 + 100 * n**1.5 / m
    generations = len(view.best)
    window = int(max(wait / 2, generations / 10))
    if generations <= max(2 * window, 500, n * (5 + 100 / m)):
        return False
    if min(view.best[-window:]) < min(view.best[:-window]):
        return False
    return all(
        np.median(values[-window:]) >= np.median(values[-2 * window : -window]) for values in (view.best, view.median)
    )


def is_level(values: NDArray[np.float64]) -> bool:
    """Say whether three quarters of the values, in order, are equal."""
    return bool(values[0] == values[3 * len(values) // 4] and math.isfinite(values[0]))
