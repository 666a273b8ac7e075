"""Balls of constant relative entropy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from kullback.families import Gaussian
from kullback.geometry import relative_entropy
from kullback.plots._style import axes_or_new, name_axes
from kullback.runtime import in_float64


def plot_balls(
    centers: Gaussian,
    radius: float,
    axes: Axes | None = None,
    color: Any = None,
    label: str | None = None,
    points: int = 200,
) -> Axes:
    """Draw the Gaussians q with D(p, q) = `radius` around each center p, in (μ, σ), and return the Axes.

    `centers` is one univariate Gaussian or a batch of them. Each ball is a closed line through `points`
    points, around the dot of its center. `axes` is where to draw: a new figure when it is None. `color` is
    the next one of the Axes when it is None; `label` is for a legend.

    >>> axes = plot_balls(Gaussian([[0.0], [0.0]], [[[1.0]], [[4.0]]]), radius=0.02)
    >>> narrow, wide = (line.get_xdata() for line in axes.lines[:2])
    >>> round(float(max(wide) / max(narrow)), 6)  # twice the deviation, twice the ball
    2.0
    """
    if centers.event_shape != (1,):
        raise ValueError(f"centers has {centers.event_shape[0]} dimensions: it must have one.")
    if not radius > 0:
        raise ValueError(f"radius is {radius}: it must be positive.")
    axes = axes_or_new(axes)
    mean = np.asarray(centers.mean, dtype=float).reshape(-1)
    deviation = np.sqrt(np.asarray(centers.covariance, dtype=float).reshape(-1))
    for ring in _rings(mean, deviation, radius, points):
        (line,) = axes.plot(*ring.T, color=color, label=label, linewidth=1.4)
        color, label = line.get_color(), None  # one color, and one entry of the legend, for all balls
    axes.plot(mean, deviation, color=color, linestyle="none", marker="o", markersize=3)
    name_axes(axes, r"mean $\mu$", r"standard deviation $\sigma$")
    return axes


@in_float64
def _rings(mean: NDArray[Any], deviation: NDArray[Any], radius: float, points: int) -> NDArray[Any]:
    """Find D(p, q) = radius on rays from each center, by bisection: along a ray D only grows."""
    angle = np.linspace(0, 2 * np.pi, points)
    across, up = np.cos(angle), np.sin(angle)

    def place(r: Any) -> tuple[Any, Any]:
        return mean[:, None] + deviation[:, None] * r * across, deviation[:, None] * (1 + r * up)

    def halve(_: Any, bracket: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bracket
        middle = (low + high) / 2
        mu, sigma = place(middle)
        inside = relative_entropy(p, Gaussian(mu[..., None], jnp.square(sigma)[..., None, None])) < radius
        return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

    p = Gaussian(mean[:, None, None], np.square(deviation)[:, None, None, None])
    # in units of the σ of p, and with r the radius: a ball has |μ| < eʳ and 0 < σ < exp(r + ½)
    far = np.minimum(np.exp(radius) + np.exp(radius + 0.5), 1 / np.maximum(-up, 1e-9))
    bracket = (jnp.zeros((len(mean), points)), jnp.broadcast_to(far, (len(mean), points)))
    _, r = jax.lax.fori_loop(0, 60, halve, bracket)
    return np.stack([np.asarray(each) for each in place(r)], axis=-1)
