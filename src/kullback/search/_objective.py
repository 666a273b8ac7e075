"""Asking f: at points or batches, here or elsewhere, and what its answers may be."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.numerics import with_article

#: The share by which two evaluations at one point may differ, on different machines.
SAME = 1e-6


class Failure(NamedTuple):
    """An answer that is none: f has raised."""

    reason: str


class Objective:
    """f, with a count of its evaluations and of those that failed.

    f raises or returns NaN where it has no value: the point counts as the worst. What is no number at all is an error.
    """

    def __init__(self, f: Any, vectorized: bool, map: Any):
        if not callable(f):
            raise TypeError(f"f is {with_article(type(f).__name__)}: it must be a function of a point.")
        if map is not None and not callable(map):
            raise TypeError(
                f"map is {with_article(type(map).__name__)}: it must be a function of f and points, such as pool.map."
            )
        if vectorized and map is not None:
            raise ValueError(
                "vectorized=True sends f all points at once, so map has nothing to do: give one of the two."
            )
        self._f, self._vectorized, self._map = f, vectorized, map
        self.evaluations = self.failed = 0
        self.last_failure = "it returned NaN"

    def values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each point, NaN where there is none."""
        values = self._batch(points) if self._vectorized else self._points(points)
        self.evaluations += len(points)
        self.failed += int(np.isnan(values).sum())
        return values

    def another_value(self, x: NDArray[np.float64], value: float, tolerance: float = 0.0) -> float | None:
        """Ask f once more at x, alone: return what it says where a map has said something else. It is not counted."""
        if self._map is None or not np.isfinite(value):
            return None
        alone = float(self._points(x[None])[0])
        return None if np.isclose(alone, value, rtol=SAME, atol=tolerance) else alone

    def _batch(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        answer = _try(self._f, points.copy())
        if isinstance(answer, Failure):
            self.last_failure = answer.reason
            return np.full(len(points), np.nan)
        values = _numbers(answer)
        if values.shape != (len(points),):
            raise ValueError(
                f"f returned shape {values.shape} for a batch of shape {points.shape}: "
                f"with vectorized=True it must return one value for each of the {len(points)} points."
            )
        return values

    def _points(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = [row.copy() for row in points]
        if self._map is None:
            answers: list[Any] = [_try(self._f, row) for row in rows]
        else:
            answers = map_rows(self._map, self._f, rows)
        return np.array([self._number(answer) for answer in answers])

    def _number(self, answer: Any) -> float:
        if type(answer) is float:
            return answer
        if isinstance(answer, Failure):
            self.last_failure = answer.reason
            return float("nan")
        value = _numbers(answer)
        if value.size != 1:
            raise ValueError(
                f"f returned shape {value.shape} for one point: it must return one number; "
                f"if it takes a batch of points, pass vectorized=True."
            )
        return float(value.reshape(()))


def map_rows(map: Callable[..., Iterable[Any]], f: Callable[..., Any], rows: list[Any]) -> list[Any]:
    """Return the answers of f for all rows by a map; where it returns futures, wait for them."""
    answers = [
        answer.result() if hasattr(answer, "result") else answer for answer in map(functools.partial(_try, f), rows)
    ]
    if len(answers) != len(rows):
        raise ValueError(f"map returned {len(answers)} answers for {len(rows)} points: it must return one for each.")
    return answers


def _try(f: Callable[..., Any], at: NDArray[np.float64]) -> Any:
    """Return f(at), or why there is none: what one worker raises must not end the run."""
    try:
        return f(at)
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}")


def _numbers(answer: Any) -> NDArray[np.float64]:
    """Return real numbers; raise at anything else."""
    try:
        found = np.asarray(answer)
    except Exception:
        found = np.asarray(None)
    if found.dtype.kind not in "fiub" and found.dtype.name != "bfloat16":
        raise TypeError(f"f returned {_show(answer)}: it must return a real number for each point.")
    return found.astype(float)


def _show(answer: Any) -> str:
    text = repr(answer)
    return f"{text if len(text) < 60 else text[:57] + '…'} ({type(answer).__name__})"
