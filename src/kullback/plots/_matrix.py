"""A matrix as colors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from kullback.plots._style import COLORS, axes_or_new


def plot_matrix(
    matrix: Any, rows: Sequence[str], columns: Sequence[str], axes: Axes | None = None, decimals: int = 2
) -> Axes:
    """Draw the entries of a matrix as cells, blue above 0 and vermilion below, fuller where larger; return the Axes.

    `rows` and `columns` are their names. Cells of matrices that are not too large hold their numbers, with so many
    `decimals`. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_matrix([[1.0, -0.5]], ["one"], ["a", "b"])
    >>> [round(cell.get_alpha(), 2) for cell in axes.patches]
    [0.7, 0.35]
    """
    table = np.asarray(matrix, dtype=float)
    if table.shape != (len(rows), len(columns)):
        raise ValueError(f"matrix has shape {table.shape}: there are {len(rows)} rows and {len(columns)} columns.")
    axes = axes_or_new(axes)
    largest = np.abs(table).max() or 1.0
    numbers = table.shape[0] <= 24 and table.shape[1] <= 8
    for (i, j), value in np.ndenumerate(table):
        color = COLORS["blue" if value > 0 else "vermilion"]
        shade = 0.7 * float(abs(value) / largest)
        axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color=color, alpha=shade, linewidth=0))
        if numbers:
            axes.text(
                j,
                i,
                f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−"),
                ha="center",
                va="center",
                fontsize=8.5,
            )
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    return axes
