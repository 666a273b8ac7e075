"""Gaussians in the plane."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from kullback.families import Gaussian
from kullback.plots._style import axes_or_new


def plot_ellipses(
    gaussians: Gaussian,
    axes: Axes | None = None,
    color: Any = None,
    label: str | None = None,
    radius: float = 2.0,
    weights: Any = None,
) -> Axes:
    """Draw each Gaussian of the plane as an ellipse around the dot of its mean, and return the Axes.

    The ellipse is where (x − μ)ᵀΣ⁻¹(x − μ) = `radius`²: with the default 2 it holds 86 % of the points.
    `gaussians` is one Gaussian or a batch of them, like the components of a mixture; `weights` makes those that
    weigh more fuller in color. `axes` is where to draw: a new figure when it is None. `color` is one for all, or a
    list with one for each; it is the next one of the Axes when it is None. `label` is for a legend.

    >>> axes = plot_ellipses(Gaussian([1.0, 0.0], [[4.0, 0.0], [0.0, 1.0]]), radius=1.0)
    >>> ellipse = axes.patches[0]
    >>> float(ellipse.width), float(ellipse.height)
    (4.0, 2.0)
    """
    if gaussians.event_shape != (2,):
        raise ValueError(f"gaussians has {gaussians.event_shape[0]} dimensions: a picture needs two.")
    if not radius > 0:
        raise ValueError(f"radius is {radius}: it must be positive.")
    axes = axes_or_new(axes)
    means = np.asarray(gaussians.mean, dtype=float).reshape(-1, 2)
    covariances = np.asarray(gaussians.covariance, dtype=float).reshape(-1, 2, 2)
    shares = np.ones(len(means)) if weights is None else np.asarray(weights, dtype=float).reshape(-1)
    if len(shares) != len(means):
        raise ValueError(f"weights has {len(shares)} numbers: there are {len(means)} Gaussians.")
    colors = list(color) if isinstance(color, (list, tuple)) else [color] * len(means)
    if len(colors) != len(means):
        raise ValueError(f"color has {len(colors)} entries: there are {len(means)} Gaussians.")
    mark: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.5, "zorder": 3}
    shared = None
    for mean, covariance, share, own in zip(means, covariances, shares / shares.max(), colors, strict=True):
        (dot,) = axes.plot(*mean, color=shared if own is None else own, label=label, **mark)
        shared, label = dot.get_color(), None  # one color, and one entry of the legend, for all of them
        across, along = np.linalg.eigh(covariance)
        height, width = 2 * radius * np.sqrt(np.maximum(across, 0))
        angle = np.degrees(np.arctan2(along[1, 1], along[0, 1]))
        look: dict[str, Any] = {"color": dot.get_color(), "angle": angle}
        axes.add_patch(Ellipse(tuple(mean), width, height, alpha=0.05 + 0.2 * share, linewidth=0, **look))
        axes.add_patch(Ellipse(tuple(mean), width, height, fill=False, linewidth=1.6, zorder=2.5, **look))
    axes.autoscale_view()
    return axes
