"""Where a column is drawn: points of a curve, bars of whole numbers, or a bar for each word."""

from typing import NamedTuple

import numpy as np

from kullback.report._columns import Column

#: Bars of a picture, points of a curve, and whole numbers of a bar at which its probability is looked at.
MOST_BARS, _POINTS, _LOOKS = 40, 300, 64


class Grid(NamedTuple):
    """Points `x` at which a column is drawn.

    A bar stands for `width` whole numbers, from `first` of them on; a curve has the width 0. `labels` are the words at
    the bars of a column of words.
    """

    x: np.ndarray
    width: int = 0
    first: np.ndarray = np.zeros(0)
    labels: tuple[str, ...] = ()

    def densities(self, column: Column) -> np.ndarray:
        """Return the density of each component at the points, or its probability of each bar."""
        if not self.width:
            return column.density(self.x)
        looks = np.unique(np.linspace(0, self.width - 1, min(self.width, _LOOKS)).round())
        found = column.density((self.first[:, None] + looks).ravel())
        return found.reshape(len(found), len(self.first), len(looks)).mean(axis=2) * self.width

    def bar_positions(self, values: np.ndarray | None) -> np.ndarray | None:
        """Return values as they are drawn: the places of their bars, or a place beside all bars; or as they are."""
        if values is None or not self.width:
            return values
        place = np.searchsorted(self.first, values, side="right") - 1
        there = (place >= 0) & (values < self.first[place] + self.width)
        return np.where(there, self.x[place], self.x[0] - self.width)


def grid(column: Column, weights: np.ndarray, values: np.ndarray | None) -> Grid:
    """Return where a column of components with these weights is drawn, and these values of it."""
    if column.categories:
        return _of_words(column, weights)
    low, high = column.marginal.span
    seen = np.zeros(0) if values is None else values
    if column.marginal.discrete:
        if len(seen):
            low, high = min(low, seen.min()), max(high, seen.max())
        return _of_whole_numbers(float(np.floor(low)), float(np.ceil(high)))
    if len(seen) and not column.marginal.angle:
        room = 0.05 * (seen.max() - seen.min())
        low, high = min(low, seen.min() - room), max(high, seen.max() + room)
    return Grid(np.linspace(low, high, _POINTS))


def _of_whole_numbers(low: float, high: float) -> Grid:
    width = max(int(np.ceil((high - low + 1) / MOST_BARS)), 1)
    first = np.arange(low, high + 1, width)
    return Grid(first + (width - 1) / 2, width, first)


def _of_words(column: Column, weights: np.ndarray) -> Grid:
    """Return a bar for each word; of too many, for the commonest."""
    codes = np.arange(len(column.categories), dtype=float)
    share = weights @ column.density(codes)
    codes = np.sort(np.argsort(-share, kind="stable")[:MOST_BARS]).astype(float)
    return Grid(np.arange(len(codes), dtype=float), 1, codes, tuple(column.categories[int(code)] for code in codes))
