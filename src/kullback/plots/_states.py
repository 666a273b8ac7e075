"""A series, and the states it goes through."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.plots._colors import colors_of
from kullback.plots._style import axes_or_new


def plot_states(time: Any, values: Any, states: Any, count: int, axes: Axes | None = None, lengths: Any = None) -> Axes:
    """Draw one column of a series over the colors of its states, and return the Axes.

    `time` and `values` have a number for each row, `states` the number of its state, from 0 to `count` − 1. NaN values
    leave gaps. `axes` is where to draw: a new figure when it is None. With `lengths`, the numbers of rows of several
    sequences, the line breaks between them, and a dotted one stands there.

    >>> axes = plot_states([0, 1, 2, 3], [1.0, 1.1, 5.0, 5.2], [0, 0, 1, 1], count=2)
    >>> [len(spans.get_paths()) for spans in axes.collections]  # one run of each
    [1, 1]
    """
    time, values, states = np.asarray(time, dtype=float), np.asarray(values, dtype=float), np.asarray(states)
    if not len(time) == len(values) == len(states) > 0:
        raise ValueError(f"time, values and states have {len(time)}, {len(values)} and {len(states)} rows.")
    lengths = np.array([len(time)] if lengths is None else lengths)
    if lengths.sum() != len(time):
        raise ValueError(f"lengths has {lengths.sum()} rows together: time has {len(time)}.")
    axes = axes_or_new(axes)
    starts = np.cumsum(lengths)[:-1]
    half = (time[-1] - time[0]) / max(len(time) - 1, 1) / 2 or 0.5
    begins = np.flatnonzero(np.diff(states, prepend=states[0] - 1))
    ends = np.append(begins[1:], len(states)) - 1
    for state, color in enumerate(colors_of(count)):
        mine = states[begins] == state
        runs = np.stack([time[begins[mine]] - half, time[ends[mine]] - time[begins[mine]] + 2 * half], axis=1)
        # heights are parts of the Axes, so that limits set later do not spoil them
        spans = axes.broken_barh([tuple(run) for run in runs], (0, 1), color=color, alpha=0.3, linewidth=0)
        spans.set_transform(axes.get_xaxis_transform())
    for start in starts:
        axes.axvline(time[start] - half, color="black", linewidth=1.0, linestyle=":")
    dots = len(time) <= 80
    broken = np.insert(time, starts, np.nan), np.insert(values, starts, np.nan)
    axes.plot(*broken, "o-" if dots else "-", color="black", markersize=2.5, linewidth=1.1)
    axes.set_xlim(time[0] - half, time[-1] + half)
    seen = values[np.isfinite(values)]
    if len(seen):
        low, high = seen.min(), seen.max()
        room = 0.06 * (high - low) or 0.5
        axes.set_ylim(low - room, high + room)
    return axes
