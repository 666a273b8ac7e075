"""The learning coefficient that data shows, against temperature."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from kullback.assess import EstimatedCoefficient
from kullback.plots._style import COLORS, axes_or_new, name_axes

#: Standard errors of a bar to each side.
_ERRORS = 2.0


def plot_coefficient(estimates: Sequence[EstimatedCoefficient], axes: Axes | None = None) -> Axes:
    """Draw λ̂ at several temperatures with bars of 2 standard errors, and d/2 as a line; return the Axes.

    `estimates` are those of `assess.learning_coefficient_curve`; temperatures whose chains have given no number are
    left out, and counted in the legend. A regular model follows d/2; what is below it is the gain of a singular one.
    `axes` is where to draw: a new figure when it is None.
    """
    if not estimates:
        raise ValueError("estimates is empty: there is nothing to draw.")
    axes = axes_or_new(axes)
    known = [each for each in estimates if each.value is not None]
    left_out = len(estimates) - len(known)
    label = "λ̂ ± 2 errors" + (f" ({left_out} left out)" if left_out else "")
    temperatures = np.array([1 / each.inverse_temperature for each in known])
    values = np.array([each.value for each in known], dtype=float)
    reach = _ERRORS * np.array([each.standard_error for each in known], dtype=float)
    axes.errorbar(temperatures, values, reach, fmt="o-", color=COLORS["blue"], label=label, markersize=4, capsize=2)
    rows, half = estimates[0].rows, estimates[0].parameters / 2
    axes.axhline(half, color=COLORS["vermilion"], linewidth=1.4, label=f"d/2 = {half:g}")
    axes.axvline(np.log(rows), color="0.5", linewidth=0.8, linestyle=":", label=f"log n, n = {rows:g}")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    name_axes(axes, "temperature 1/β", "λ̂")
    axes.legend(frameon=False, fontsize=9)
    return axes
