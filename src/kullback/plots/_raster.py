"""Which units of a network fire along a stream: the raster of neurophysiology."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from kullback.plots._style import axes_or_new, name_axes


def plot_raster(fired: Any, stream: Any = None, lags: Any = None, axes: Axes | None = None) -> Axes:
    """Draw a dot for each unit and row in which it fires, below each other, and return the Axes.

    `fired` has a row for each row of the stream and a column for each unit: 0 and 1, or the share of chains in which it
    fires. `stream`, numbers of the same length, is a band above. With `lags`, a number for each unit, units stand in
    their order, least first, and it is written beside them: those of `unit_lags` make a shift register a staircase.
    `axes` is where to draw: a new figure when it is None.

    >>> axes = plot_raster([[1, 0], [0, 1], [1, 0]], stream=[1, 0, 1])
    >>> axes.images[0].get_array().shape  # two units under the stream and a gap
    (4, 3)
    """
    fired = np.asarray(fired, dtype=float)
    if fired.ndim != 2 or fired.size == 0 or not ((fired >= 0) & (fired <= 1)).all():
        raise ValueError(f"fired has shape {fired.shape}: it must have rows and units, with entries from 0 to 1.")
    rows, units = fired.shape
    order = np.arange(units)
    if lags is not None:
        lags = np.asarray(lags)
        if lags.shape != (units,):
            raise ValueError(f"lags has shape {lags.shape}: there are {units} units.")
        order = np.argsort(lags, kind="stable")
    table = fired.T[order]
    if stream is not None:
        stream = np.asarray(stream, dtype=float)
        if stream.shape != (rows,):
            raise ValueError(f"stream has shape {stream.shape}: fired has {rows} rows.")
        low, high = stream.min(), stream.max()
        band = (stream - low) / ((high - low) or 1.0)
        table = np.concatenate([band[None], np.full((1, rows), np.nan), table])
    axes = axes_or_new(axes)
    shades = ListedColormap(np.linspace(1, 0, 256)[:, None] * np.ones(3), name="fired")
    axes.imshow(table, cmap=shades, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    first = len(table) - units
    labels = [str(unit if lags is None else lags[unit]) for unit in order]
    step = -(-units // 16)
    ticks = [*([0] if first else []), *range(first, len(table), step)]
    axes.set_yticks(ticks, [*(["stream"] if first else []), *labels[::step]])
    axes.grid(False)
    name_axes(axes, "row", "unit" if lags is None else "unit, by the lag it remembers")
    return axes


def unit_lags(fired: Any, stream: Any, most: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Return for each unit the lag of the stream that it goes with most, from 1 to `most`, and the correlation.

    `fired` has the units before each row is predicted, or after the row before it: row t of it stands beside row t of
    the stream, whose value t − lag it may remember. A `stream` of several columns, such as indicators of symbols, goes
    by the column that fits best. The correlation of a unit that fires where the stream did not is negative.

    >>> x = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0])
    >>> lags, how = unit_lags(np.stack([np.roll(x, 1), 1 - np.roll(x, 2)], axis=1)[2:], x[2:], most=3)
    >>> lags.tolist(), np.round(how, 6).tolist()
    ([1, 2], [1.0, -1.0])
    """
    fired, stream = np.asarray(fired, dtype=float), np.asarray(stream, dtype=float)
    stream = stream.reshape(len(stream), -1)
    if len(fired) != len(stream) or len(stream) <= most + 1:
        raise ValueError(
            f"stream has {len(stream)} rows and fired {len(fired)}: lags up to {most} need more, and as many of both."
        )
    late = fired[most:] - fired[most:].mean(axis=0)
    found = []
    for lag in range(1, most + 1):
        before = stream[most - lag : len(stream) - lag]
        before = before - before.mean(axis=0)
        size = np.sqrt(np.square(late).sum(axis=0) * np.square(before).sum(axis=0)[:, None])
        found.append(before.T @ late / np.where(size > 0, size, 1))
    table = np.stack(found)
    strongest = np.abs(table).reshape(-1, table.shape[2]).argmax(axis=0)
    return strongest // table.shape[1] + 1, table.reshape(-1, table.shape[2])[strongest, np.arange(table.shape[2])]
