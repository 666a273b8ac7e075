"""A stream that changes in the middle: a constant rate follows it, a rate that decays does not.

A hidden Markov model of two states meets a series piece by piece, 100 steps at a time, and sees each piece once.
Half-way both states move. With a constant rate the model forgets the past and is back after some dozens of pieces. With
a rate of 1/t all pieces count alike: right when nothing changes, and stuck half-way between past and present after a
change. The default decays more slowly and comes back late. The lower picture has the log-likelihood of each piece
before the model has learned from it.
"""

import sys
from pathlib import Path

import numpy as np

import kullback
from kullback.plots import COLORS, panels, save

PIECE, PIECES, CHANGE = 100, 200, 100
RATE = 0.1
BEFORE, AFTER = np.array([-2.0, 2.0]), np.array([0.5, 5.0])


def series(rng):
    """Draw a chain that stays in its state for 20 steps on average, and what it emits."""
    rows = PIECE * PIECES
    states = np.cumsum(rng.random(rows) < 0.05) % 2
    means = np.where(np.arange(rows)[:, None] < CHANGE * PIECE, BEFORE, AFTER)
    return means[np.arange(rows), states] + rng.normal(size=rows)


def follow(values, rate):
    """Return the means of both states after each piece, and the log-likelihood that each piece was met with."""
    hmm = kullback.GaussianHMM(2, rate=rate, random_state=0)
    means, scores = [], []
    for piece in values.reshape(PIECES, PIECE, 1):
        hmm.partial_fit(piece, continues=True)
        means.append(np.sort(hmm.means_.ravel()))
        scores.append(hmm.lower_bound_)
    return np.array(means), np.array(scores)


def draw():
    """Draw the series with the means on the way, and the log-likelihoods."""
    values = series(np.random.default_rng(0))
    figure, axes = panels(rows=2, width=10.0, height=2.7)
    pieces = np.arange(1, PIECES + 1)
    axes[0].plot(np.arange(len(values))[::4] / PIECE, values[::4], ".", color="0.8", markersize=2, rasterized=True)
    for rate, name, color in (
        (lambda step: 1 / (step + 1), "1/t: all pieces count alike", COLORS["blue"]),
        (None, "the default, which decays more slowly", COLORS["green"]),
        (RATE, f"a constant rate of {RATE}", COLORS["vermilion"]),
    ):
        means, scores = follow(values, rate)
        for place in range(2):
            axes[0].plot(pieces, means[:, place], color=color, linewidth=1.8, label=name if place == 0 else None)
        smooth = np.convolve(scores, np.ones(9) / 9, mode="valid")
        axes[1].plot(pieces[4:-4], smooth, color=color, linewidth=1.8)
    for each in axes:
        each.axvline(CHANGE, color="0.4", linewidth=1.0, linestyle=":")
        each.set(xlim=(0, PIECES))
    axes[0].set(ylabel="the series, and\nthe means of the states", xticklabels=[])
    axes[1].set(ylabel="log-likelihood of a piece,\nnats per step", xlabel="pieces seen")
    axes[0].legend(loc="upper left", frameon=False, fontsize=9)
    axes[0].set_title("After a change a constant rate follows; a rate that decays does not", fontsize=12, loc="left")
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "drift")
    print(f"The picture is in {png} and {svg}")
