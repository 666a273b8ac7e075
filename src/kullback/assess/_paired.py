"""Candidates compared row by row: differences to the best with their standard errors, and the simplest that will do."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Mean(NamedTuple):
    """The mean of a number over rows, and its standard error: inf where a row is impossible, or where one is all."""

    value: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """About 95 %: two standard errors (1.96) to both sides."""
        return self.value - 1.96 * self.standard_error, self.value + 1.96 * self.standard_error

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


def mean_of(scores: NDArray[np.float64]) -> Mean:
    """Return the mean of scores of rows.

    >>> print(mean_of(np.array([-1.0, -2.0, -3.0, -2.0])))
    -2 ± 0.41
    """
    value = float(np.mean(scores))
    known = math.isfinite(value) and len(scores) > 1
    return Mean(value, float(np.std(scores, ddof=1) / math.sqrt(len(scores))) if known else math.inf)


def gap(ahead: NDArray[np.float64], behind: NDArray[np.float64]) -> Mean:
    """Return how far the second is behind the first on the same rows, in nats per row.

    Rows that are hard are hard for both, so the error of the difference is that of the differences by row.

    >>> print(gap(np.array([-1.0, -5.0, -2.0]), np.array([-1.5, -5.5, -2.5])))
    0.5 ± 0
    """
    if not np.isfinite(behind).all():
        return Mean(0.0, 0.0) if ahead is behind else Mean(math.inf, math.inf)
    return mean_of(ahead - behind)


def is_level(behind: Mean) -> bool:
    """Say whether a candidate is within one standard error of the best."""
    return math.isfinite(behind.value) and behind.value <= behind.standard_error


def choose_simplest(gaps: Sequence[Mean], complexities: Sequence[float | None]) -> int:
    """Return the place of the least complex candidate within one standard error of the best; of several the best.

    The best is the one whose gap is least. Where a complexity is not known it is returned.
    """
    best = min(range(len(gaps)), key=lambda place: gaps[place].value)
    level = [place for place, each in enumerate(gaps) if place == best or is_level(each)]
    known = {place: value for place in level if (value := complexities[place]) is not None}
    return min(level, key=lambda place: (known[place], gaps[place].value)) if len(known) == len(level) else best
