"""Level lines of an objective."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import axes_or_new


def plot_levels(
    F: Callable[[Any], Any],
    at: Callable[[Any, Any], Any],
    x: Any,
    y: Any,
    axes: Axes | None = None,
    levels: Any = 12,
) -> Axes:
    """Draw the lines in the plane on which an objective is constant, in gray, and return the Axes.

    `F` maps one distribution to a number, as in `kullback.geometry.flow`. `at` takes two arrays, the x and
    the y of many points of the picture, to the batch of distributions at these points. The vectors `x` and
    `y` span the grid on which F is asked. `axes` is where to draw: a new figure when it is None. `levels`
    says about how many lines, or at which values, in rising order.

    >>> import numpy as np
    >>> from kullback.families import Ising
    >>> def at(x, y):
    ...     return Ising(np.stack([x, y], axis=-1), interactions=())
    >>> grid = np.linspace(-2, 2, 50)
    >>> axes = plot_levels(lambda p: p.expectation[0] ** 2, at, grid, grid, levels=[0.2, 0.5])
    >>> axes.collections[0].levels.tolist()
    [0.2, 0.5]
    """
    axes = axes_or_new(axes)
    columns, rows = np.meshgrid(x, y)
    values = jax.jit(jax.vmap(F))(at(columns.ravel(), rows.ravel()))
    values = np.asarray(values).reshape(columns.shape)
    axes.contour(columns, rows, values, levels, colors="0.78", linewidths=0.8, linestyles="solid", zorder=0.5)
    return axes
