"""Numbers that a model draws, beside those of the data."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import axes_or_new, name_axes


def plot_samples(samples: Any, values: Any = None, axes: Axes | None = None) -> Axes:
    """Draw the histograms of samples, a line, and of values, gray bars, with the same bins, and return the Axes.

    Entries that are not finite are left out. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_samples([0.0, 1.0, 1.0], [0.0, 0.5])
    >>> axes.get_xlim()
    (0.0, 1.0)
    """
    drawn, seen = (np.asarray([] if each is None else each, dtype=float).ravel() for each in (samples, values))
    drawn, seen = drawn[np.isfinite(drawn)], seen[np.isfinite(seen)]
    axes = axes_or_new(axes)
    both = np.concatenate([drawn, seen])
    if len(both):
        low, high = float(both.min()), float(both.max())
        low, high = (low, high) if low < high else (low - 0.5, high + 0.5)
        fewest = min(len(each) for each in (drawn, seen) if len(each))
        edges = np.linspace(low, high, min(max(int(3 * fewest ** (1 / 3)), 8), 60) + 1).tolist()
        if len(seen):
            axes.hist(seen, bins=edges, density=True, color="0.8", linewidth=0)
        if len(drawn):
            axes.hist(drawn, bins=edges, density=True, histtype="step", color="black", linewidth=1.6)
        axes.set_xlim(low, high)
    name_axes(axes, "", "density")
    return axes
