"""Losses of single rows, and what two models differ by: paired, with a standard error."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from kullback.assess._paired import Mean


@dataclasses.dataclass(frozen=True)
class RowLosses:
    """A loss for each row (or sequence), in nats, and how often each counts."""

    rows: Float[np.ndarray, " rows"]
    weight: Float[np.ndarray, " rows"]
    #: How many parameters the correction for the data's double use amounts to, where there is one.
    effective_parameters: float | None = None

    @property
    def mean(self) -> float:
        """Nats per row."""
        return float(np.sum(self.weight * self.rows) / np.sum(self.weight))

    @property
    def standard_error(self) -> float:
        """That of the mean, for rows that are independent."""
        total = np.sum(self.weight)
        return float(np.sqrt(np.sum(self.weight * np.square(self.rows - self.mean)) / total / max(total - 1, 1)))


def as_weight(weight: Any, rows: int) -> Float[np.ndarray, " rows"]:
    """Return how often each row counts, once where nothing is given; raise where that cannot be."""
    found = np.ones(rows) if weight is None else np.asarray(weight, np.float64)
    if found.shape != (rows,):
        raise ValueError(f"weight has shape {found.shape}: each of the {rows} rows needs one.")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise ValueError(
            "weight has entries that are negative or not finite, or is 0 everywhere: rows count 0 times or more."
        )
    return found


def paired_difference(one: Any, other: Any, weight: Any = None) -> Mean:
    """Return the mean difference of two losses of the same rows, with its standard error.

    Rows that are hard are hard for both: the difference is known far better than either.

    >>> difference = paired_difference([1.0, 5.0, 9.0], [0.5, 4.5, 8.5])
    >>> difference.value, difference.standard_error
    (0.5, 0.0)
    """
    first, second = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"losses have shapes {first.shape} and {second.shape}: they must be of the same rows.")
    if first.size < 2:
        raise ValueError(f"there is {first.size} row: a difference needs two or more.")
    if not (np.all(np.isfinite(first)) and np.all(np.isfinite(second))):
        raise ValueError("losses are not all finite: leave such rows out of both.")
    found = RowLosses(first - second, as_weight(weight, len(first)))
    return Mean(found.mean, found.standard_error)
