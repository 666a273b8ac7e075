"""Refits to resampled rows over the fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from kullback.families import Gaussian
from kullback.plots._colors import colors_of
from kullback.plots._ellipses import plot_ellipses
from kullback.plots._style import axes_or_new

#: Refits that are drawn: more cover each other.
_MOST = 30


def plot_refits(
    gaussians: Gaussian,
    refits: Sequence[Gaussian],
    axes: Axes | None = None,
    colors: Sequence[Any] | None = None,
    radius: float = 2.0,
    weights: Any = None,
) -> Axes:
    """Draw the Gaussians of a fit as ellipses, and over them those of refits as thin lines; return the Axes.

    `gaussians` is a batch of Gaussians of the plane; each of the `refits` is a batch in the same order, such as models
    that were `aligned_to` the fit have it. At most 30 refits are drawn. `colors` has one for each Gaussian; `radius`,
    `weights` and `axes` are as in `plot_ellipses`.

    >>> fit = Gaussian([[0.0, 0.0], [3.0, 0.0]], np.stack([np.eye(2)] * 2))
    >>> axes = plot_refits(fit, [fit, fit, fit])
    >>> len(axes.patches)
    10
    """
    means = np.asarray(gaussians.mean, dtype=float).reshape(-1, 2)
    palette = list(colors_of(len(means)) if colors is None else colors)
    axes = plot_ellipses(gaussians, axes_or_new(axes), palette, radius=radius, weights=weights)
    for refit in refits[:_MOST]:
        centers = np.asarray(refit.mean, dtype=float).reshape(-1, 2)
        covariances = np.asarray(refit.covariance, dtype=float).reshape(-1, 2, 2)
        if len(centers) != len(means):
            raise ValueError(f"a refit has {len(centers)} Gaussians: the fit has {len(means)}.")
        for center, covariance, color in zip(centers, covariances, palette, strict=True):
            sizes, along = np.linalg.eigh(covariance)
            height, width = 2 * radius * np.sqrt(np.maximum(sizes, 0))
            angle = np.degrees(np.arctan2(along[1, 1], along[0, 1]))
            axes.add_patch(
                Ellipse(tuple(center), width, height, angle=angle, fill=False, color=color, alpha=0.35, linewidth=0.6)
            )
    axes.autoscale_view()
    return axes
