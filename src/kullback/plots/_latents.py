"""Pictures of hidden numbers: where rows lie among them."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from kullback.plots._style import COLORS, axes_or_new, name_axes

#: Bins of a histogram of one hidden number.
_BINS = 30


def plot_latents(latents: Any, axes: Axes | None = None) -> Axes:
    """Draw rows in the plane of the two hidden numbers that vary most, and return the Axes.

    `latents` has one row for each row of the data. The dashed circles hold 39 % and 86 % of N(0, I), which hidden
    numbers follow before anything is known of a row; a model that uses them fills both. Of one hidden number it is a
    histogram, and the dashed line that density. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_latents([[0.0, 1.0], [1.0, 0.0], [-1.0, 2.0]])
    >>> len(axes.collections), len(axes.patches)
    (1, 2)
    """
    z = np.asarray(latents, dtype=float)
    if z.ndim != 2 or not z.size:
        raise ValueError(f"latents has shape {z.shape}: it must have a row, with one number or more, for each point.")
    axes = axes_or_new(axes)
    if z.shape[1] == 1:
        axes.hist(z[:, 0], bins=_BINS, density=True, color=COLORS["blue"], alpha=0.7, linewidth=0)
        x = np.linspace(-3.5, 3.5, 200)
        axes.plot(x, np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi), "--", color="black", linewidth=1.2)
        name_axes(axes, "hidden number", "density")
        return axes
    first, second = np.sort(np.argsort(-z.var(axis=0), kind="stable")[:2])
    axes.scatter(z[:, first], z[:, second], s=9, color=COLORS["blue"], alpha=0.5, linewidth=0)
    for radius in (1, 2):
        axes.add_patch(Circle((0, 0), radius, fill=False, linestyle="--", edgecolor="black", linewidth=1))
    axes.set_aspect("equal", adjustable="datalim")
    name_axes(axes, f"hidden number {first + 1}", f"hidden number {second + 1}")
    return axes
