"""Tracks of distributions that move."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from kullback.families import Coordinates
from kullback.geometry import Track
from kullback.plots._style import axes_or_new, name_axes

_SYMBOLS = {"natural": r"\theta", "expectation": r"\eta", "source": r"\xi"}

#: A track shorter than this part of the picture has no room for arrow heads.
_SHORT = 0.04


def plot_flow(
    path: Track,
    coordinates: Coordinates | Callable[[Any], Any] = "natural",
    axes: Axes | None = None,
    color: Any = None,
    label: str | None = None,
    arrows: int = 1,
) -> Axes:
    """Draw the tracks of a path, and return the Axes.

    Each start is an open circle, and `arrows` heads along its track point ahead. A track ends in a dot, or
    in a cross where it stopped at the boundary of the family. `coordinates` says what is drawn: the first
    two coordinates of that name; or it is a function that takes all members of the path at once and returns
    what is drawn, x and y on the last axis. `axes` is where to draw: a new figure when it is None. `color`
    is the next one of the Axes when it is None; `label` is for a legend. Limits that are set beforehand are
    kept, and the heads are spread over what is inside of them.

    >>> from kullback.families import Gaussian
    >>> from kullback.geometry import flow
    >>> path = flow(lambda p: p.mean[0] ** 2, Gaussian([1.0], [[1.0]]), until=1.0)
    >>> axes = plot_flow(path, "expectation", label="natural flow")
    >>> bool((axes.lines[0].get_xdata() == path.coordinates("expectation")[:, 0]).all())
    True
    """
    axes = axes_or_new(axes)
    drawn = np.asarray(coordinates(path.members) if callable(coordinates) else path.coordinates(coordinates))
    if drawn.shape[-1] < 2:
        raise ValueError(f"coordinates has {drawn.shape[-1]} number for each member: a picture needs two.")
    tracks = drawn[..., :2].reshape(-1, drawn.shape[-2], 2)
    if isinstance(coordinates, str):
        symbol = _SYMBOLS[coordinates]
        name_axes(axes, f"${symbol}_1$", f"${symbol}_2$")
    for track in tracks:
        (line,) = axes.plot(*track.T, color=color, label=label, linewidth=1.4)
        color, label = line.get_color(), None  # one color, and one entry of the legend, for all tracks
    stuck = np.asarray(path.at_boundary).reshape(-1)
    marks: dict[str, Any] = {"color": color, "linestyle": "none", "zorder": 3}
    cross = {"marker": "X", "markersize": 7, "markeredgecolor": "white", "markeredgewidth": 0.6}
    axes.plot(*tracks[:, 0].T, marker="o", markersize=4.5, markerfacecolor="white", **marks)
    axes.plot(*tracks[~stuck, -1].T, marker="o", markersize=4, **marks)
    axes.plot(*tracks[stuck, -1].T, **{**marks, **cross})
    _draw_heads(axes, tracks, arrows, color)
    return axes


def _draw_heads(axes: Axes, tracks: NDArray[Any], arrows: int, color: Any) -> None:
    """Draw arrow heads at equal distances along the part of each track that is in sight."""
    limits = np.array([axes.get_xlim(), axes.get_ylim()])
    low, span = limits.min(axis=1), np.ptp(limits, axis=1)
    places, directions = [], []
    for track in tracks:
        scaled = (track - low) / span
        middle = (scaled[1:] + scaled[:-1]) / 2
        in_sight = np.all((middle >= 0) & (middle <= 1), axis=1)
        length = np.cumsum(np.where(in_sight, np.linalg.norm(np.diff(scaled, axis=0), axis=1), 0))
        if length[-1] < _SHORT:
            continue
        for k in np.searchsorted(length, length[-1] * np.arange(1, arrows + 1) / (arrows + 1)):
            step = track[k + 1] - track[k]
            places.append(track[k + 1])
            directions.append(step / np.linalg.norm(step))
    if not places:
        return
    # the angle of a head is worked out when the page is drawn, so that limits set later do not spoil it
    axes.quiver(
        *np.transpose(places), *np.transpose(directions), color=color, angles="xy", pivot="mid", zorder=2.5,
        units="inches", width=0.018, headwidth=5, headlength=6, headaxislength=5,
        scale_units="inches", scale=1 / (6 * 0.018), minshaft=0.1, minlength=0,
    )  # fmt: skip
