"""A stream that drifts: weekly carbon dioxide on Mauna Loa from 1958 to 2001, predicted a quarter ahead.

A Gaussian regression on the season (two sines and two cosines of the day of the year) is learned quarter by quarter
with `partial_fit`, and each quarter is predicted before it is learned from. The season stays and the level rises, which
no input tells. With a rate all that is older fades: 0.3 means that the last quarter counts three tenths, and the
prediction follows. Without one nothing is forgotten, which is right where nothing changes: here the prediction stays
behind, and its band widens to make up for it. The lower picture has the log-likelihood of each quarter when it came.
"""

import sys
from pathlib import Path

import numpy as np
from statsmodels.datasets import co2

import kullback
from kullback.plots import COLORS, panels, save

WEEKS = 13
RATE = 0.3


def read():
    """Return the date of each week in years, its season as inputs, and the carbon dioxide where it was measured."""
    table = co2.load_pandas().data["co2"].dropna()
    dates = table.index.year + (table.index.day_of_year - 0.5) / 365.25
    turns = 2 * np.pi * np.asarray(dates)[:, None] * np.array([1, 2])
    return np.asarray(dates), np.concatenate([np.sin(turns), np.cos(turns)], axis=1), table.to_numpy()


def follow(X, y, rate):
    """Return what was predicted of each week before its quarter was learned from: 5 %, 50 %, 95 %, and the score."""
    regressor = kullback.Regressor("gaussian", rate=rate).partial_fit(X[: 4 * WEEKS], y[: 4 * WEEKS])
    found = [np.full((4 * WEEKS, 4), np.nan)]
    for start in range(4 * WEEKS, len(y), WEEKS):
        now = slice(start, start + WEEKS)
        predicted = regressor.predict_distribution(X[now])
        quantiles = [predicted.quantile(level) for level in (0.05, 0.5, 0.95)]
        found.append(np.stack([*quantiles, predicted.log_prob(y[now])], axis=1))
        regressor.partial_fit(X[now], y[now])
    return np.concatenate(found).T


def draw():
    """Follow the stream with and without a rate, and draw predictions with what came, and scores."""
    dates, X, y = read()
    figure, axes = panels(rows=2, width=10.0, height=2.9)
    axes[0].plot(dates, y, ".", color="0.45", markersize=2, label="what came")
    for rate, name, color in (
        (None, "nothing is forgotten", COLORS["vermilion"]),
        (RATE, f"a rate of {RATE}", COLORS["blue"]),
    ):
        low, middle, high, score = follow(X, y, rate)
        inside = np.nanmean(np.where(np.isnan(low), np.nan, (y >= low) & (y <= high)))
        print(f"{name:22} {np.nanmean(score):7.2f} nats per week, {100 * inside:.0f} % inside of 90 % intervals")
        axes[0].fill_between(dates, low, high, color=color, alpha=0.25, linewidth=0)
        axes[0].plot(dates, middle, color=color, linewidth=1.2, label=name)
        axes[1].plot(dates, score, color=color, linewidth=0.8)
    for panel in axes:
        panel.set_xlim(dates[0], dates[-1])
    axes[0].set(ylabel="CO₂ (ppm)", xticklabels=[])
    axes[1].set(ylabel="log-likelihood of a week\nbefore it was learned from", ylim=(-7, 0))
    axes[0].legend(loc="upper left", frameon=False, fontsize=9)
    axes[0].set_title("A rate follows the drift; without one the prediction stays behind", fontsize=12, loc="left")
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "drifting_stream")
    print(f"The picture is in {png} and {svg}")
