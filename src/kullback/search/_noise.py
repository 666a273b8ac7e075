"""A noisy f: how many evaluations each point needs, from how ranks change when points are evaluated again."""

import math

import numpy as np
from numpy.typing import NDArray

#: Of the change of ranks that pure chance would make: with more than this, points are evaluated more often.
TOLERATED = 0.25


def second_count(population: int) -> int:
    """Return how many points of a population are evaluated a second time."""
    return max(2, population // 5)


def rank_change(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return how much the ranks of the first len(second) values change when their second values take their place.

    The mean change, over (m − 1)/3, which it is for m values that are nothing but noise.

    >>> rank_change(np.array([3.0, 1.0, 2.0, 4.0]), np.array([3.1, 1.2]))
    0.0
    """
    m, chosen = len(first), first[: len(second)]
    ordered = np.sort(first)
    # of the others: the value that is replaced is not among those below
    below = np.searchsorted(ordered, second) - (chosen < second)
    change = float(np.abs(below - np.searchsorted(ordered, chosen)).sum())
    return change / len(second) / ((m - 1) / 3)


def next_repeats(repeats: float, change: float, most: float) -> float:
    """Return how often points are to be evaluated: more often while ranks change too much, less often when not."""
    return float(min(max(repeats * math.exp(0.3 * min(change - TOLERATED, 0.75)), 1.0), most))
