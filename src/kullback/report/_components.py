"""Components, states and factors: where they lie, and what they say of each column."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.families import Gaussian
from kullback.plots import colors_of, panels, plot_ellipses, plot_marginal
from kullback.report._columns import Column
from kullback.report._context import ReportContext
from kullback.report._grid import Grid, grid
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._plane import Plane
from kullback.report._text import number, short
from kullback.runtime import in_float64

#: Columns whose marginals are drawn, and points of a picture.
MOST_MARGINALS, MOST_POINTS = 12, 2000
_SEED = 0


@in_float64
def moments_of(context: ReportContext) -> tuple[np.ndarray, np.ndarray] | None:
    """Return means and covariances of the components, if all columns are sizes."""
    return None if context.components is None else context.components.moments()


def plane_of(context: ReportContext) -> Plane | None:
    """Return the plane of the picture of components, if there is one."""
    moments = moments_of(context)
    if moments is None or len(context.names) < 2:
        return None
    return Plane.of(context.names, context.X, context.weights, *moments)


def some_rows(count: int, most: int = MOST_POINTS) -> np.ndarray:
    """Return the rows that are drawn: all, or some at random, the same every time."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(_SEED).choice(count, most, replace=False))


def rows_to_draw(context: ReportContext, most: int = MOST_POINTS) -> np.ndarray:
    """Return the rows that are drawn on a plane: none of those with missing entries."""
    return context.complete[some_rows(len(context.complete), most)]


def draw_plane(
    axes: Axes, context: ReportContext, plane: Plane, points: np.ndarray | None, numbers: np.ndarray | None = None
) -> None:
    """Draw rows as points and components as ellipses.

    `numbers` are those of a combination's components: they give the colors, and rows are gray then.
    """
    moments = moments_of(context)
    assert moments is not None
    many = len(context.weights) > 1
    shown = np.arange(len(context.weights)) if numbers is None else numbers
    palette = colors_of(int(shown.max()) + 1)
    colors = [palette[which] for which in shown]
    if points is not None and context.X is not None:
        labels = context.labels[points] if many and numbers is None else np.zeros(len(points), int)
        places = plane.places(context.X[points])
        for label in np.unique(labels):
            color = colors[label] if numbers is None else "0.5"
            axes.plot(*places[labels == label].T, "o", color=color, alpha=0.6, markersize=2.6, markeredgewidth=0)
    means, covariances = plane.shadows(*moments)
    plot_ellipses(Gaussian(means, covariances), axes, colors, weights=context.weights)
    if many:
        for which, mean in zip(shown, means, strict=True):
            axes.annotate(
                str(which), tuple(mean), xytext=(4, 3), textcoords="offset points", fontsize=10, fontweight="bold"
            )
    axes.set(xlabel=plane.labels[0], ylabel=plane.labels[1])


def ellipses(context: ReportContext) -> list[Picture]:
    """Return the picture of components as ellipses, where columns are sizes and there are two or more."""
    plane = plane_of(context)
    if plane is None:
        return []
    points = None if context.X is None else rows_to_draw(context)

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        draw_plane(axes, context, plane, points)
        return figure

    caption = f"Each ellipse reaches two standard deviations from its mean, {plane.caption}."
    if points is not None:
        caption += f" Points are {_all_or_some(len(points), len(context.complete))}.{context.omission}"
    return [picture("ellipses", "Where they lie", caption, draw)]


def _all_or_some(drawn: int, count: int) -> str:
    return "the rows of the data" if drawn == count else f"{drawn:,} of {count:,} rows, drawn at random"


def marginals(context: ReportContext) -> list[Picture]:
    """Return a picture of each column: data, components, and their sum."""
    shown = enumerate(zip(context.names, context.columns, strict=False))
    found = [(place, *each) for place, each in list(shown)[:MOST_MARGINALS] if each[1].marginal.density is not None]
    return [_marginal(context, *each) for each in found]


def _marginal(context: ReportContext, place: int, name: str, column: Column) -> Picture:
    values = column_values(context, place)
    at = grid(column, context.weights, values)
    densities = at.densities(column)

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.0)
        plot_marginal(at.x, densities, context.weights, at.bar_positions(values), at.width > 0, axes)
        name_bars(axes, at)
        return figure

    return picture(f"marginal-{place}", name, _caption(context, column, at, values), draw)


def name_bars(axes: Axes, at: Grid) -> None:
    """Write words below the bars, upright where they have no room side by side."""
    if at.labels:
        labels = [short(label) for label in at.labels]
        room = sum(len(label) + 2 for label in labels) < 60
        axes.set_xticks(at.x, labels, rotation=0 if room else 90)


def _caption(context: ReportContext, column: Column, at: Grid, values: np.ndarray | None) -> str:
    """Return what the picture of a column does not show by itself."""
    found = []
    if at.width > 1:
        found.append(f"Each bar is of {at.width:,} whole numbers.")
    if 0 < len(at.labels) < len(column.categories):
        found.append(f"The {len(at.labels)} commonest of {len(column.categories):,} words.")
    if values is not None and context.X is not None and len(values) < len(context.X):
        found.append(f"{len(context.X) - len(values):,} of {len(context.X):,} rows have no value here.")
    return " ".join(found)


def column_values(context: ReportContext, place: int) -> np.ndarray | None:
    """Return the entries of a column as its family means them, without those that are missing."""
    if context.X is None:
        return None
    values = context.X[:, place]
    values = values[np.isfinite(values)]
    threshold = context.estimator.get_params(deep=False).get("binarize")
    if threshold is not None:
        values = (values > threshold).astype(float)
    angle = context.columns and context.columns[place].marginal.angle
    return np.mod(values + np.pi, 2 * np.pi) - np.pi if angle else values


def component_table(context: ReportContext) -> Table:
    """Return what each component or state says of each column, in words."""
    noun = context.view.noun
    headers = [noun, "share of time" if context.has_time else "weight", *context.names]
    rows = []
    for place, weight in enumerate(context.weights):
        rows.append([str(place), number(weight), *(column.words[place] for column in context.columns)])
    note = "Means ± standard deviations." if any("±" in column.words[0] for column in context.columns) else ""
    return table("components-table", f"{noun.capitalize()}s", headers, rows, note)
