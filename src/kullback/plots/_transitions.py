"""The graph of a Markov chain."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch

from kullback.plots._colors import colors_of
from kullback.plots._style import axes_or_new

#: Transitions of lower probability are left out.
LEAST = 0.01
#: How far an arrow bends aside, as part of its length.
_BEND = 0.18


def plot_transitions(transitions: Any, occupancy: Any = None, axes: Axes | None = None) -> Axes:
    """Draw states as circles on a ring and transitions as arrows, wider where they are more probable; return the Axes.

    `transitions` has in row i, column j the probability of going from i to j; below 0.01 there is no arrow. The circle
    of a state tells its number and how probably it stays; `occupancy`, the share of time in each state, makes those
    that are visited more larger. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_transitions([[0.9, 0.1], [0.0, 1.0]])
    >>> [text.get_text().split() for text in axes.texts]
    [['0.10'], ['0', '0.90'], ['1', '1.00']]
    """
    matrix = np.asarray(transitions, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"transitions has shape {matrix.shape}: it must be square.")
    k = len(matrix)
    axes = axes_or_new(axes)
    share = np.full(k, 1 / k) if occupancy is None else np.asarray(occupancy, dtype=float)
    angle = np.pi - 2 * np.pi * np.arange(k) / k
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (0.0 if k == 1 else 1.0)
    largest = min(0.34, 0.75 * np.sin(np.pi / k)) if k > 1 else 0.34
    radii = largest * np.sqrt(0.35 + 0.65 * share / max(share.max(), 1e-12))
    colors = colors_of(k)
    for i, j in zip(*np.nonzero(matrix >= LEAST), strict=True):
        if i != j:
            _arrow(axes, places[i], places[j], radii[i], radii[j], matrix[i, j], colors[i], label=k <= 6)
    for state in range(k):
        look: dict[str, Any] = {"edgecolor": colors[state], "linewidth": 2.2, "zorder": 3}
        axes.add_patch(Circle(tuple(places[state]), radii[state], facecolor="white", **look))
        axes.add_patch(Circle(tuple(places[state]), radii[state], facecolor=colors[state], alpha=0.3, zorder=3))
        text = f"{state}\n{matrix[state, state]:.2f}" if k <= 10 else str(state)
        size = 10 if k <= 10 else 8
        axes.text(places[state, 0], places[state, 1], text, ha="center", va="center", fontsize=size, zorder=4)
    flat = k == 2  # two states lie side by side
    axes.set(xlim=(-1.45, 1.45), ylim=(-0.75, 0.75) if flat else (-1.4, 1.4), aspect="equal")
    axes.set_axis_off()
    return axes


def _arrow(
    axes: Axes, tail: np.ndarray, head: np.ndarray, r: float, s: float, p: float, color: Any, label: bool
) -> None:
    along = head - tail
    length = np.linalg.norm(along)
    along = along / length
    aside = np.array([-along[1], along[0]])  # the way back bends to the other side
    turn = np.arctan(2 * _BEND)  # the angle at which the curve leaves
    start = tail + r * (np.cos(turn) * along + np.sin(turn) * aside)
    end = head - s * 1.06 * (np.cos(turn) * along - np.sin(turn) * aside)
    width = 0.8 + 4.0 * p
    axes.add_patch(
        FancyArrowPatch(
            tuple(start), tuple(end), arrowstyle="-|>", connectionstyle=f"arc3,rad={-_BEND}", color=color,
            linewidth=width, mutation_scale=9 + 2 * width, shrinkA=0, shrinkB=0, zorder=2,
        )
    )  # fmt: skip
    if label:
        # on the curve, nearer to its tail, where fewer others cross it
        corner = (start + end) / 2 + aside * _BEND * np.linalg.norm(end - start)
        x, y = 0.36 * start + 0.48 * corner + 0.16 * end
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.text(x, y, f"{p:.2f}", ha="center", va="center", fontsize=9, bbox=ground)
