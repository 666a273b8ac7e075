"""How much draws with unequal weights are worth."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import COLORS, axes_or_new, name_axes

#: Bins of the histogram.
_BINS = 25


def plot_effective_size(sizes: Any, draws: int, axes: Axes | None = None) -> Axes:
    """Draw a histogram of effective sample sizes, as shares of the number of draws, and return the Axes.

    `sizes` has (Σ w)² / Σ w² of the weights of the `draws` of each row: 1 where one draw outweighs all others, and
    as many as there are draws where all weigh the same. The dashed line is the median. `axes` is where to draw: a new
    figure when it is None.

    >>> axes = plot_effective_size([1.0, 50.0, 100.0], 100)
    >>> [float(x) for x in axes.lines[0].get_xdata()]
    [50.0, 50.0]
    """
    values = 100 * np.asarray(sizes, dtype=float).reshape(-1) / draws
    if len(values) == 0:
        raise ValueError("sizes is empty: there is nothing to draw.")
    axes = axes_or_new(axes)
    weights = np.full(len(values), 100 / len(values))
    axes.hist(values, bins=_BINS, range=(0, 100), weights=weights, color=COLORS["blue"], alpha=0.7, linewidth=0)
    middle = float(np.median(values))
    axes.plot([middle, middle], [0, 1], "--", color="black", linewidth=1.2, transform=axes.get_xaxis_transform())
    axes.set_xlim(0, 100)
    name_axes(axes, "effective sample size (% of the draws)", "rows (%)")
    return axes
