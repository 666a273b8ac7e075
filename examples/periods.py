"""Periods in the sunspots, found by minimizing a function with many local minima.

Waves of four periods are fitted to the square roots of the yearly numbers from 1700 to 2008 by least squares, with a
little shrinkage. What is left over is a function of the periods alone, and has a local minimum near many combinations
of peaks of the spectrum. One run of CMA-ES ends in one of them; restarts with larger populations find better ones.
"""

import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import sunspots

import kullback
from kullback.plots import COLORS, panels, plot_search, save

COUNT = 4


def waves(periods, years):
    """Return a constant, and sine and cosine of each period, in columns."""
    angles = 2 * np.pi * (years[:, None] - years[0]) / periods
    return np.concatenate([np.ones((len(years), 1)), np.sin(angles), np.cos(angles)], axis=1)


def fit(periods, years, values):
    """Return the values of the waves nearest to the given ones."""
    design = waves(periods, years)
    gram = design.T @ design + np.eye(design.shape[1])
    return design @ np.linalg.solve(gram, design.T @ values)


def draw():
    """Find the periods, and draw the search and the fit."""
    table = sunspots.load_pandas().data
    years, roots = table["YEAR"].to_numpy(), np.sqrt(table["SUNACTIVITY"].to_numpy())

    def unexplained(logarithms):
        return np.mean((roots - fit(np.exp(logarithms), years, roots)) ** 2) / np.var(roots)

    limits = np.log([5.0, 150.0])
    result = kullback.minimize(unexplained, np.full(COUNT, limits.mean()), 0.8, bounds=limits, budget=8_000, seed=1)
    found = np.sort(np.exp(result.x))

    figure, axes = panels(rows=2, columns=3, width=4.0, height=3.0)
    plot_search(result, axes[0])
    for each in axes[1]:
        each.remove()
    below = figure.add_subplot(axes[1][0].get_gridspec()[1, :])
    below.plot(years, roots**2, "o-", color="0.5", markersize=2.5, linewidth=0.8, label="sunspots")
    fitted = np.maximum(fit(found, years, roots), 0) ** 2
    below.plot(years, fitted, color=COLORS["vermilion"], linewidth=1.6, label=f"{COUNT} waves")
    below.set(xlim=(years[0], years[-1]), ylim=(0, None), ylabel="sunspots")
    below.set_title(
        f"Periods of {', '.join(f'{period:.1f}' for period in found)} years leave {result.fun:.0%} unexplained, "
        f"after {result.restarts} restarts",
        fontsize=12,
        loc="left",
    )
    below.legend(loc="upper left", ncols=2, frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "periods")
    print(f"The picture is in {png} and {svg}")
