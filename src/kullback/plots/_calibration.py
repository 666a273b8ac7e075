"""Whether predicted distributions are right about what came: probabilities, coverage, residuals."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import COLORS, axes_or_new, name_axes

#: What chance leaves outside of a band, on both sides together.
_OUTSIDE = 0.05
#: Rows for each bin at least, and bins at most.
_ROWS, _BINS = 20, 20
#: Rows that are further apart than this part of all are no neighbors.
_GAP = 0.25


def plot_pit(values: Any, axes: Axes | None = None) -> Axes:
    """Draw a histogram of the probability integral transform of some rows, and return the Axes.

    `values` are F(y), the predicted distribution function at what came, one number in [0, 1] for each row; of whole
    numbers a random one between F(y − 1) and F(y). They are uniform where predictions are right: bars are shares
    relative to that, and the gray band holds 95 % of the bars that chance makes of it. A U says that predictions are
    too narrow, a hill that they are too wide. NaN are left out. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_pit((np.arange(100) + 0.5) / 100)
    >>> axes.patches[0].get_data().values.tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    seen = _checked(values)
    axes = axes_or_new(axes)
    bins = min(max(len(seen) // _ROWS, 2), _BINS)
    heights = np.histogram(seen, bins, (0, 1))[0] * bins / len(seen)
    low, high = (edge[0] * bins for edge in _chance(np.array([len(seen)]), np.array([1 / bins])))
    axes.stairs(heights, np.linspace(0, 1, bins + 1), fill=True, color=COLORS["blue"], alpha=0.6, linewidth=0)
    axes.fill_between([0, 1], [low] * 2, [high] * 2, color="0.5", alpha=0.3, linewidth=0)
    axes.axhline(1, color="0.3", linewidth=1.0)
    axes.set(xlim=(0, 1), ylim=(0, 1.1 * max(heights.max(), high)))
    name_axes(axes, "predicted probability of a smaller value", "share of rows, relative to uniform")
    return axes


def plot_coverage(values: Any, axes: Axes | None = None) -> Axes:
    """Draw how many rows the central intervals of each level hold, and return the Axes.

    `values` are those of `plot_pit`: an interval of level c holds those within c/2 of ½. The line is on the diagonal
    where predictions are right, and the gray band holds 95 % of what chance makes of it at each level. NaN are left
    out. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_coverage([0.5, 0.5, 0.05, 0.99])
    >>> axes.lines[1].get_ydata()[[25, 50, 95]].tolist()  # at the levels 25 %, 50 % and 95 %
    [50.0, 50.0, 75.0]
    """
    seen = _checked(values)
    axes = axes_or_new(axes)
    levels = np.linspace(0, 1, 101)
    needed = np.sort(2 * np.abs(seen - 0.5))
    held = np.searchsorted(needed, levels + 1e-12, side="right") / len(seen)
    low, high = _chance(np.full(len(levels), len(seen)), levels)
    axes.fill_between(100 * levels, 100 * low, 100 * high, color="0.5", alpha=0.3, linewidth=0)
    axes.plot([0, 100], [0, 100], color="0.3", linewidth=1.0)
    axes.plot(100 * levels, 100 * held, color=COLORS["blue"], linewidth=2.0)
    axes.set(xlim=(0, 100), ylim=(0, 100))
    name_axes(axes, "level of the interval (%)", "rows inside (%)")
    return axes


def plot_residuals(fitted: Any, residuals: Any, axes: Axes | None = None, points: Any = None) -> Axes:
    """Draw quantile residuals against what was predicted, and return the Axes.

    Residuals are Φ⁻¹(F(y)): standard normal where predictions are right, whatever the family. Dashed lines are the
    5 %, 50 % and 95 % quantiles that they should have, solid lines those of rows with like predictions, where there are
    enough. `points` are the rows to be drawn as dots, all when it is None. Rows with NaN are left out. `axes` is where
    to draw: a new figure when it is None.

    >>> axes = plot_residuals([1.0, 2.0, 3.0], [0.1, -0.5, 1.2])
    >>> len(axes.lines)  # the dots, and three dashed lines
    4
    """
    x, y = np.asarray(fitted, dtype=float).reshape(-1), np.asarray(residuals, dtype=float).reshape(-1)
    if len(x) != len(y):
        raise ValueError(f"residuals has {len(y)} numbers: fitted has {len(x)}.")
    axes = axes_or_new(axes)
    some = np.arange(len(x)) if points is None else np.asarray(points)
    axes.plot(x[some], y[some], "o", color="0.5", alpha=0.5, markersize=2.6, markeredgewidth=0)
    for expected in (-1.645, 0.0, 1.645):
        axes.axhline(expected, color="0.3", linewidth=1.0, linestyle=(0, (4, 3)))
    known = np.isfinite(x) & np.isfinite(y)
    places, quantiles = _running(x[known], y[known])
    if len(places) > 1:
        far = np.flatnonzero(np.diff(places) > _GAP * np.ptp(x[known])) + 1
        for each in quantiles.T:
            broken = (np.insert(part, far, np.nan) for part in (places, each))
            axes.plot(*broken, color=COLORS["vermilion"], linewidth=1.6)
    name_axes(axes, "prediction", "quantile residual")
    return axes


def plot_reliability(probabilities: Any, came: Any, axes: Axes | None = None) -> Axes:
    """Draw how often something came against the predicted probability of it, and return the Axes.

    `came` says of each row whether it did. Rows are grouped by their probability, equally many in each group; a dot is
    the mean probability of a group and how often it came, and its bar holds 95 % of what chance makes of that
    probability. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_reliability([0.2] * 50 + [0.9] * 50, [1] * 10 + [0] * 40 + [1] * 45 + [0] * 5)
    >>> [line.round(1).tolist() for line in axes.lines[1].get_data()]
    [[20.0, 90.0], [20.0, 90.0]]
    """
    p, hits = np.asarray(probabilities, dtype=float).reshape(-1), np.asarray(came, dtype=float).reshape(-1)
    if len(p) != len(hits) or not len(p):
        raise ValueError(
            f"came has {len(hits)} entries and probabilities {len(p)}: both need the same, and one at least."
        )
    axes = axes_or_new(axes)
    order = np.argsort(p, kind="stable")
    groups = np.array_split(order, min(max(len(p) // _ROWS, 1), 10))
    if len(np.unique(p)) <= len(groups):
        groups = [np.flatnonzero(p == value) for value in np.unique(p)]
    mean, share = (np.array([each[group].mean() for group in groups]) for each in (p, hits))
    low, high = _chance(np.array([len(group) for group in groups]), mean)
    axes.plot([0, 100], [0, 100], color="0.3", linewidth=1.0)
    axes.plot(100 * mean, 100 * share, "o", color=COLORS["blue"], markersize=6)
    axes.vlines(100 * mean, 100 * low, 100 * high, color="0.5", alpha=0.5, linewidth=5)
    axes.set(xlim=(-3, 103), ylim=(-3, 103))
    name_axes(axes, "predicted probability (%)", "how often it came (%)")
    return axes


def _checked(values: Any) -> np.ndarray:
    seen = np.asarray(values, dtype=float).reshape(-1)
    seen = seen[~np.isnan(seen)]
    if not len(seen) or seen.min() < 0 or seen.max() > 1:
        raise ValueError("values must be probabilities in [0, 1], and one at least.")
    return seen


def _chance(counts: np.ndarray, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares between which chance leaves most, of so many trials with these probabilities."""
    from scipy.stats import binom

    ends = (binom.ppf(level, counts, probability) for level in (_OUTSIDE / 2, 1 - _OUTSIDE / 2))
    low, high = (np.clip(np.nan_to_num(end), 0, counts) / counts for end in ends)
    return low, high


def _running(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 5 %, 50 % and 95 % quantiles of y, of groups of rows with like x; none where rows are too few."""
    count = min(len(x) // 50, _BINS)
    if count < 2:
        return np.zeros(0), np.zeros((0, 3))
    edges = np.unique(np.quantile(x, np.linspace(0, 1, count + 1)))
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    groups = [np.flatnonzero(place == which) for which in range(len(edges) - 1)]
    gap = _GAP * np.ptp(x)  # rows on both sides of a gap are not alike
    groups = [group for group in groups if len(group) >= 40 and np.diff(np.sort(x[group])).max() <= gap]
    found = np.array([np.quantile(y[group], (0.05, 0.5, 0.95)) for group in groups]).reshape(-1, 3)
    return np.array([x[group].mean() for group in groups]), found
