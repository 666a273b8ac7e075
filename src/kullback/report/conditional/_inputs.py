"""Inputs as axes of pictures: where each one goes, while the others stay."""

from typing import NamedTuple

import numpy as np

from kullback.report._context import ReportContext
from kullback.report._text import clean, number, short

#: Points along an input, where inputs are many and where they are few; how many are few.
_POINTS, _FINE, _FEW = 48, 120, 3
#: Different values that are drawn apart, and categories of a picture, at most.
_APART, _CATEGORIES = 6, 12
#: What lies beyond the ends of an axis of many values, on both sides together, and how many are many.
_BEYOND, _MANY = 0.01, 200


class InputAxis(NamedTuple):
    """One input from end to end: its `values`, where they are drawn, and what is written there if they are `apart`."""

    place: int
    name: str
    values: np.ndarray
    x: np.ndarray
    labels: tuple[str, ...] = ()
    caption: str = ""

    @property
    def apart(self) -> bool:
        """Whether values have nothing between them: categories, true and false, a few numbers."""
        return bool(self.labels)

    def positions(self, values: np.ndarray) -> np.ndarray:
        """Return where values of rows are drawn; NaN for those that have no place."""
        if not self.apart:
            return values
        place = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return np.where(self.values[place] == values, self.x[place], np.nan)


def input_axis(context: ReportContext, place: int) -> InputAxis:
    """Return the axis of an input: over the values of the data, or around the mean of the fit without data."""
    name, words = context.names[place], context.categories[place]
    count = int(context.estimator.input_categories_[place])
    seen = np.zeros(0) if context.X is None else context.X[:, place]
    seen = seen[np.isfinite(seen)]
    if count:
        return _of_categories(place, name, count, words, seen)
    kinds = np.unique(seen)
    if 1 <= len(kinds) <= min(_APART, len(seen) / 2):
        return InputAxis(place, name, kinds, np.arange(len(kinds), dtype=float), tuple(number(kind) for kind in kinds))
    if len(kinds) > 1:
        low, high, caption = *axis_ends(seen), ""
        if low > kinds[0] or high < kinds[-1]:
            caption = f" From {number(low)} to {number(high)}, where 99 % of the values are."
    else:
        center, scale = _fitted(context, place)
        low, high, caption = center - 2 * scale, center + 2 * scale, ""
    values = np.linspace(low, high, _FINE if len(context.names) <= _FEW else _POINTS)
    return InputAxis(place, name, values, values, caption=caption)


def axis_ends(seen: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis of numbers: all of few ones, and most of many."""
    low, high = np.quantile(seen, (_BEYOND / 2, 1 - _BEYOND / 2))
    few = len(seen) < _MANY or low == high
    return (float(seen.min()), float(seen.max())) if few else (float(low), float(high))


def _of_categories(place: int, name: str, count: int, words: list[str] | None, seen: np.ndarray) -> InputAxis:
    codes, caption = np.arange(count), ""
    if count > _CATEGORIES:
        often = np.bincount(seen.astype(int), minlength=count)[:count]
        codes = np.sort(np.argsort(-often, kind="stable")[:_CATEGORIES])
        caption = f" The {_CATEGORIES} most common of {count:,} categories."
    known = words if words and len(words) >= count else [str(code) for code in range(count)]
    labels = tuple(short(clean(known[code]), 14) for code in codes)
    return InputAxis(place, name, codes.astype(float), np.arange(len(codes), dtype=float), labels, caption)


def reference_row(context: ReportContext) -> np.ndarray:
    """Return the row at which inputs stay: medians, and the most common categories; those of the fit without data."""
    row = np.zeros(len(context.names))
    for place, count in enumerate(context.estimator.input_categories_):
        seen = np.zeros(0) if context.X is None else context.X[:, place]
        seen = seen[np.isfinite(seen)]
        if count:
            row[place] = np.bincount(seen.astype(int)).argmax() if len(seen) else 0
        elif len(seen):
            row[place] = np.median(seen) if len(np.unique(seen)) > _APART else _most_common(seen)
        else:
            row[place] = _fitted(context, place)[0]
    return row


def _most_common(seen: np.ndarray) -> float:
    kinds, counts = np.unique(seen, return_counts=True)
    return float(kinds[counts.argmax()])


def _fitted(context: ReportContext, place: int) -> tuple[float, float]:
    """Return the mean and the spread of a number in the fit: each column of categories before it has its indicators."""
    categories = context.estimator.input_categories_
    column = int(np.sum(np.where(categories[:place] > 0, categories[:place] - 1, 1)))
    return float(context.estimator.input_center_[column]), float(context.estimator.input_scale_[column])
