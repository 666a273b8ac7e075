"""Climb E[f] over Gaussians, for three functions f: two polynomials in x, and a quadratic in the plane.

The natural flow is the same curve in all coordinates. The Euclidean flow is another one in each: in the mean
and the variance, which are the library's source coordinates, and in the mean and the standard deviation.
A flow goes down, so the objective is −E[f].
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.ode import odeint
from jax.tree_util import Partial

from kullback.families import Gaussian
from kullback.geometry import Track, flow
from kullback.plots import COLORS, panels, plot_flow, plot_levels, save

NATURAL = {"color": COLORS["blue"], "label": "natural"}
SOURCE = {"color": COLORS["vermilion"], "label": "Euclidean in (μ, σ²), or (μ, Σ)"}
DEVIATION = {"color": COLORS["green"], "label": "Euclidean in (μ, σ)"}


def minus_polynomial(a, p):
    """Return −E[a₁x + a₂x² + a₃x³ + a₄x⁴] for x from N(μ, v)."""
    m, v = p.mean[0], p.covariance[0, 0]
    return -a @ jnp.stack([m, m**2 + v, m**3 + 3 * m * v, m**4 + 6 * m**2 * v + 3 * v**2])


def quadratic(x):
    """Return f(x) = x₁ + 2x₂ − 3x₁² − 2x₁x₂ − 2x₂²."""
    return x[0] + 2 * x[1] - 3 * x[0] ** 2 - 2 * x[0] * x[1] - 2 * x[1] ** 2


def minus_quadratic(p):
    """Return −E[f]: −f at the mean, and a part that is linear in the covariance."""
    c = p.covariance
    return -quadratic(p.mean) + 3 * c[0, 0] + 2 * c[0, 1] + 2 * c[1, 1]


def gaussians(m, s):
    """Return the Gaussians with these means and standard deviations."""
    return Gaussian(m[..., None], s[..., None, None] ** 2)


def mean_and_deviation(p):
    """Return (μ, σ)."""
    return jnp.concatenate([p.mean, jnp.sqrt(p.covariance[..., 0])], axis=-1)


@jax.jit
def flow_in_deviation(F, p):
    """Take the Euclidean flow in (μ, σ), by hand: they are none of the library's coordinates."""
    times = jnp.linspace(0, 1, 5000)
    slope = jax.grad(lambda xi: F(gaussians(xi[0], xi[1])))
    tracks = jax.vmap(lambda start: odeint(lambda xi, t: -slope(xi), start, times))(mean_and_deviation(p))
    members = gaussians(tracks[..., 0], tracks[..., 1])
    values = jax.vmap(jax.vmap(F))(members)
    return Track(members, values, jnp.broadcast_to(times, values.shape), jnp.zeros(len(values), bool))


def draw_polynomial(axes, coefficients, starts, right, top, levels):
    """Draw three flows in (μ, σ), over the level lines of E[f]."""
    # a function with data, and as many starts: flows compile once for both polynomials
    F = Partial(minus_polynomial, jnp.array(coefficients))
    p = gaussians(*np.array(starts).T)
    axes.set(xlim=(-right, right), ylim=(-0.04 * top, top))
    axes.set(xlabel=r"mean $\mu$", ylabel=r"standard deviation $\sigma$")
    axes.axhline(0, color="0.5", linewidth=0.8)
    plot_levels(F, gaussians, np.linspace(-right, right, 100), np.linspace(0.001, top, 100), axes, levels)
    euclidean = flow(F, p, "euclidean", "source", until=1.0, points=5000)
    natural = flow(F, p, "fisher", "source", until=40.0, points=50_000)  # it starts fast and ends slowly
    plot_flow(flow_in_deviation(F, p), mean_and_deviation, axes, **DEVIATION)
    plot_flow(euclidean, mean_and_deviation, axes, **SOURCE)
    plot_flow(natural, mean_and_deviation, axes, **NATURAL)


def draw_quadratic(axes):
    """Draw two flows, projected onto the plane of the means, over the level lines of f itself."""
    means = np.array([[-1.5, -1.0], [-1.5, 1.0], [-0.5, 2.2], [1.5, 2.0], [1.5, 0.0], [0.5, -1.2]])
    p = Gaussian(means, np.array([[1.0, -0.5], [-0.5, 2.0]]))
    grid = np.linspace(-2, 2, 100)
    axes.set(xlim=(-2, 2), ylim=(-1.5, 2.5), xlabel=r"$\mu_1$", ylabel=r"$\mu_2$")
    plot_levels(quadratic, lambda x, y: jnp.stack([x, y], axis=-1), grid, grid + 0.5, axes, levels=16)
    euclidean = flow(minus_quadratic, p, "euclidean", "source", until=0.2)
    natural = flow(minus_quadratic, p, "fisher", "source", until=40.0, points=20_000)
    plot_flow(euclidean, lambda p: p.mean, axes, **SOURCE)
    plot_flow(natural, lambda p: p.mean, axes, **NATURAL)


def draw():
    """Draw the three panels and a legend."""
    figure, axes = panels(1, 3)
    axes[0].plot([], [], "X", color="0.4", label="stopped: the covariance is singular")
    starts = [(-1.2, 0.5), (-1.2, 1.4), (-0.4, 1.4), (0.8, 1.4), (1.3, 1.1), (1.2, 0.5)]
    draw_polynomial(axes[0], [1.0, -3.0, 0.0, 0.0], starts, right=1.4, top=1.55, levels=14)
    starts = [(-2.0, 0.3), (-2.0, 1.5), (-1.0, 0.3), (-1.0, 1.5), (1.6, 1.5), (2.2, 0.4)]
    levels = [-12, -9, -6, -3, 0, 3, 6, 10, 15, 25, 35, 50, 70, 100, 140]
    draw_polynomial(axes[1], [6.0, 8.0, -1.0, -2.0], starts, right=2.4, top=1.65, levels=levels)
    draw_quadratic(axes[2])
    axes[0].set_title(r"$f = x - 3x^2$", fontsize=11)
    axes[1].set_title(r"$f = 6x + 8x^2 - x^3 - 2x^4$", fontsize=11)
    axes[2].set_title(r"$f = x_1 + 2x_2 - 3x_1^2 - 2x_1x_2 - 2x_2^2$", fontsize=11)
    title = "Climbing E[f]: Euclidean flows depend on the coordinates and can leave the family"
    figure.suptitle(title, fontsize=12)
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines[::-1], labels[::-1], loc="outside lower center", ncols=4, frameon=False)
    return figure


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "output"
    with jax.enable_x64(True):
        png, svg = save(draw(), folder / "gaussian_flows")
    print(f"The picture is in {png} and {svg}")
