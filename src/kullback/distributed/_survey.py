"""What a first pass over the blocks tells: how many rows there are, and where they lie."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_array

from kullback.core import Standardization
from kullback.distributed._parts import rows_that_count

#: Rows that are looked at at once.
CHUNK = 32_768


class Survey(NamedTuple):
    """Rows of each block, and of each column what is there of it: its mass, mean, spread and range."""

    rows: tuple[int, ...]
    mass: float
    seen: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def merge(self, other: Self) -> "Survey":
        """Return the survey of both, one after the other."""
        seen = self.seen + other.seen
        part = other.seen / np.where(seen > 0, seen, 1)
        apart = other.mean - self.mean
        return Survey(
            self.rows + other.rows,
            self.mass + other.mass,
            seen,
            self.mean + part * apart,
            self.square + other.square + self.seen * part * np.square(apart),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def standardization(self) -> Standardization:
        """Where the data lies."""
        spread = np.sqrt(self.square / np.where(self.seen > 0, self.seen, 1))
        return Standardization(self.mean, np.where(spread > 0, spread, 1.0))

    @property
    def radius(self) -> float:
        """A bound on how far from its center the data reaches, in units of its scale: the corner of its range."""
        at = self.standardization
        with np.errstate(over="ignore", invalid="ignore"):  # a radius that is not finite says that it is too far
            away = np.maximum(self.high - at.center, at.center - self.low) / at.scale
            return float(np.linalg.norm(away))


def survey_block(table: Any, weight: Any) -> Survey:
    """Look at one block."""
    table, weight = rows_that_count(table, weight)
    X = check_array(table, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", ensure_min_samples=0)
    if weight is None:
        weight = np.ones(len(X))
    none = np.zeros(X.shape[1])
    total = Survey((), 0.0, none, none, none, none + np.inf, none - np.inf)
    for start in range(0, len(X), CHUNK):
        here = slice(start, start + CHUNK)
        total = total.merge(_of_chunk(np.asarray(X[here], dtype=np.float64), weight[here]))
    return total._replace(rows=(len(X),))


def _of_chunk(X: np.ndarray, weight: np.ndarray) -> Survey:
    there = ~np.isnan(X)
    mass = there * weight[:, None]
    seen, filled = mass.sum(axis=0), np.where(there, X, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.sum(mass * filled, axis=0) / np.where(seen > 0, seen, 1)
        square = np.sum(mass * np.square(filled - mean), axis=0)
    low, high = np.where(there, X, np.inf).min(axis=0), np.where(there, X, -np.inf).max(axis=0)
    return Survey((), float(weight.sum()), seen, mean, square, low, high)


def merge_surveys(one: Survey, other: Survey) -> Survey:
    """Return the survey of both."""
    if len(one.seen) != len(other.seen):
        raise ValueError(f"X has blocks of {len(one.seen)} and of {len(other.seen)} columns: all must be alike.")
    return one.merge(other)
