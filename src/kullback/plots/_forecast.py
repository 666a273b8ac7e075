"""A series, its one-step predictions, and its forecast."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import COLORS, axes_or_new


def plot_forecast(
    time: Any,
    values: Any,
    fitted: Any,
    ahead: Any,
    mean: Any,
    bands: Sequence[tuple[Any, Any, str]] = (),
    axes: Axes | None = None,
) -> Axes:
    """Draw the end of a series, its one-step predictions, and a forecast with bands; return the Axes.

    `values` and `fitted` belong to the times `time`, `mean` to the times `ahead`. Each band is a lower edge, an upper
    edge and a name for the legend, the widest first. Without times `ahead` there is no forecast. `axes` is where to
    draw: a new figure when it is None.

    >>> axes = plot_forecast([0, 1], [1.0, 2.0], [1.1, 1.8], [2], [2.5], [([2.0], [3.0], "95 %")])
    >>> axes.get_legend_handles_labels()[1]
    ['data', 'one-step prediction', '95 %', 'forecast']
    """
    axes = axes_or_new(axes)
    time, ahead = np.asarray(time, dtype=float), np.asarray(ahead, dtype=float)
    axes.plot(time, values, "o", color="0.35", markersize=3, label="data")
    axes.plot(time, fitted, "-", color=COLORS["vermilion"], linewidth=1.2, label="one-step prediction")
    for place, (lower, upper, name) in enumerate(bands):
        shade = 0.2 + 0.2 * place
        low, high = (np.asarray(edge, dtype=float) for edge in (lower, upper))
        axes.fill_between(ahead, low, high, color=COLORS["blue"], alpha=shade, linewidth=0, label=name)
    if len(ahead):
        axes.plot(ahead, mean, color=COLORS["blue"], linewidth=1.8, label="forecast")
        axes.axvline((time[-1] + ahead[0]) / 2, color="0.5", linewidth=1.0, linestyle=":")
    axes.set_xlim(time[0], ahead[-1] if len(ahead) else time[-1])
    return axes
