"""How well a stream was foretold, with a band that holds at every look."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.assess import asymptotic_interval
from kullback.plots._style import COLORS, axes_or_new, name_axes

#: Batches before the first interval: it rests on a limit.
_FIRST = 10


def plot_stream_band(curve: Any, axes: Axes | None = None, alpha: float = 0.05, label: str | None = None) -> Axes:
    """Draw the mean loss of a stream so far, and where it lies at all looks together; return the Axes.

    `curve` is `learning_curve_` of an estimator: points seen, the mean log-likelihood of a batch before it was learned
    from, and how many points that is the mean of. Its first batch, which the model began with, is left out. Dots are
    batches, the line is the mean so far, and the band (approximate) holds at every look with probability 1 − alpha.

    >>> rng = np.random.default_rng(0)
    >>> curve = np.column_stack([np.arange(100, 4100, 100), rng.normal(-2, 0.1, 40), np.full(40, 100.0)])
    >>> axes = plot_stream_band(curve)
    >>> len(axes.lines), len(axes.collections)
    (2, 1)
    """
    table = np.asarray(curve, dtype=float)
    if table.ndim != 2 or table.shape[1] < 3 or len(table) < 3:
        raise ValueError(f"curve has shape {table.shape}: it needs rows of 3 numbers for three batches or more.")
    axes = axes_or_new(axes)
    points, losses, mass = table[1:, -3], -table[1:, -2], table[1:, -1]
    total = np.cumsum(mass)
    mean = np.cumsum(mass * losses) / total
    square = np.cumsum(mass * np.square(losses)) / total - np.square(mean)
    batches = np.arange(1, len(losses) + 1)
    band = asymptotic_interval(batches[1:], mean[1:], batches[1:] * np.maximum(square[1:], 0), alpha, tightest_at=100.0)
    axes.plot(points, losses, "o", color="0.5", alpha=0.5, markersize=2.6, markeredgewidth=0)
    axes.plot(points, mean, color=COLORS["blue"], linewidth=1.8, label=label)
    late = slice(min(_FIRST, len(losses) - 1) - 1, None)
    lower, upper = np.asarray(band.lower)[late], np.asarray(band.upper)[late]
    axes.fill_between(points[1:][late], lower, upper, color=COLORS["blue"], alpha=0.25, linewidth=0)
    axes.ticklabel_format(axis="y", useOffset=False)
    name_axes(axes, "points seen", "loss before learning (nats per row)")
    return axes
