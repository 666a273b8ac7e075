"""Criteria by the number of components, with bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from kullback.plots._colors import colors_of
from kullback.plots._style import axes_or_new, name_axes

#: How far criteria stand apart, as part of the distance between two numbers of components.
_APART = 0.08


def plot_criteria(
    counts: Sequence[int],
    criteria: Mapping[str, tuple[Any, Any]],
    chosen: int | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw how far each number of components is behind the best, by several criteria, and return the Axes.

    `criteria` has for each name the nats per row behind the best, NaN where there is none, and their standard errors,
    or None for a criterion without any: bars reach one of them to each side, the distance that the one-standard-error
    rule goes by. The number that was `chosen` has a line. `axes` is where to draw: a new figure when it is None.

    >>> held_out = [0.4, 0.0, 0.01], [0.05, 0.0, 0.02]
    >>> axes = plot_criteria([1, 2, 3], {"held out": held_out, "BIC": ([0.3, 0.0, 0.1], None)}, chosen=2)
    >>> axes.get_legend_handles_labels()[1]
    ['held out', 'BIC']
    """
    axes = axes_or_new(axes)
    places = np.asarray(counts, dtype=float)
    axes.axhline(0.0, color="0.5", linewidth=0.8)
    if chosen is not None:
        axes.axvline(chosen, color="0.5", linewidth=0.8, linestyle=":")
    shifts = _APART * (np.arange(len(criteria)) - (len(criteria) - 1) / 2)
    for (name, (behind, errors)), shift, color in zip(criteria.items(), shifts, colors_of(len(criteria)), strict=True):
        values = np.array([np.nan if each is None else each for each in behind], dtype=float)
        if values.shape != places.shape:
            raise ValueError(f"{name} has {len(values)} values: there are {len(places)} numbers of components.")
        known = np.isfinite(values)
        reach = None
        if errors is not None:
            reach = np.array([0.0 if each is None else each for each in errors], dtype=float)[known]
        axes.errorbar(
            places[known] + shift, values[known], reach, fmt="o-", color=color, label=name, markersize=4, capsize=2
        )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    name_axes(axes, "components", "behind the best (nats per row)")
    axes.legend(frameon=False, fontsize=9)
    return axes
