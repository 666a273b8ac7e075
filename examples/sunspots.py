"""A forecast of sunspots with bands, by a linear dynamical system.

The yearly numbers from 1700 to 1979 are learned from, as square roots, whose scatter does not grow with their level.
Hidden states that turn make the cycle; nobody told the system that it takes 11 years. The forecast goes 29 years ahead.
Bands hold half of the points and 95 % of them, if the system is right. They widen over the first cycle, as the phase is
forgotten.
"""

import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import sunspots

import kullback
from kullback.plots import COLORS, panels, save

LAST = 1979


def draw():
    """Fit, forecast, and draw both with what has come."""
    table = sunspots.load_pandas().data
    years, numbers = table["YEAR"].to_numpy(), table["SUNACTIVITY"].to_numpy()
    past = years <= LAST
    roots = np.sqrt(numbers[past])
    system = kullback.LinearDynamicalSystem(n_latents=6, max_iter=300, random_state=0).fit(roots)
    ahead = years[~past]
    turns = np.abs(np.angle(np.linalg.eigvals(system.transition_)))
    period = 2 * np.pi / turns[np.argmin(np.abs(turns - 2 * np.pi / 11))]

    figure, axes = panels(width=10.0, height=3.6)
    shown = years >= 1880
    axes.plot(
        years[shown & past],
        numbers[shown & past],
        "o-",
        color="0.35",
        markersize=3,
        linewidth=1.0,
        label="learned from",
    )
    axes.plot(ahead, numbers[~past], "o", color=COLORS["black"], markersize=4, label="what came")
    for level, shade, name in ((0.95, 0.18, "95 % band"), (0.5, 0.35, "50 % band")):
        found = system.forecast(roots, steps=len(ahead), level=level)
        low, high = (np.maximum(edge[:, 0], 0) ** 2 for edge in (found.lower, found.upper))
        axes.fill_between(ahead, low, high, color=COLORS["blue"], alpha=shade, linewidth=0, label=name)
    axes.plot(ahead, np.maximum(found.mean[:, 0], 0) ** 2, color=COLORS["blue"], linewidth=1.8, label="forecast")
    axes.axvline(LAST + 0.5, color="0.4", linewidth=1.0, linestyle=":")
    axes.set(xlim=(1880, years[-1] + 1), ylim=(0, None), ylabel="sunspots")
    axes.set_title(
        f"Sunspots: a cycle of {period:.1f} years, learned from the years to {LAST}", fontsize=12, loc="left"
    )
    axes.legend(loc="upper left", ncols=5, frameon=False, fontsize=9)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "sunspots")
    print(f"The picture is in {png} and {svg}")
