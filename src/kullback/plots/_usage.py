"""How often hidden units are on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._colors import colors_of
from kullback.plots._style import axes_or_new, name_axes


def plot_usage(
    layers: Sequence[Any], names: Sequence[str], axes: Axes | None = None, other: Sequence[Any] | None = None
) -> Axes:
    """Draw in how many of all rows the units of layers are on, a line for each layer, and return the Axes.

    `layers` has a vector of shares for each of the `names`: its units are drawn from the least used to the most used
    one. `other` has such vectors of other rows, such as draws from the model: they are dashed. `axes` is where to
    draw: a new figure when it is None.

    >>> axes = plot_usage([[0.5, 0.1, 1.0]], ["hidden layer 1"])
    >>> axes.lines[0].get_ydata().tolist()
    [10.0, 50.0, 100.0]
    """
    if len(layers) != len(names) or (other is not None and len(other) != len(layers)):
        raise ValueError(f"there are {len(layers)} layers, and {len(names)} names: each layer has one.")
    axes = axes_or_new(axes)
    for place, (name, color) in enumerate(zip(names, colors_of(len(names)), strict=True)):
        for style, shares in (("-", layers), ("--", other)):
            if shares is not None:
                values = 100 * np.sort(np.asarray(shares[place], dtype=float))
                mark = "o" if len(values) <= 40 and style == "-" else ""
                x = 100 * (np.arange(len(values)) + 0.5) / len(values)
                label = name if style == "-" else None
                axes.plot(x, values, mark + style, color=color, linewidth=1.4, markersize=3, label=label)
    axes.set(xlim=(0, 100), ylim=(-3, 103))
    name_axes(axes, "units of the layer, from the least used (%)", "rows in which it is on (%)")
    return axes
