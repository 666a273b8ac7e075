"""What memories cost: a ladder of relative entropies as bars."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._style import COLORS, axes_or_new, name_axes

#: The steps of the ladder, each at least the one before it, with the color of what it adds.
_STEPS = {"free": "sky", "online": "blue", "memory": "orange", "sensing": "vermilion"}
_NAMES = {
    "free": "the model itself",
    "online": "not seeing the future",
    "memory": "limited memory",
    "sensing": "limited sensing",
}


def plot_costs(ladders: Mapping[str, Any], axes: Axes | None = None) -> Axes:
    """Draw a bar for each named ladder of costs, made of what each step adds, and return the Axes.

    `ladders` has for each name what `assess.costs` or `assess.cost_rates` returns: numbers called free, online, memory
    and sensing, the last None where nothing was hidden from the memory. `axes` is where to draw: a new figure when it
    is None.

    >>> from kullback.assess import Costs
    >>> axes = plot_costs({"even": Costs(0.1, 0.3, 0.3), "hidden": Costs(0.2, 0.3, 0.4, 0.6)})
    >>> [round(float(bar.get_height()), 6) for bar in axes.containers[1]]  # what it costs not to see the future
    [0.2, 0.1]
    """
    if not ladders:
        raise ValueError("ladders is empty: give one ladder of costs at least.")
    axes = axes_or_new(axes)
    values = np.array([[_value(costs, step) for step in _STEPS] for costs in ladders.values()])
    if not np.isfinite(values).all():
        raise ValueError("ladders has costs that are not finite: a model that rules out what happens has no bar.")
    added = np.diff(values, axis=1, prepend=0.0)
    places = np.arange(len(values))
    for number, (step, color) in enumerate(_STEPS.items()):
        if number == 3 and all(costs.sensing is None for costs in ladders.values()):
            continue
        bottom = values[:, number] - added[:, number]
        axes.bar(places, added[:, number], 0.62, bottom=bottom, color=COLORS[color], label=_NAMES[step])
    axes.set_xticks(places, list(ladders))
    axes.legend(frameon=False, fontsize=9)
    name_axes(axes, "", "relative entropy (nats)")
    return axes


def _value(costs: Any, step: str) -> float:
    """Return a cost of a ladder; what is not hidden costs nothing."""
    found = getattr(costs, step)
    return float(costs.memory if found is None else found)
