"""How a linear system turns and decays."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from kullback.plots._style import COLORS, axes_or_new, name_axes


def plot_eigenvalues(matrix: Any, axes: Axes | None = None) -> Axes:
    """Draw the eigenvalues of a matrix in the complex plane, with the unit circle, and return the Axes.

    Inside of the circle a motion dies out, on it it stays, outside it grows. The angle is how far it turns in a step.
    `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_eigenvalues([[0.5, 0.0], [0.0, -0.2]])
    >>> sorted(axes.lines[-1].get_xdata().tolist())
    [-0.2, 0.5]
    """
    values = np.linalg.eigvals(np.asarray(matrix, dtype=float))
    axes = axes_or_new(axes)
    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.5", linewidth=1.2))
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0.5)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0.5)
    axes.plot(values.real, values.imag, color=COLORS["blue"], linestyle="none", marker="o", markersize=6)
    reach = 1.1 * max(1.0, np.abs(values).max())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.locator_params(nbins=5)
    name_axes(axes, "real part", "imaginary part")
    return axes
