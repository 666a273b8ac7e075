"""Whether the loss of a row without itself is known from the draws."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import COLORS, axes_or_new, name_axes

#: Above this the loss of a row is not known.
_HIGH = 0.7


def plot_pareto_k(pareto_k: Any, axes: Axes | None = None) -> Axes:
    """Draw k̂ of each row, as `psis_loo` finds it, with a line at 0.7; return the Axes.

    Rows above the line hold the posterior by themselves: what the model would lose on them, had it not seen them, is
    not known from its draws. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_pareto_k([0.1, 0.9, 0.3])
    >>> [len(line.get_xdata()) for line in axes.lines]
    [2, 1, 2]
    """
    values = np.asarray(pareto_k, dtype=float).reshape(-1)
    if len(values) == 0:
        raise ValueError("pareto_k is empty: there is nothing to draw.")
    axes = axes_or_new(axes)
    rows, high = np.arange(1, len(values) + 1), values > _HIGH
    size = 3.5 if len(values) <= 500 else 2.0
    for chosen, color in ((~high, COLORS["blue"]), (high, COLORS["vermilion"])):
        axes.plot(rows[chosen], values[chosen], "o", color=color, markersize=size, markeredgewidth=0, alpha=0.7)
    axes.axhline(_HIGH, color="0.5", linewidth=0.8, linestyle="--")
    axes.set_ylim(min(values.min(), 0.0) - 0.05, max(values.max(), _HIGH) + 0.1)
    name_axes(axes, "row", "Pareto k")
    return axes
