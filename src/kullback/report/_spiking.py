"""Pictures of a network of spiking units: which of them fire along a stream, and what each remembers."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.plots import COLORS, panels, plot_raster, unit_lags
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, Section, Table, picture, table
from kullback.report._text import number, percent

#: Rows of the raster, rows that say what units remember, and the longest lag that is looked for.
_SHOWN, _ROWS, _LAGS = 200, 4_000, 16
#: A column of so many different values at most counts as one of symbols.
_SYMBOLS = 64


class Raster(NamedTuple):
    """The last rows of a stream, the share of chains in which each unit fires before them, and what units remember.

    `lags` and `correlations` are None where there are too few rows. `novelty` is −log p of each row, None of a stream
    that was drawn.
    """

    stream: np.ndarray
    fired: np.ndarray
    begin: int
    lags: np.ndarray | None
    correlations: np.ndarray | None
    novelty: np.ndarray | None

    @classmethod
    def of(cls, context: ReportContext) -> "Raster":
        """Return the raster of the data, or of a stream that the network draws where there are none."""
        if context.X is None:
            stream, fired = (np.asarray(part) for part in context.estimator.sample(_ROWS, random_state=0))
            stream, fired, novelty = stream[1:], fired[:-1], None  # what fires beside a row tells of the next one
        else:
            found = context.estimator.score_next(context.X, context.lengths)
            stream, fired = context.X[-_ROWS:], np.asarray(found.states)[-_ROWS - 1 :]
            before = np.concatenate([fired[:1], fired[:-1]]) if len(fired) == len(stream) else fired[:-1]
            stream, fired, novelty = stream[1:], before[1:], -np.asarray(found.log_likelihood)[-_ROWS:][1:]
        lags = correlations = None
        if len(stream) > 4 * _LAGS:
            lags, correlations = unit_lags(fired, _indicators(stream), _LAGS)
        begin = 0 if context.X is None else len(context.X) - len(stream)
        return cls(stream, fired, begin, lags, correlations, novelty)

    def draw(self, axes: Axes) -> None:
        """Draw the end of the stream over its units."""
        plot_raster(self.fired[-_SHOWN:], self.stream[-_SHOWN:, 0], self.lags, axes)


def _indicators(stream: np.ndarray) -> np.ndarray:
    """Return the columns of a stream; a single one of few whole numbers, more than two, as indicators of each."""
    values = np.unique(stream) if stream.shape[1] == 1 else np.zeros(0)
    if 2 < len(values) <= _SYMBOLS and (values == np.floor(values)).all():
        found: np.ndarray = (stream == values).astype(float)
        return found
    return stream


def spiking_sections(context: ReportContext) -> list[Section]:
    """Return the raster and what units remember."""
    raster = Raster.of(context)
    pictures = [_raster_picture(context, raster)]
    tables = [] if raster.lags is None else [_units(raster)]
    return [Section("time", "Over time", "", [], pictures), Section("units", "The units", "", tables, [])]


def _raster_picture(context: ReportContext, raster: Raster) -> Picture:
    rows = len(raster.stream[-_SHOWN:])

    def draw(width: float) -> Figure:
        figure, axes = panels(1 if raster.novelty is None else 2, 1, width, 2.6 if raster.novelty is not None else 4.2)
        several = list(np.ravel(axes))
        raster.draw(several[0])
        if raster.novelty is not None:
            several[0].set_xlabel("")
            several[1].plot(np.arange(rows), raster.novelty[-_SHOWN:], color=COLORS["vermilion"], linewidth=1.1)
            several[1].set(xlim=(-0.5, rows - 0.5), ylim=(0, None), xlabel="row", ylabel="novelty (nats)")
            if raster.novelty[-_SHOWN:].min() < 0:  # densities may be above 1
                several[1].set_ylim(None, None)
        return figure

    what = "The last" if context.X is not None else "A stream that the network draws, its last"
    caption = f"{what} {rows:,} rows, the first column on top, and the units before each row: the darker, the more "
    caption += "chains they fire in." if context.X is not None else "they fire."
    if raster.lags is not None:
        caption += " Units stand in the order of the lag they remember; a stream that runs through them is a staircase."
    if raster.novelty is not None:
        caption += " Below: how new each row was, −log p given the rows before it, without learning from it."
    return picture("raster", "Units in time", caption, draw, wide=True)


def _units(raster: Raster) -> Table:
    assert raster.lags is not None
    assert raster.correlations is not None
    order = np.argsort(raster.lags, kind="stable")
    rates = raster.fired.mean(axis=0)
    rows = [
        [str(unit), str(raster.lags[unit]), number(raster.correlations[unit], 2), percent(rates[unit])]
        for unit in order
    ]
    note = "The lag, up to 16, at which the stream goes with a unit most. Below 0: it fires where the stream did not."
    return table("units-table", "What units remember", ["unit", "lag", "correlation", "fires"], rows, note)
