"""A memory of few states as an automaton: which symbol leads from which memory to which."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch

from kullback.plots._colors import colors_of
from kullback.plots._style import COLORS, axes_or_new

#: Colors of symbols, in their order.
_SYMBOLS = ("blue", "vermilion", "green", "purple", "orange", "sky", "yellow", "black")
#: The radius of a state, and how far arrows bend aside, as part of their length.
_RADIUS, _BEND = 0.26, 0.22


def plot_automaton(edges: Any, occupancy: Any = None, least: float = 0.02, axes: Axes | None = None) -> Axes:
    """Draw memories as circles and moves as arrows in the color of their symbol, and return the Axes.

    `edges[z, x, w]` is the probability to see the symbol x in memory z and go to w; all of it sums to 1 for each z, as
    for the transition of a `FiniteProcess`. Beside an arrow stand its symbol and probability. Arrows below `least` are
    left out, and memories in which less than this share of time is spent by `occupancy`; the others are named A, B and
    so on. `axes` is where to draw: a new figure when it is None.

    >>> from kullback.models import even_process
    >>> axes = plot_automaton(even_process().transition)
    >>> sorted(text.get_text() for text in axes.texts)
    ['0 | 0.50', '1 | 0.50', '1 | 1.00', 'A', 'B']
    """
    table = np.asarray(edges, dtype=float)
    if table.ndim != 3 or table.shape[0] != table.shape[2] or len(table) > 12 or table.shape[1] > len(_SYMBOLS):
        raise ValueError(
            f"edges has shape {table.shape}: it must be (memories, symbols, memories), of 12 memories and "
            f"{len(_SYMBOLS)} symbols at most."
        )
    share = np.full(len(table), 1 / len(table)) if occupancy is None else np.asarray(occupancy, dtype=float)
    kept = np.flatnonzero(share >= (least if occupancy is not None else 0))
    k = len(kept)
    axes = axes_or_new(axes)
    angle = np.pi - 2 * np.pi * np.arange(k) / max(k, 1)
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (0.0 if k == 1 else 1.0)
    turns = np.zeros((k, k), int)
    for i, z in enumerate(kept):
        for j, w in enumerate(kept):
            for x in np.flatnonzero(table[z, :, w] >= least):
                text, color = f"{x} | {table[z, x, w]:.2f}", COLORS[_SYMBOLS[x]]
                if i == j:
                    _loop(axes, places[i], angle[i] if k > 1 else np.pi / 2, int(turns[i, j]), text, color)
                else:
                    _arrow(axes, places[i], places[j], _BEND * (1 + 1.2 * turns[i, j]), text, color)
                turns[i, j] += 1
    for i, shade in enumerate(colors_of(k)):
        axes.add_patch(Circle(tuple(places[i]), _RADIUS, facecolor="white", edgecolor="0.25", linewidth=1.6, zorder=3))
        axes.add_patch(Circle(tuple(places[i]), _RADIUS, facecolor=shade, alpha=0.18, zorder=3))
        axes.text(places[i, 0], places[i, 1], chr(ord("A") + i), ha="center", va="center", fontsize=12, zorder=4)
    flat = k == 2
    axes.set(xlim=(-2.0, 2.0), ylim=(-1.0, 1.0) if flat else (-1.9, 1.9), aspect="equal")
    axes.set_axis_off()
    return axes


def _arrow(axes: Axes, tail: np.ndarray, head: np.ndarray, bend: float, text: str, color: str) -> None:
    """Draw a curve from one circle to another, which bends to its left."""
    along = head - tail
    length = float(np.linalg.norm(along))
    along = along / length
    aside = np.array([-along[1], along[0]])
    turn = np.arctan(2 * bend)
    start = tail + _RADIUS * (np.cos(turn) * along + np.sin(turn) * aside)
    end = head - 1.05 * _RADIUS * (np.cos(turn) * along - np.sin(turn) * aside)
    axes.add_patch(
        FancyArrowPatch(
            tuple(start), tuple(end), arrowstyle="-|>", connectionstyle=f"arc3,rad={-bend}", color=color,
            linewidth=1.8, mutation_scale=14, shrinkA=0, shrinkB=0, zorder=2,
        )
    )  # fmt: skip
    corner = (start + end) / 2 + aside * bend * np.linalg.norm(end - start)
    # on the curve, nearer to its tail, so that those of the way back stand apart
    _label(axes, 0.42 * start + 0.455 * corner + 0.125 * end, text, color)


def _loop(axes: Axes, place: np.ndarray, angle: float, turn: int, text: str, color: str) -> None:
    """Draw a way from a circle back to it, away from the middle; further ones stand outside of it."""
    out = np.array([np.cos(angle), np.sin(angle)])
    radius = 0.24 + 0.14 * turn
    middle = place + out * (_RADIUS + 0.72 * radius)
    axes.add_patch(Circle(tuple(middle), radius, facecolor="none", edgecolor=color, linewidth=1.8, zorder=1))
    _label(axes, middle + out * radius, text, color)


def _label(axes: Axes, place: np.ndarray, text: str, color: str) -> None:
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    axes.text(place[0], place[1], text, ha="center", va="center", fontsize=9.5, color=color, bbox=ground, zorder=5)
