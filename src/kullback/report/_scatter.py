"""Rows of columns of any kind: on the two columns that tell components apart best."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.plots import colors_of, panels
from kullback.report._components import column_values, information, some_rows
from kullback.report._context import ReportContext
from kullback.report._grid import grid
from kullback.report._parts import Picture, picture
from kullback.report._text import all_or_some, number, short

#: Values of a column that are spread at most, how far, as part of the distance between them, and entries of a legend.
_SPREAD, _REACH, _LEGEND = 40, 0.35, 7
_SEED = 0


class Side(NamedTuple):
    """A column as one axis of a picture: where values lie, the categories at its ticks, whether values are spread."""

    name: str
    values: np.ndarray
    ticks: dict[float, str]
    spread: bool


class Scatter(NamedTuple):
    """Rows on two columns. `known` is how many rows have both values; some of them, or all, are drawn."""

    x: Side
    y: Side
    rows: np.ndarray
    known: int

    @classmethod
    def of(cls, context: ReportContext) -> "Scatter | None":
        """Return the rows on the two columns that tell most about the component of a row, if there are two."""
        drawn = [place for place, column in enumerate(context.columns) if column.marginal.density is not None]
        if context.X is None or len(drawn) < 2:
            return None
        told = [information(context, place) for place in drawn]
        places = sorted(drawn[which] for which in np.argsort(-np.array(told), kind="stable")[:2])
        known = np.flatnonzero(np.isfinite(context.X[:, places]).all(axis=1))
        rows, random = known[some_rows(len(known))], np.random.default_rng(_SEED)
        x, y = (_side(context, place, rows, random) for place in places)
        return cls(x, y, rows, len(known)) if len(rows) else None

    def draw(self, axes: Axes, context: ReportContext) -> None:
        """Draw the rows in the colors of their components."""
        many = len(context.weights) > 1
        labels = context.labels[self.rows] if many else np.zeros(len(self.rows), int)
        there = np.unique(labels)
        for label, color in enumerate(colors_of(int(there.max()) + 1)):
            mine = labels == label
            look: dict[str, Any] = {
                "color": color,
                "alpha": 0.6,
                "markersize": 2.6,
                "markeredgewidth": 0,
                "label": str(label),
            }
            if mine.any():
                axes.plot(self.x.values[mine], self.y.values[mine], "o", **look)
        for axis, side in ((axes.xaxis, self.x), (axes.yaxis, self.y)):
            axis.set_label_text(short(side.name, 30))
            if side.ticks:
                texts = [short(text, 12) for text in side.ticks.values()]
                upright = side is self.x and sum(len(text) + 2 for text in texts) > 60
                axis.set_ticks(list(side.ticks), texts, rotation=90 if upright else 0)
                axis.set_tick_params(labelsize=9 if len(texts) <= 20 else 6)
        if many and len(there) <= _LEGEND:
            look = {"frameon": False, "fontsize": 9, "markerscale": 2.5, "handletextpad": 0.1, "columnspacing": 1.0}
            where: dict[str, Any] = {
                "loc": "lower left",
                "bbox_to_anchor": (0, 1),
                "ncols": _LEGEND,
                "borderaxespad": 0.2,
            }
            axes.legend(**where, **look)


def scatter(context: ReportContext) -> list[Picture]:
    """Return the picture of rows on two columns."""
    found = Scatter.of(context)
    if found is None or context.X is None:
        return []

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        found.draw(axes, context)
        return figure

    many, noun = len(context.weights) > 1, context.view.noun
    caption = f"Points are {all_or_some(len(found.rows), found.known)} by {found.x.name} and {found.y.name}"
    caption += f", the two columns that say the most about a row's {noun}." if many else "."
    if many:
        caption += " Colors show the " + ("most probable path of states." if context.has_time else f"likeliest {noun}.")
    if found.x.spread or found.y.spread:
        caption += " Equal values are spread out slightly so that points do not cover one another."
    missing = len(context.X) - found.known
    if missing:
        caption += f" Rows that lack either value are not shown ({missing:,} of {len(context.X):,})."
    return [picture("scatter", "Rows by two columns", caption, draw)]


def _side(context: ReportContext, place: int, rows: np.ndarray, random: np.random.Generator) -> Side:
    values, column = column_values(context, place, rows), context.columns[place]
    assert values is not None
    ticks: dict[float, str] = {}
    if column.categories:
        at = grid(column, context.weights, values)
        ticks = dict(zip(at.x.tolist(), at.labels, strict=True))
        if len(at.labels) < len(column.categories):
            ticks = {at.x[0] - at.width: "(others)", **ticks}
        values = at.bar_positions(values)
        assert values is not None
    kinds = np.unique(values)
    few = 1 < len(kinds) <= min(_SPREAD + 1, len(values) / 2)
    if few and column.marginal.codes and not ticks:
        ticks = {float(kind): number(kind) for kind in kinds}
    if few:
        values = values + random.uniform(-_REACH, _REACH, len(values)) * np.diff(kinds).min()
    return Side(context.names[place], values, ticks, bool(few))
