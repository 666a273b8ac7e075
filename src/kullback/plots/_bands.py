"""Predicted distributions along one input: bands, sets of several pieces, and probabilities of categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._colors import colors_of
from kullback.plots._style import COLORS, axes_or_new

#: How far a bar reaches to both sides where inputs are apart, as part of their distance.
_REACH = 0.32


def plot_bands(
    x: Any,
    center: Any,
    bands: Sequence[tuple[Any, Any, str]],
    values: Any = None,
    apart: bool = False,
    axes: Axes | None = None,
) -> Axes:
    """Draw predicted distributions along an input as bands around their center, with the data; return the Axes.

    `center` and the edges of the bands belong to the inputs `x`; each band is a lower edge, an upper edge and a name,
    the widest first. `values` are inputs and targets of rows, which are dots. With `apart`, inputs are a few that have
    nothing between them: bands are bars then. `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_bands([0, 1, 2], [1.0, 2.0, 3.0], [([0, 1, 2], [2, 3, 4], "90 %")], ([0.5], [1.2]))
    >>> axes.get_legend_handles_labels()[1]
    ['90 %', 'center']
    """
    axes = axes_or_new(axes)
    x, center = np.asarray(x, dtype=float), np.asarray(center, dtype=float)
    _draw_rows(axes, values)
    reach = _reach(x)
    for place, (lower, upper, name) in enumerate(bands):
        low, high = (np.asarray(edge, dtype=float) for edge in (lower, upper))
        look: dict[str, Any] = {"color": COLORS["blue"], "alpha": 0.2 + 0.2 * place, "linewidth": 0, "label": name}
        if apart:
            axes.bar(x, high - low, 2 * reach, low, **look)
        else:
            axes.fill_between(x, low, high, **look)
    if apart:
        axes.hlines(center, x - reach, x + reach, color=COLORS["blue"], linewidth=2.0, label="center")
    else:
        axes.plot(x, center, color=COLORS["blue"], linewidth=2.0, label="center")
        axes.set_xlim(x[0], x[-1])
    return axes


def plot_sets(
    x: Any,
    y: Any,
    levels: Any,
    center: Any = None,
    values: Any = None,
    shown: Sequence[float] = (0.9, 0.5),
    apart: bool = False,
    axes: Axes | None = None,
) -> Axes:
    """Draw predicted distributions along an input as smallest sets, which may have several pieces; return the Axes.

    `levels[i, j]` is how much the smallest set at the input `x[i]` holds that has `y[j]` in it: those of at most
    `shown` are filled. `center`, `values`, `apart` and `axes` are as in `plot_bands`; a center is broken where it jumps
    by half of `y` or more, as angles do.

    >>> y = np.linspace(-1, 1, 41)
    >>> axes = plot_sets([0.0, 1.0], y, np.stack([np.abs(y), np.abs(y)]))
    >>> len(axes.collections)
    2
    """
    axes = axes_or_new(axes)
    x, y, table = (np.asarray(each, dtype=float) for each in (x, y, levels))
    if table.shape != (len(x), len(y)):
        raise ValueError(f"levels has shape {table.shape}: there are {len(x)} inputs and {len(y)} targets.")
    _draw_rows(axes, values)
    reach = _reach(x)
    strips = (
        [(np.array([at - reach, at + reach]), np.stack([row, row])) for at, row in zip(x, table, strict=True)]
        if apart
        else [(x, table)]
    )
    for place, level in enumerate(shown):
        for at, part in strips:
            axes.contourf(at, y, part.T, [-1.0, level], colors=[COLORS["blue"]], alpha=0.2 + 0.2 * place)
    if center is not None:
        middle = np.asarray(center, dtype=float)
        if apart:
            axes.hlines(middle, x - reach, x + reach, color=COLORS["blue"], linewidth=2.0)
        else:
            jumps = np.flatnonzero(np.abs(np.diff(middle)) >= np.ptp(y) / 2) + 1
            axes.plot(
                np.insert(x, jumps, np.nan), np.insert(middle, jumps, np.nan), color=COLORS["blue"], linewidth=2.0
            )
    if not apart:
        axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    return axes


def plot_probabilities(
    x: Any,
    probabilities: Any,
    names: Sequence[str],
    shares: tuple[Any, Any] | None = None,
    apart: bool = False,
    axes: Axes | None = None,
) -> Axes:
    """Draw the probabilities of categories along an input as lines, with the shares of rows; return the Axes.

    `probabilities` has a row for each input `x` and a column for each of the `names`. `shares` are inputs and a similar
    table: how many of the rows around them have each category, drawn as dots. `apart` and `axes` are as in
    `plot_bands`.

    >>> axes = plot_probabilities([0, 1], [[0.2, 0.8], [0.6, 0.4]], ["no", "yes"])
    >>> axes.get_legend_handles_labels()[1]
    ['no', 'yes']
    """
    axes = axes_or_new(axes)
    x, table = np.asarray(x, dtype=float), 100 * np.asarray(probabilities, dtype=float)
    if table.shape != (len(x), len(names)):
        raise ValueError(f"probabilities has shape {table.shape}: there are {len(x)} inputs and {len(names)} names.")
    for place, (name, color) in enumerate(zip(names, colors_of(len(names)), strict=True)):
        if apart:
            shift = (place - (len(names) - 1) / 2) * 0.5 * _reach(x) / len(names)
            reach = _reach(x)
            axes.hlines(table[:, place], x - reach, x + reach, color=color, linewidth=2.0, label=name)
        else:
            shift = 0.0
            axes.plot(x, table[:, place], color=color, linewidth=2.0, label=name)
        if shares is not None:
            at, seen = np.asarray(shares[0], dtype=float), 100 * np.asarray(shares[1], dtype=float)
            axes.plot(at + shift, seen[:, place], "o", color=color, markersize=4, alpha=0.7)
    highest = max(table.max(), 0.0 if shares is None else 100 * np.max(shares[1]))
    axes.set_ylim(-0.03 * min(1.3 * highest, 100), min(1.3 * highest, 103))
    if not apart:
        axes.set_xlim(x[0], x[-1])
    return axes


def _draw_rows(axes: Axes, values: Any) -> None:
    if values is not None:
        at, seen = (np.asarray(each, dtype=float) for each in values)
        axes.plot(at, seen, "o", color="0.5", alpha=0.5, markersize=2.6, markeredgewidth=0)


def _reach(x: np.ndarray) -> float:
    return _REACH * float(np.min(np.diff(np.unique(x)))) if len(np.unique(x)) > 1 else _REACH
