"""Go down F(p) = E[x₁ + 2x₂ + 3x₁x₂] over pairs of independent variables that are −1 or +1.

Two metrics, Euclidean and Fisher, and two coordinates, expectations η = E[x] and natural θ, make four flows
from the same starts. They are drawn in the marginals μ = P(x = +1) = (η + 1)/2 and in θ.
"""

import sys
from pathlib import Path

import jax
import numpy as np

from kullback.families import Ising
from kullback.geometry import flow
from kullback.plots import COLORS, panels, plot_flow, plot_levels, save


def objective(p):
    """Return E[x₁ + 2x₂ + 3x₁x₂]. Without interactions E[x₁x₂] = E[x₁]E[x₂]."""
    x1, x2 = p.expectation
    return x1 + 2 * x2 + 3 * x1 * x2


def marginals(p):
    """Return μ = P(x = +1) of each variable."""
    return (p.expectation + 1) / 2


def at_marginals(x, y):
    """Return the distributions with these marginals."""
    return Ising.from_expectation(2 * np.stack([x, y], axis=-1) - 1, interactions=())


def at_natural(x, y):
    """Return the distributions with these natural coordinates."""
    return Ising(np.stack([x, y], axis=-1), interactions=())


def name_corners(axes, x, y, text):
    """Write the values of F at the four sure outcomes."""
    for i, j, value in [(0, 0, "0"), (1, 0, "−4"), (0, 1, "−2"), (1, 1, "6")]:
        side = ["left", "right"][i]
        axes.text(x[i], y[j], text + value, color="0.4", fontsize=9, ha=side, va="center")


def draw_in_marginals(axes, path, color):
    """Draw the flow in the square of marginals, with the values of F at its corners."""
    axes.set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1), xlabel=r"$\mu_1$", ylabel=r"$\mu_2$")
    axes.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color="0.5", linewidth=0.8)
    name_corners(axes, [0, 1], [-0.055, 1.055], "F = ")
    grid = np.linspace(0.001, 0.999, 100)
    plot_levels(objective, at_marginals, grid, grid, axes)
    plot_flow(path, marginals, axes, color)


def draw_in_natural(axes, path, color):
    """Draw the flow in the plane of natural coordinates."""
    axes.set(xlim=(-3, 3), ylim=(-3, 3))
    name_corners(axes, [-2.9, 2.9], [-1.6, 2.4], "F ≈ ")
    grid = np.linspace(-3, 3, 100)
    plot_levels(objective, at_natural, grid, grid, axes)
    plot_flow(path, "natural", axes, color)


def draw():
    """Draw the four flows."""
    side = np.array([0.04, 0.3, 0.65, 0.95])
    starts = at_marginals(*(each.ravel() for each in np.meshgrid(side, side)))
    figure, axes = panels(2, 2)
    for row, metric, color in [(0, "euclidean", "vermilion"), (1, "fisher", "blue")]:
        in_marginals = flow(objective, starts, metric, "expectation", until=2.5)
        draw_in_marginals(axes[row, 0], in_marginals, COLORS[color])
        in_natural = flow(objective, starts, metric, "natural", until=2.5)
        draw_in_natural(axes[row, 1], in_natural, COLORS[color])
    titles = [
        "Euclidean in μ: leaves the square",
        "Euclidean in θ: stalls on the plateaux",
        "Natural, in μ: goes to a corner",
        "Natural, in θ: the same curves",
    ]
    for each, title in zip(axes.flat, titles, strict=True):
        each.set_title(title, fontsize=11, loc="left")
        each.set_aspect("equal")
    marks = "○ start    ● at time 2.5    ✖ stopped at the boundary    gray: level lines of F"
    figure.supxlabel(marks, fontsize=10)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    with jax.enable_x64(True):
        png, svg = save(draw(), folder / "natural_gradient_flows")
    print(f"The picture is in {png} and {svg}")
