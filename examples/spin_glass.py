"""Find the ground state of a planar spin glass of 100 spins, from values of its energy alone.

Couplings of ±1 between neighbors on a 10 × 10 grid; the minimum is known by dynamic programming. Independent spins, a
Markov random field on the grid, and one that has to find the grid itself, each with 5,000 evaluations.
"""

import sys
from pathlib import Path

import numpy as np

from kullback import minimize_binary
from kullback.plots import COLORS, panels, save

SIDE = 10
LEAST = -132.0
PLACE = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
PAIRS = np.concatenate(
    [
        np.stack([PLACE[:, :-1].ravel(), PLACE[:, 1:].ravel()], axis=1),
        np.stack([PLACE[:-1].ravel(), PLACE[1:].ravel()], axis=1),
    ]
)
COUPLINGS = np.random.default_rng(0).choice([-1.0, 1.0], len(PAIRS))


def energy(x):
    """Return Σ J_ij x_i x_j of each row."""
    return (x[:, PAIRS[:, 0]] * x[:, PAIRS[:, 1]]) @ COUPLINGS


def draw_state(axes, x):
    """Draw the spins, and the pairs whose coupling is not satisfied."""
    axes.imshow(x.reshape(SIDE, SIDE), cmap="Greys", vmin=-3, vmax=3)
    for (i, j), coupling in zip(PAIRS, COUPLINGS, strict=True):
        if coupling * x[i] * x[j] > 0:
            (row, column), (other, next_to) = divmod(i, SIDE), divmod(j, SIDE)
            axes.plot([column, next_to], [row, other], color=COLORS["vermilion"], linewidth=2)
    axes.set(xticks=[], yticks=[])
    axes.set_title("Its ground state; red: unsatisfied pairs", fontsize=11, loc="left")


def draw():
    """Run the three searches, and draw how far each has come."""
    figure, axes = panels(1, 2)
    searches = {"independent spins": "none", "Markov random field, grid given": PAIRS, "grid found": "auto"}
    for (name, interactions), color in zip(searches.items(), ["sky", "blue", "green"], strict=True):
        result = minimize_binary(energy, SIDE**2, interactions, budget=5_000, target=LEAST, vectorized=True)
        best = np.minimum.accumulate(result.history.best)
        axes[0].step(result.history.evaluations, best, where="post", label=name, color=COLORS[color])
        print(f"{name}: {result.fun:g} after {result.nfev} evaluations ({result.stopped})")
        if interactions is PAIRS:
            draw_state(axes[1], result.x)
    axes[0].axhline(LEAST, color="0.5", linewidth=0.8)
    axes[0].set(xlabel="evaluations", ylabel="least energy so far", ylim=(-140, 10))
    axes[0].set_title("100 spins; the line is the minimum", fontsize=11, loc="left")
    axes[0].legend()
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output"
    png, svg = save(draw(), folder / "spin_glass")
    print(f"The picture is in {png} and {svg}")
