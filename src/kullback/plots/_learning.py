"""How a fit has climbed."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from kullback.plots._style import axes_or_new, name_axes

#: Standard errors of a band to each side.
_ERRORS = 2.0


def plot_learning(
    bounds: Any,
    axes: Axes | None = None,
    color: Any = None,
    label: str | None = None,
    points: Any = None,
    errors: Any = None,
) -> Axes:
    """Draw the log-likelihood after each step of a fit, such as `lower_bounds_`, and return the Axes.

    `axes` is where to draw: a new figure when it is None. `color` is the next one of the Axes when it is None; `label`
    is for a legend. `points` is how many points of a stream were seen at each step, such as `learning_curve_[:, 0]`
    with `learning_curve_[:, 1]`: they take the place of the numbers of the steps. `errors` are standard errors, such as
    `validation_errors_` with `validation_scores_`: a band reaches 2 of them to each side.

    >>> plot_learning([-3.0, -2.0, -1.9]).lines[0].get_xdata().tolist()
    [1, 2, 3]
    """
    values = np.asarray(bounds, dtype=float).reshape(-1)
    if len(values) == 0:
        raise ValueError("bounds is empty: there is nothing to draw.")
    axes = axes_or_new(axes)
    few = len(values) <= 40
    steps = np.arange(1, len(values) + 1) if points is None else np.asarray(points, dtype=float).reshape(-1)
    if len(steps) != len(values):
        raise ValueError(f"points has {len(steps)} numbers: bounds has {len(values)}.")
    width = 1.6 if len(values) <= 100 else 1.0  # many batches of a stream go up and down
    (line,) = axes.plot(steps, values, "o-" if few else "-", color=color, label=label, markersize=3.5, linewidth=width)
    if errors is not None:
        reach = _ERRORS * np.asarray(errors, dtype=float).reshape(-1)
        if len(reach) != len(values):
            raise ValueError(f"errors has {len(reach)} numbers: bounds has {len(values)}.")
        axes.fill_between(steps, values - reach, values + reach, color=line.get_color(), alpha=0.25, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.ticklabel_format(axis="y", useOffset=False)
    name_axes(axes, "step" if points is None else "points seen", "log-likelihood (nats)")
    return axes
