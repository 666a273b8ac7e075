"""What ends a search from outside, and its seed: checked once, for points and for spins."""

from typing import Any

import numpy as np


def checked_budget(budget: Any, needed: int) -> int:
    """Return how many evaluations there may be; raise unless they are enough for one population."""
    if not is_whole(budget):
        raise ValueError(f"budget is {budget!r}: it must be a whole number of evaluations, {needed} or more.")
    if budget < needed:
        raise ValueError(f"budget is {budget!r}: one population takes {needed} evaluations, so give it that or more.")
    return int(budget)


def checked_target(target: Any) -> float:
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


def checked_seed(seed: Any) -> int:
    """Return the seed; raise where it is none."""
    if not is_whole(seed) or not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed!r}: it must be a whole number from 0 to 2⁶⁴ − 1.")
    return int(seed)


def is_number(value: Any) -> bool:
    """Say whether a value is a real number, perhaps an infinite one."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not np.isnan(value)


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number, of whichever type."""
    return is_number(value) and np.isfinite(value) and value == int(value)
