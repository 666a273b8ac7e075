"""How a fit has climbed."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from kullback.plots._style import axes_or_new, name_axes


def plot_learning(bounds: Any, axes: Axes | None = None, color: Any = None, label: str | None = None) -> Axes:
    """Draw the log-likelihood after each step of a fit, such as `lower_bounds_`, and return the Axes.

    `axes` is where to draw: a new figure when it is None. `color` is the next one of the Axes when it is None; `label`
    is for a legend.

    >>> plot_learning([-3.0, -2.0, -1.9]).lines[0].get_xdata().tolist()
    [1, 2, 3]
    """
    values = np.asarray(bounds, dtype=float).reshape(-1)
    if len(values) == 0:
        raise ValueError("bounds is empty: there is nothing to draw.")
    axes = axes_or_new(axes)
    few = len(values) <= 40
    steps = np.arange(1, len(values) + 1)
    axes.plot(steps, values, "o-" if few else "-", color=color, label=label, markersize=3.5, linewidth=1.6)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.ticklabel_format(axis="y", useOffset=False)
    name_axes(axes, "step", "log-likelihood (nats)")
    return axes
