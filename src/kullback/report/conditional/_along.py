"""The predicted distribution along each input, while the others stay at their medians."""

import functools
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from kullback.plots import panels, plot_bands, plot_probabilities, plot_sets
from kullback.report._components import some_rows
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, picture
from kullback.report._text import short
from kullback.report.conditional._answers import Target
from kullback.report.conditional._inputs import InputAxis, input_axis, reference_row

#: Pictures of a page, and of each target at least; categories that are lines; cells of a target; groups of rows.
_MOST, _LEAST, _LINES, _CELLS, _GROUPS = 12, 3, 7, 160, 10
#: Levels of the quantiles that are drawn, and how far points are spread where inputs are apart.
_LEVELS, _SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95), 0.2
_SEED = 0


class Along:
    """Predictions along every input: one question for all of them."""

    def __init__(self, context: ReportContext):
        self.context = context
        self.axes = [input_axis(context, place) for place in range(len(context.names))]
        reference, rows = reference_row(context), []
        for axis in self.axes:
            table = np.tile(reference, (len(axis.values), 1))
            table[:, axis.place] = axis.values
            rows.append(table)
        self._ends = np.cumsum([0, *(len(table) for table in rows)])
        self._predicted = context.estimator.predict_distribution(np.concatenate(rows))

    def rows(self, axis: InputAxis) -> np.ndarray:
        """Return which of all questions belong to an input."""
        return np.arange(self._ends[axis.place], self._ends[axis.place + 1])

    @functools.cached_property
    def _laws(self) -> list[Any]:
        return list(self._predicted.laws)

    @functools.cached_property
    def _quantiles(self) -> dict[int, np.ndarray]:
        return {}

    def quantiles(self, target: Target) -> np.ndarray:
        """Return the quantiles of a target at all questions, of shape (levels, questions)."""
        if target.place not in self._quantiles:
            law = self._laws[target.place]
            self._quantiles[target.place] = np.stack([law.quantile(level) for level in _LEVELS])
        return self._quantiles[target.place]

    def probabilities(self, target: Target) -> np.ndarray:
        """Return the probabilities of categories at all questions."""
        return np.asarray(self._laws[target.place].probabilities)

    def center(self, target: Target) -> np.ndarray:
        """Return the mean, or the mean direction, at all questions."""
        return np.asarray(self._laws[target.place].mean)

    def levels(self, target: Target, axis: InputAxis, edges: np.ndarray) -> np.ndarray:
        """Return how much the smallest set holds that has each cell in it, by the mass of the cells between edges."""
        rows = self.rows(axis)
        law = self._predicted[np.repeat(rows, len(edges))].laws[target.place]
        below = law.cdf(np.tile(edges, len(rows))).reshape(len(rows), -1)
        mass = np.maximum(np.diff(below, axis=1), 0.0)
        order = np.argsort(-mass, axis=1, kind="stable")
        found = np.empty_like(mass)
        np.put_along_axis(found, order, np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1), axis=1)
        return found

    def importance(self, target: Target) -> np.ndarray:
        """Return how far the prediction moves along each input, in units of its spread or of probability."""
        if target.categories:
            table = self.probabilities(target)
            return np.array([np.ptp(table[self.rows(axis)], axis=0).max() for axis in self.axes])
        center, law = self.center(target), self._laws[target.place]
        spread = float(np.mean(np.sqrt(law.variance))) or 1.0
        if target.angle:
            turns = np.exp(1j * center)
            return np.array([np.abs(turns[self.rows(axis)] - turns[self.rows(axis)][0]).max() for axis in self.axes])
        moved = np.array([np.ptp(center[self.rows(axis)]) for axis in self.axes]) / spread
        wider = np.log(np.maximum(np.sqrt(law.variance), 1e-300))
        return moved + np.array([np.ptp(wider[self.rows(axis)]) for axis in self.axes])

    def chosen(self, target: Target, most: int) -> list[InputAxis]:
        """Return the inputs along which a prediction moves most, in their order."""
        order = np.argsort(-self.importance(target), kind="stable")[:most]
        return [self.axes[place] for place in np.sort(order)]

    def draw(self, axes: Axes, target: Target, axis: InputAxis) -> None:
        """Draw the prediction of a target along an input, with rows of the data."""
        if target.categories:
            self._draw_categories(axes, target, axis)
        elif target.angle or self.has_pieces:
            self._draw_sets(axes, target, axis)
        else:
            self._draw_bands(axes, target, axis)
        axes.set_xlabel(short(axis.name, 40))
        if axis.apart:
            room = sum(len(label) + 2 for label in axis.labels) < 50
            axes.set_xticks(axis.x, axis.labels, rotation=0 if room else 90, fontsize=9)
            axes.set_xlim(-0.6, len(axis.x) - 0.4)

    @property
    def has_pieces(self) -> bool:
        """Whether predictions are mixtures, whose smallest sets may have several pieces."""
        return int(self.context.estimator.get_params(deep=False).get("n_components", 1)) > 1

    def _points(self, target: Target, axis: InputAxis) -> tuple[np.ndarray, np.ndarray] | None:
        if self.context.X is None or not len(target.known):
            return None
        rows, random = target.known[some_rows(len(target.known))], np.random.default_rng(_SEED)
        x, y = axis.positions(self.context.X[rows, axis.place]), target.values[rows]
        if axis.apart:
            x = x + random.uniform(-_SPREAD, _SPREAD, len(x))
        if target.discrete:  # equal ones cover each other
            y = y + random.uniform(-_SPREAD, _SPREAD, len(y))
        inside = np.isfinite(x) & (axis.apart | ((x >= axis.x[0]) & (x <= axis.x[-1])))
        y = np.mod(y + np.pi, 2 * np.pi) - np.pi if target.angle else y
        return x[inside], y[inside]

    def _draw_bands(self, axes: Axes, target: Target, axis: InputAxis) -> None:
        low, lower, middle, upper, high = self.quantiles(target)[:, self.rows(axis)]
        if target.discrete:  # a whole number is as wide as the distance to the next
            middle = self.center(target)[self.rows(axis)]
            low, lower, upper, high = low - 0.5, lower - 0.5, upper + 0.5, high + 0.5
        points = self._points(target, axis)
        bands = [(low, high, "90 %"), (lower, upper, "50 %")]
        plot_bands(axis.x, middle, bands, points, axis.apart, axes)
        if points is not None and len(points[1]):  # what grows without bound leaves the picture, and not the rows
            room = max(float(np.ptp(points[1])), float(np.median(high - low)), 1e-300)
            bottom, top = points[1].min() - 0.05 * room, points[1].max() + 0.05 * room
            bottom = min(bottom, max(float(low.min()), bottom - 0.5 * room))
            top = max(top, min(float(high.max()) + 0.03 * room, top + 0.5 * room))
            if bottom < top:
                axes.set_ylim(bottom, top)
        axes.set_ylabel(short(target.name, 30))
        if target.discrete:
            axes.yaxis.set_major_locator(MaxNLocator(7, integer=True))

    def _draw_sets(self, axes: Axes, target: Target, axis: InputAxis) -> None:
        points = self._points(target, axis)
        edges = self._edges(target, points)
        levels = self.levels(target, axis, edges)
        center = self.center(target)[self.rows(axis)] if target.angle else None
        middle = (edges[1:] + edges[:-1]) / 2
        if target.discrete:
            middle = edges[1:]
        plot_sets(axis.x, middle, levels, center, points, apart=axis.apart, axes=axes)
        if target.angle:
            axes.set_yticks(np.pi * np.arange(-2, 3) / 2, ["−π", "−π/2", "0", "π/2", "π"])
            axes.set_ylim(-np.pi, np.pi)
        axes.set_ylabel(short(target.name, 30))

    def _edges(self, target: Target, points: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
        """Return the edges of the cells of a target: over the rows, and over most of what is predicted."""
        if target.angle:
            return np.linspace(-np.pi, np.pi, _CELLS + 1)
        quantiles = self.quantiles(target)
        low, high = float(quantiles[0].min()), float(quantiles[-1].max())
        room = high - low
        low, high = low - 0.2 * room, high + 0.2 * room
        if points is not None and len(points[1]):
            low, high = min(low, points[1].min()), max(high, points[1].max())
        if target.discrete:
            step = max(int(np.ceil((high - low + 2) / _CELLS)), 1)
            return np.arange(np.floor(low) - 1, np.ceil(high) + step, step)
        return np.linspace(low, high, _CELLS + 1)

    def _draw_categories(self, axes: Axes, target: Target, axis: InputAxis) -> None:
        table, lines = self.probabilities(target)[self.rows(axis)], self._lines(target)
        names = [short(target.categories[place], 14) for place in lines]
        plot_probabilities(axis.x, table[:, lines], names, self._shares(target, axis, lines), axis.apart, axes)
        axes.set_ylabel("probability (%)" if len(names) > 1 else f"probability of {names[0]} (%)")
        if len(names) > 1:
            look: dict[str, Any] = {"frameon": False, "fontsize": 9, "handlelength": 1.2, "columnspacing": 1.0}
            columns = 4 if max(map(len, names)) < 10 else 3
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, **look)

    def _lines(self, target: Target) -> list[int]:
        """Return the categories that are drawn: the second of two, or the most common ones."""
        if len(target.categories) == 2:
            return [1]
        often = self.probabilities(target).mean(axis=0)
        return np.sort(np.argsort(-often, kind="stable")[:_LINES]).tolist()

    def _shares(self, target: Target, axis: InputAxis, lines: list[int]) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the shares of categories among rows with like inputs."""
        if self.context.X is None or not len(target.known):
            return None
        x, y = axis.positions(self.context.X[target.known, axis.place]), target.values[target.known]
        x, y = x[np.isfinite(x)], y[np.isfinite(x)]
        if axis.apart:
            groups = [np.flatnonzero(x == at) for at in axis.x]
        else:
            inside = np.flatnonzero((x >= axis.x[0]) & (x <= axis.x[-1]))
            order = inside[np.argsort(x[inside], kind="stable")]
            groups = np.array_split(order, max(min(len(order) // 10, _GROUPS), 1))
        groups = [group for group in groups if len(group)]
        if not groups:
            return None
        at = np.array([x[group].mean() for group in groups])
        return at, np.array([[np.mean(y[group] == line) for line in lines] for group in groups])


def along_inputs(context: ReportContext, along: Along, target: Target, targets: int) -> tuple[str, list[Picture]]:
    """Return the pictures of a target along inputs, and what they show."""
    most = max(_MOST // targets, _LEAST)
    chosen = along.chosen(target, most)

    def one(axis: InputAxis) -> Picture:
        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.2)
            along.draw(axes, target, axis)
            return figure

        return picture(f"along-{target.place}-{axis.place}", axis.name, axis.caption.strip(), draw)

    note = _describe(context, along, target)
    if len(chosen) < len(along.axes):
        note += f" The {len(chosen)} of {len(along.axes):,} inputs along which the prediction moves most."
    return note, [one(axis) for axis in chosen]


def _describe(context: ReportContext, along: Along, target: Target) -> str:
    common = " and most common categories" if context.X is not None else " and first categories"
    categories = common if context.estimator.input_categories_.any() else ""
    where = "medians" if context.X is not None else "means in the fit"
    others = f" The other inputs stay at their {where}{categories}." if len(along.axes) > 1 else ""
    rows = len(target.known) > 0
    if target.categories:
        what = "Lines: the predicted probability"
        what += f" of {target.categories[1]}." if len(target.categories) == 2 else " of each category."
        what += " Dots: its share of rows with similar values, whatever their other inputs." if rows else ""
        if len(target.categories) > _LINES:
            what += f" The {_LINES} most common of {len(target.categories):,} categories."
        return what + others
    if target.angle or along.has_pieces:
        what = "Dark and light: the smallest sets that hold 50 % and 90 % of the predicted distribution."
        what += " Line: its mean direction; angles are in radians, and π is next to −π." if target.angle else ""
    else:
        center = "mean" if target.discrete else "median"
        what = f"Line: the {center} of the predicted distribution; bands: its central 50 % and 90 %."
    if rows:
        spread = ", spread out slightly so that equal ones do not cover each other" if target.discrete else ""
        what += f" Dots: rows of the data, whatever their other inputs{spread}."
    return what + others
