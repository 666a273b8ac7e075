"""Where the online rule of memories points, by its discount."""

from typing import Any

import jax
import numpy as np
from matplotlib.axes import Axes

from kullback.assess import mean_field, rate_gradient
from kullback.models import FiniteProcess, MutableProcess
from kullback.plots._style import COLORS, axes_or_new, name_axes


def plot_mean_field(
    truth: FiniteProcess, process: MutableProcess, axes: Axes | None = None, label: str = "", points: int = 25
) -> Axes:
    """Draw the angle between the rule's mean and the gradient of the rate against 1 − ρ, and return the Axes.

    Both are exact, and of the memory's parameters; the discount ρ goes from 0 to 0.999 in so many `points`. The angle
    falls in proportion to 1 − ρ. `axes` is where to draw: a new figure when it is None.

    >>> from kullback.models import TabularMemory, even_process
    >>> axes = plot_mean_field(even_process(), TabularMemory.random(2, 2, key=0), points=5)
    >>> angles = axes.lines[0].get_ydata()
    >>> bool(np.all(np.diff(angles) < 0))  # the nearer ρ is to 1, the smaller
    True
    """
    axes = axes_or_new(axes)
    part = process.memory_part()

    def direction(found: Any) -> np.ndarray:
        moving = jax.tree.map(lambda leaf, is_memory: np.ravel(leaf) if is_memory else np.zeros(0), found, part)
        return np.concatenate(jax.tree.leaves(moving))

    gaps = np.geomspace(1.0, 1e-3, points)
    exact = direction(rate_gradient(truth, process))
    if not np.any(exact):
        raise ValueError("the gradient of the rate is 0 in the memory's parameters, so that there is no angle.")
    angles = [_angle(direction(mean_field(truth, process, 1 - gap)), exact) for gap in gaps]
    axes.loglog(gaps, angles, "o-", markersize=3, linewidth=1.4, label=label or None)
    axes.invert_xaxis()
    axes.axvline(0.1, color=COLORS["black"], linewidth=0.8, linestyle=":")
    name_axes(axes, r"$1 - \rho$", "angle to the gradient (degrees)")
    return axes


def _angle(one: np.ndarray, other: np.ndarray) -> float:
    """Return the angle in degrees, without cancellation where it is small."""
    one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    return float(np.degrees(2 * np.arcsin(np.minimum(np.linalg.norm(one - other) / 2, 1.0))))
