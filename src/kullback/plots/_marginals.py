"""One column of a mixture: the parts, their sum, and the data."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._colors import colors_of
from kullback.plots._style import axes_or_new, name_axes


def plot_marginal(
    x: Any, densities: Any, weights: Any, values: Any = None, discrete: bool = False, axes: Axes | None = None
) -> Axes:
    """Draw the density of a mixture over one column, with its components and the data, and return the Axes.

    `densities` has a row for each component: its density at each of `x`. The components, each times its weight, are
    filled in their colors, their sum is a black line, dashed where there are several, and `values` are a histogram;
    each bin of rounded values, such as whole numbers, holds equally many of them. With `discrete`, `x` are all possible
    values, at equal distances: components are bars that stand on each other, up to the mixture, and the data are dots.
    `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_marginal([0, 1], [[0.5, 0.5], [0.0, 1.0]], [0.4, 0.6], discrete=True)
    >>> axes.patches[1].get_data().values[::2].round(3).tolist()  # the second component, on the first
    [0.2, 0.8]
    """
    x, shares = np.asarray(x, dtype=float), np.asarray(weights, dtype=float).reshape(-1, 1)
    parts = shares * np.asarray(densities, dtype=float)
    if parts.shape != (len(shares), len(x)):
        raise ValueError(f"densities has shape {np.shape(densities)}: it must be ({len(shares)}, {len(x)}).")
    axes = axes_or_new(axes)
    seen = None if values is None else np.asarray(values, dtype=float)
    if seen is not None:
        seen = seen[np.isfinite(seen)]
    draw = _bars if discrete else _curves
    draw(axes, x, parts, seen if seen is not None and len(seen) else None)
    axes.set_ylim(bottom=0)
    name_axes(axes, "", "probability" if discrete else "density")
    return axes


def _curves(axes: Axes, x: np.ndarray, parts: np.ndarray, values: np.ndarray | None) -> None:
    if values is not None:
        heights, edges = np.histogram(values, _bin_edges(values, x[0], x[-1]), density=True)
        axes.stairs(heights, edges, fill=True, color="0.8", linewidth=0)
    many = len(parts) > 1
    if many:
        for part, color in zip(parts, colors_of(len(parts)), strict=True):
            axes.fill_between(x, part, color=color, alpha=0.2, linewidth=0)
            axes.plot(x, part, color=color, linewidth=2.0)
    # the components are seen through its gaps where one of them is nearly all of it
    axes.plot(x, parts.sum(axis=0), color="black", linewidth=1.3, linestyle=(0, (4, 3)) if many else "-")
    axes.set_xlim(x[0], x[-1])


def _bin_edges(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the edges of bins between two ends; each bin of rounded values holds equally many of those possible."""
    bins = min(max(int(3 * len(values) ** (1 / 3)), 8), 60)
    step = _rounding(values, 20 * bins)
    if step is None:
        return np.linspace(low, high, bins + 1)
    least, most = values.min(), values.max()
    together = max(int(np.ceil(((most - least) / step + 1) / bins)), 1)
    count = int(np.ceil(((most - least) / step + 1 - 1e-6) / together))
    return least - step / 2 + step * together * np.arange(count + 1)


def _rounding(values: np.ndarray, most: float) -> float | None:
    """Return the step to which values were rounded, if there are no more than so many steps between them."""
    gaps = np.diff(np.unique(values))
    if len(gaps) == 0 or gaps.sum() > most * gaps.min():
        return None
    steps = gaps / gaps.min()
    return float(gaps.min()) if np.abs(steps - steps.round()).max() < 0.01 else None


def _bars(axes: Axes, x: np.ndarray, parts: np.ndarray, values: np.ndarray | None) -> None:
    floor, room = np.zeros(len(x)), np.min(np.diff(x)) if len(x) > 1 else 1.0
    edges = (x[:, None] + 0.4 * room * np.array([-1, 1])).ravel()
    for part, color in zip(parts, colors_of(len(parts)), strict=True):
        low, high = (_with_gaps(level) for level in (floor, floor + part))
        axes.stairs(high, edges, baseline=low, fill=True, color=color, alpha=0.7, linewidth=0)
        floor = floor + part
    highest = float(floor.max())
    if values is not None:
        share = (values[:, None] == x).mean(axis=0) if len(values) * len(x) < 1e7 else _shares(values, x)
        axes.plot(x, share, color="black", linestyle="none", marker="o", markersize=4)
        highest = max(highest, float(share.max()))
    if highest > 0:
        axes.set_ylim(0, 1.05 * highest)  # the upper bars stick to where they begin
    if len(x) <= 10:
        axes.set_xticks(x)


def _with_gaps(heights: np.ndarray) -> np.ndarray:
    """Return heights of bars, and between them that there is none: all bars of a color are one shape."""
    return np.stack([heights, np.full(len(heights), np.nan)], axis=1).ravel()[:-1]


def _shares(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.array([np.mean(values == value) for value in x])
