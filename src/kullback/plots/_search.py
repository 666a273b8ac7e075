"""How a minimization went."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import COLORS, name_axes, panels


def plot_search(result: Any, axes: Any = None) -> Any:
    """Draw values, spread and condition number of what `minimize` returns, and return the three Axes.

    `axes` are three Axes to draw on: a new figure when it is None. Values are those of each population, its best and
    its median, and the best so far. Where some are not positive, the least of all is subtracted, as the axis is
    logarithmic. Dotted lines are restarts.

    >>> from kullback import minimize
    >>> result = minimize(lambda x: (x**2).sum(), [1.0, 2.0], target=1e-6)
    >>> [axes.get_ylabel() for axes in plot_search(result)]
    ['f', 'spread', 'condition number']
    """
    history = result.history
    if len(history.run) == 0:
        raise ValueError("result has no history: not one population was evaluated.")
    drawn = list(panels(columns=3, width=4.0, height=3.2)[1] if axes is None else axes)
    if len(drawn) != 3:
        raise ValueError(f"axes has {len(drawn)} Axes: values, spread and condition number need three.")
    _values(drawn[0], history)
    for each, column, name in zip(drawn[1:], ("spread", "condition"), ("spread", "condition number"), strict=True):
        for run in range(int(history.run[-1]) + 1):
            one = history.run == run
            each.plot(history.evaluations[one], getattr(history, column)[one], color=COLORS["blue"], linewidth=1.2)
        name_axes(each, "evaluations", name)
    for each in drawn:
        for place in np.flatnonzero(np.diff(history.run)):
            each.axvline(history.evaluations[place], color="0.6", linestyle=":", linewidth=1, zorder=0)
        each.set_yscale("log")
    return drawn


def _values(axes: Axes, history: Any) -> None:
    best, median = (np.where(np.isfinite(values), values, np.nan) for values in (history.best, history.median))
    so_far = np.fmin.accumulate(best)
    least = 0.0 if np.isnan(best).all() else float(np.nanmin(best))
    shift, name = (0.0, "f") if least > 0 else (least, "f − its least value")
    for run in range(int(history.run[-1]) + 1):
        one = history.run == run
        for values, color, label in ((median, COLORS["sky"], "median"), (best, COLORS["blue"], "best")):
            axes.plot(
                history.evaluations[one],
                _positive(values[one] - shift),
                color=color,
                linewidth=1,
                label=label if run == 0 else None,
            )
    axes.plot(
        history.evaluations, _positive(so_far - shift), color=COLORS["vermilion"], linewidth=1.6, label="best so far"
    )
    axes.legend(fontsize=8)
    name_axes(axes, "evaluations", name)


def _positive(values: Any) -> Any:
    return np.where(values > 0, values, np.nan)
