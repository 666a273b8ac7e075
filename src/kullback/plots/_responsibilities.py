"""How sure a mixture is of each row."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._colors import colors_of
from kullback.plots._style import axes_or_new, name_axes


def plot_responsibilities(probabilities: Any, axes: Axes | None = None) -> Axes:
    """Draw the probability of each component for each row as a strip of stacked colors, and return the Axes.

    Rows are sorted: by their most probable component, and among those the surest first. `axes` is where to draw: a
    new figure when it is None.

    >>> axes = plot_responsibilities([[0.1, 0.9], [1.0, 0.0], [0.8, 0.2]])
    >>> len(axes.collections), float(axes.get_xlim()[1])
    (2, 3.0)
    """
    table = np.asarray(probabilities, dtype=float)
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"probabilities has shape {table.shape}: it must have rows, and a column for each component.")
    axes = axes_or_new(axes)
    labels = table.argmax(axis=1)
    table = table[np.lexsort((-table.max(axis=1), labels))]
    edges = np.arange(len(table) + 1, dtype=float)
    tops = np.cumsum(np.concatenate([table, table[-1:]]), axis=1)
    floors = np.concatenate([np.zeros((len(tops), 1)), tops[:, :-1]], axis=1)
    for floor, top, color in zip(floors.T, tops.T, colors_of(table.shape[1]), strict=True):
        axes.fill_between(edges, floor, top, step="post", color=color, alpha=0.8, linewidth=0)
    axes.set(xlim=(0, len(table)), ylim=(0, 1))
    name_axes(axes, "rows, sorted", "probability")
    return axes
