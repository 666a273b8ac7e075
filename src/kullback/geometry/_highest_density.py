"""Highest-density sets {y : log p(y) ≥ t}: the smallest sets of a probability, in one piece or several.

The threshold t of a level comes from the density at draws of its own, or from calibration rows, whose coverage holds
whether or not the model is right (split conformal prediction).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Num
from numpy.typing import ArrayLike, NDArray

#: Halvings of the cell of a grid in which a set begins or ends.
_HALVINGS = 60


class Pieces(NamedTuple):
    """Sets of numbers, one to a row, as unions of closed intervals from `lower` to `upper`.

    A row has `counts` of them, in ascending order; where it has fewer than another row the entries that are left over
    are NaN.
    """

    lower: Float[np.ndarray, "rows pieces"]
    upper: Float[np.ndarray, "rows pieces"]
    counts: NDArray[np.int64]

    def contains(self, y: ArrayLike) -> NDArray[np.bool_]:
        """Return which of y, one to a row, lies in the set of its row."""
        y = np.asarray(y)[:, None]
        return np.any((self.lower <= y) & (y <= self.upper), axis=1)

    @property
    def length(self) -> Float[np.ndarray, " rows"]:
        """The total length of the intervals of each row."""
        return np.nansum(self.upper - self.lower, axis=1)

    def of_row(self, row: int) -> Float[np.ndarray, "pieces 2"]:
        """Return the intervals of one row."""
        several = slice(0, int(self.counts[row]))
        return np.stack([self.lower[row, several], self.upper[row, several]], axis=1)


def highest_density_threshold(own_log_prob: ArrayLike, level: float) -> Float[np.ndarray, "..."]:
    """Return the largest t for which at least a share `level` of draws has log p ≥ t.

    `own_log_prob` is log p at draws from p itself, along the first axis; other axes are distributions. Of n draws the
    coverage of the set has the standard error √(level(1 − level)/n).

    >>> from kullback.families import DiagonalGaussian
    >>> p = DiagonalGaussian([0.0], [1.0])
    >>> t = highest_density_threshold(p.log_prob(p.sample(0, 100_000)), 0.95)
    >>> round(float(np.sqrt(2 * (p.log_prob([0.0]) - t))), 2)  # how far the set reaches
    1.96
    """
    values = np.sort(np.asarray(own_log_prob), axis=0)
    _check_level(level)
    if values.ndim == 0 or len(values) == 0:
        raise ValueError("own_log_prob has no draws: give log p at some draws from p, along the first axis.")
    if np.isnan(values).any():
        raise ValueError("own_log_prob has NaN entries: every draw needs a log density.")
    return np.asarray(values[len(values) - _at_least(level * len(values))])


def highest_mass_set(log_prob: ArrayLike, level: float) -> NDArray[np.bool_]:
    """Return which outcomes are in the smallest set of probability `level`: the most probable ones until they reach it.

    `log_prob` has the outcomes along the last axis, as many as the distribution has or so many that what they leave out
    is less than 1 − level.

    >>> highest_mass_set(np.log([0.5, 0.1, 0.4]), 0.8).tolist()
    [True, False, True]
    """
    values = np.asarray(log_prob)
    _check_level(level)
    order = np.argsort(-values, axis=-1, kind="stable")
    mass = np.cumsum(np.exp(np.take_along_axis(values, order, axis=-1)), axis=-1)
    slack = 1e-12 if values.dtype == np.float64 else 1e-6  # 0.1 added up nine times is 0.9 for us
    if np.isnan(mass).any() or np.any(mass[..., -1] < level - slack):
        least = np.min(mass[..., -1])
        raise ValueError(
            f"the outcomes have {least:.6g} of the probability in all: level {level} asks for more of them."
        )
    before = np.concatenate([np.zeros_like(mass[..., :1]), mass[..., :-1]], axis=-1)
    inside = np.zeros(values.shape, bool)
    np.put_along_axis(inside, order, before < level - slack, axis=-1)
    return inside


def highest_density_level(log_prob: ArrayLike, own_log_prob: ArrayLike) -> Float[np.ndarray, "..."]:
    """Return the level of the smallest highest-density set that has a point in it: the share of draws that are denser.

    `log_prob` is log p at the points, `own_log_prob` that at draws from p, along the first axis. Where the model is
    right these levels are uniform, and a conformal quantile of them is near the level itself: sets by levels follow the
    spread of each row, where one threshold for all rows would leave sets of rows with a large spread empty.

    >>> highest_density_level([-1.0], [[-3.0], [-0.5], [-0.2], [-2.0]]).tolist()
    [0.5]
    """
    own, point = np.asarray(own_log_prob), np.asarray(log_prob)
    if np.isnan(own).any() or np.isnan(point).any():
        raise ValueError("log_prob or own_log_prob has NaN entries: every point and draw needs a log density.")
    return np.asarray(np.mean(own > point, axis=0))


def conformal_quantile(scores: ArrayLike, level: float) -> float:
    """Return the ⌈(n + 1)·level⌉-th smallest of n scores of calibration rows.

    A new row that is exchangeable with them has a score that is not larger with a probability of at least `level`, and
    of at most level + 1/(n + 1) where scores differ, whatever the model that gave the scores (split conformal
    prediction). With scores −log p(y | x) the sets {y : −log p(y | x) ≤ q} cover so often.

    >>> conformal_quantile([0.3, 0.1, 0.2, 0.4], 0.75)
    0.4
    """
    values = np.sort(np.asarray(scores, dtype=np.float64).ravel())
    _check_level(level)
    if np.isnan(values).any():
        raise ValueError("scores has NaN entries: every calibration row needs a score.")
    rank = _at_least(level * (len(values) + 1))
    if rank > len(values):
        least = _at_least(level / (1 - level))
        raise ValueError(f"there are {len(values)} calibration rows: sets of level {level} need at least {least}.")
    return float(values[rank - 1])


def density_grid(draws: Num[Any, "draws rows"], points: int = 256) -> Float[np.ndarray, "points rows"]:
    """Return a grid for each row on which the pieces of its sets can be looked for, in ascending order.

    It has the draws of the row, so that it is fine where the density is high, and evenly spaced points that reach
    beyond them on both sides, so that gaps without a draw are seen.
    """
    draws = np.sort(np.asarray(draws, dtype=np.float64), axis=0)
    least, most = draws[0], draws[-1]
    reach = np.where(most > least, most - least, 1.0)
    even = np.linspace(least - reach / 4, most + reach / 4, points)
    return np.sort(np.concatenate([draws, even]), axis=0)


def pieces_above(
    log_prob: Callable[[Any], Any],
    threshold: ArrayLike,
    grid: Float[np.ndarray, "points rows"],
    support: tuple[float, float] = (-np.inf, np.inf),
) -> Pieces:
    """Return {y : log p(y) ≥ threshold} of single real numbers, one set to a row, as unions of intervals.

    `log_prob` takes an array (points, rows) to the log densities of its entries, under the distribution of their row.
    Changes of sign between neighbors of the grid are refined by halving, to the last digits; a piece that lies between
    two neighbors is not seen. A set that reaches the end of the grid is followed to where it ends, or to the end of the
    `support`.

    >>> from kullback.families import DiagonalGaussian
    >>> p = DiagonalGaussian([[0.0], [5.0]], [[1.0], [4.0]])
    >>> found = pieces_above(lambda y: p.log_prob(y[..., None]), [-2.0, -3.0], density_grid(p.sample(0, 100)[..., 0]))
    >>> found.counts.tolist(), found.length.round(3).tolist()
    ([1, 1], [2.941, 6.664])
    """
    rows = grid.shape[1]
    level = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (rows,))

    def above(y: NDArray[Any]) -> NDArray[np.bool_]:
        inside = (y >= support[0]) & (y <= support[1])
        with np.errstate(all="ignore"):
            found = np.asarray(log_prob(np.where(inside, y, np.clip(y, *support))))
        return inside & (found >= level)

    grid = _reach_out(above, np.clip(np.asarray(grid, dtype=np.float64), *support), support)
    inside = above(grid)
    ends = np.zeros((1, rows), bool)
    change = np.diff(np.concatenate([ends, inside, ends]).astype(np.int8), axis=0)  # (points + 1, rows)
    count = np.sum(change == 1, axis=0)
    rises, falls = (_places(change == sign, int(count.max(initial=0))) for sign in (1, -1))
    # an interval begins between the points before and at a rise, and ends between those before and at a fall
    lower = _refine(above, grid, rises - 1, rises)
    upper = _refine(above, grid, falls, falls - 1)
    return Pieces(lower.T, upper.T, count.astype(np.int64))


def whole_pieces(inside: NDArray[np.bool_], first: int = 0) -> Pieces:
    """Return sets of whole numbers as intervals of neighbors: `inside` has a row for each set, from `first` on.

    >>> whole_pieces(np.array([[True, True, False, True]])).of_row(0).tolist()
    [[0.0, 1.0], [3.0, 3.0]]
    """
    inside = np.asarray(inside, bool)
    ends = np.zeros((1, inside.shape[0]), bool)
    change = np.diff(np.concatenate([ends, inside.T, ends]).astype(np.int8), axis=0)
    count = np.sum(change == 1, axis=0)
    rises, falls = (_places(change == sign, int(count.max(initial=0))) for sign in (1, -1))
    lower, upper = (np.where(at < 0, np.nan, at + first) for at in (rises, np.where(falls < 0, -1, falls - 1)))
    return Pieces(lower.T, upper.T, count.astype(np.int64))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: it must lie between 0 and 1.")


def _at_least(number: float) -> int:
    """Return the least whole number that is not below, were it not for rounding."""
    return max(int(np.ceil(number * (1 - 1e-12))), 1)


def _places(marks: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Return where each column has its marks, (most, rows), and −1 where it has fewer."""
    order = np.argsort(~marks, axis=0, kind="stable")[:most]
    return np.where(np.take_along_axis(marks, order, axis=0), order, -1)


def _reach_out(
    above: Callable[[NDArray[Any]], NDArray[np.bool_]], grid: NDArray[Any], support: tuple[float, float]
) -> NDArray[Any]:
    """Return the grid with ends that lie outside of the sets, or at the ends of the support."""
    reach = np.maximum(grid[-1] - grid[0], np.abs(grid).max(axis=0) * 1e-9)
    reach = np.where(reach > 0, reach, 1.0)
    for _ in range(_HALVINGS):
        first, last = above(grid[:1])[0], above(grid[-1:])[0]
        first, last = first & (grid[0] > support[0]), last & (grid[-1] < support[1])
        if not (first.any() or last.any()):
            return grid
        low = np.where(first, np.maximum(grid[0] - reach, support[0]), grid[0])
        high = np.where(last, np.minimum(grid[-1] + reach, support[1]), grid[-1])
        grid, reach = np.concatenate([low[None], grid, high[None]]), 2 * reach
    raise ValueError("threshold is so low that a set has no end: the density is above it wherever one looks.")


def _refine(
    above: Callable[[NDArray[Any]], NDArray[np.bool_]],
    grid: NDArray[Any],
    outside: NDArray[np.int64],
    inside: NDArray[np.int64],
) -> Float[np.ndarray, "most rows"]:
    """Return the points between neighbors of the grid at which sets begin or end, NaN where there is none.

    At the ends of the grid, which are those of the support then, they are these ends.
    """
    if not len(inside):
        return np.zeros((0, grid.shape[1]))
    last, pick = len(grid) - 1, np.take_along_axis
    within = pick(grid, np.clip(inside, 0, last), axis=0)
    without = np.where((outside < 0) | (outside > last), within, pick(grid, np.clip(outside, 0, last), axis=0))
    for _ in range(_HALVINGS):
        middle = 0.5 * (within + without)
        if np.all((middle == within) | (middle == without)):
            break
        found = above(middle)
        within, without = np.where(found, middle, within), np.where(found, without, middle)
    return np.where(inside < 0, np.nan, within)
