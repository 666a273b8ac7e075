"""Booms and slumps of the United States, found by a hidden Markov model that was told of neither.

Each quarter from 1959 to 2009 has two numbers: how much real output has grown, and by how much unemployment has
changed. A chain of two states explains them; the probability of the one with less growth is what is drawn. Years that
are known as recessions come out as slumps, with some quarters after them in which unemployment was still rising.
"""

import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import macrodata

import kullback
from kullback.plots import COLORS, panels, save


def quarters():
    """Return the time of each quarter, the growth of output, and the change of unemployment, in percent."""
    table = macrodata.load_pandas().data
    growth = 100 * np.diff(np.log(table["realgdp"]))
    unemployment = np.diff(table["unemp"])
    time = (table["year"] + (table["quarter"] - 1) / 4).to_numpy()[1:]
    return time, growth, unemployment


def draw():
    """Fit, and draw the series over the probability of a slump."""
    time, growth, unemployment = quarters()
    X = np.stack([growth, unemployment], axis=1)
    hmm = kullback.GaussianHMM(2, covariance_type="full", n_iter=200, tol=1e-6, n_init=3, random_state=0).fit(X)
    slump = int(np.argmin(hmm.means_[:, 0]))
    probability = hmm.predict_proba(X)[:, slump]
    stays = 1 / (1 - np.diagonal(hmm.transmat_))

    figure, axes = panels(rows=3, width=10.0, height=1.8)
    show(axes[0], time, growth, probability, "growth of output, %", COLORS["blue"])
    show(axes[1], time, unemployment, probability, "change of\nunemployment, %", COLORS["green"])
    axes[2].fill_between(time, 0, probability, color=COLORS["vermilion"], alpha=0.6, linewidth=0)
    axes[2].set(xlim=(time[0], time[-1]), ylim=(0, 1), ylabel="probability\nof a slump")
    axes[0].set_title(
        f"The United States by quarter: a slump lasts {stays[slump]:.0f} quarters on average, a boom "
        f"{stays[1 - slump]:.0f}",
        fontsize=12,
        loc="left",
    )
    return figure


def show(axes, time, values, probability, name, color):
    """Draw a series, with the quarters shaded that were more probably in a slump than not."""
    shade = {"color": COLORS["vermilion"], "alpha": 0.18, "linewidth": 0}
    axes.fill_between(time, 0, 1, where=probability > 0.5, step="mid", transform=axes.get_xaxis_transform(), **shade)
    axes.axhline(0, color="0.75", linewidth=0.8)
    axes.plot(time, values, color=color, linewidth=1.3)
    axes.set(xlim=(time[0], time[-1]), xticklabels=[], ylabel=name)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "business_cycle")
    print(f"The picture is in {png} and {svg}")
