"""Components, states and factors: where they lie, and their distribution of each column."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.families import Gaussian
from kullback.plots import colors_of, panels, plot_ellipses, plot_marginal
from kullback.report._columns import Column
from kullback.report._context import ReportContext
from kullback.report._grid import Grid, grid
from kullback.report._parts import Picture, Table, color_names, picture, table
from kullback.report._plane import Plane
from kullback.report._text import all_or_some, number, short
from kullback.runtime import in_float64

#: Columns whose marginals are drawn, and points of a picture.
MOST_MARGINALS, MOST_POINTS = 12, 2000
#: Columns of the table of components.
_TABLE = 8
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

    many = len(context.weights) > 1
    whose = f"of each {context.view.noun}" if many else "of the model"
    caption = f"{'Ellipses reach' if many else 'The ellipse reaches'} two standard deviations from the mean {whose}."
    if points is not None:
        which = all_or_some(len(points), len(context.complete)).removesuffix(",")
        caption += f" Points are {which}.{context.omission}"
    return [picture("ellipses", _title(context), caption + plane.caption, draw)]


def _title(context: ReportContext) -> str:
    shown = f"{context.view.noun.capitalize()}s" if len(context.weights) > 1 else "The model"
    return shown if context.X is None else f"{shown} and rows"


def chosen_columns(context: ReportContext, most: int = MOST_MARGINALS) -> list[int]:
    """Return the columns that are shown: all, or those that say the most about the component of a row."""
    told = [information(context, place) for place in range(len(context.columns))]
    return sorted(np.argsort(-np.array(told), kind="stable")[:most].tolist())


def describe_choice(context: ReportContext, most: int = MOST_MARGINALS) -> str:
    """Return a sentence that says which columns are shown, if not all are."""
    if len(context.columns) <= most:
        return ""
    which = f"The {most} of {len(context.columns):,} columns that say the most about a row's {context.view.noun}."
    return which if len(context.weights) > 1 else f"The first {most} of {len(context.columns):,} columns."


def information(context: ReportContext, place: int) -> float:
    """Return what a column tells about the component of a row, in nats: their mutual information in the model."""
    column = context.columns[place]
    if column.marginal.density is None or len(context.weights) < 2:
        return 0.0
    shares = grid(column, context.weights, column_values(context, place)).densities(column)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    whole = np.broadcast_to(context.weights @ shares, shares.shape)
    ratio = np.divide(shares, whole, out=np.ones(shares.shape), where=(shares > 0) & (whole > 0))
    return float(context.weights @ (shares * np.log(ratio)).sum(axis=1))


def marginals(context: ReportContext) -> list[Picture]:
    """Return a picture of each column that is shown: data, components, and their sum."""
    columns = ((place, context.names[place], context.columns[place]) for place in chosen_columns(context))
    return [_marginal(context, *each) for each in columns if each[2].marginal.density is not None]


def _marginal(context: ReportContext, place: int, name: str, column: Column) -> Picture:
    values = column_values(context, place)
    at = grid(column, context.weights, values)

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.0)
        draw_marginal(axes, context, place)
        return figure

    return picture(f"marginal-{place}", name, _caption(context, column, at, values), draw)


def draw_marginal(axes: Axes, context: ReportContext, place: int) -> None:
    """Draw the components over one column, with the data."""
    values, column = column_values(context, place), context.columns[place]
    at = grid(column, context.weights, values)
    plot_marginal(at.x, at.densities(column), context.weights, at.bar_positions(values), at.width > 0, axes)
    name_bars(axes, at)


def name_bars(axes: Axes, at: Grid) -> None:
    """Write categories below their bars, upright where they have no room side by side."""
    if at.labels:
        labels = [short(label) for label in at.labels]
        room = sum(len(label) + 2 for label in labels) < 60
        axes.set_xticks(at.x, labels, rotation=0 if room else 90, fontsize=9 if len(labels) <= 20 else 6)


def _caption(context: ReportContext, column: Column, at: Grid, values: np.ndarray | None) -> str:
    """Return what the picture of a column does not show by itself."""
    found = []
    if at.width > 1:
        found.append(f"Each bar is a group of {at.width:,} whole numbers.")
    if 0 < len(at.labels) < len(column.categories):
        found.append(f"The {len(at.labels)} most frequent of {len(column.categories):,} categories.")
    if values is not None and context.X is not None and len(values) < len(context.X):
        missing = len(context.X) - len(values)
        found.append(f"{missing:,} of {len(context.X):,} values {'is' if missing == 1 else 'are'} missing.")
    return " ".join(found)


def column_values(context: ReportContext, place: int, rows: np.ndarray | None = None) -> np.ndarray | None:
    """Return the entries of a column as its family means them, of some rows or all, without those that are missing."""
    if context.X is None:
        return None
    values = context.X[:, place] if rows is None else context.X[rows, place]
    values = values[np.isfinite(values)]
    threshold = context.estimator.get_params(deep=False).get("binarize")
    if threshold is not None:
        values = (values > threshold).astype(float)
    angle = context.columns and context.columns[place].marginal.angle
    return np.mod(values + np.pi, 2 * np.pi) - np.pi if angle else values


def component_table(context: ReportContext) -> Table:
    """Return the distribution of each column in each component or state, as text."""
    noun = context.view.noun
    if len(context.weights) == 1:
        each = [[name, column.words[0]] for name, column in zip(context.names, context.columns, strict=True)]
        return table("components-table", "Columns", ["column", "distribution"], each)
    places = chosen_columns(context, _TABLE)
    columns = [context.columns[place] for place in places]
    headers = [noun, "long-run share" if context.has_time else "weight", *(context.names[place] for place in places)]
    rows = [
        [str(which), number(weight), *(column.words[which] for column in columns)]
        for which, weight in enumerate(context.weights)
    ]
    notes = ["Mean ± standard deviation."] if any("±" in column.words[0] for column in columns) else []
    if any(column.lists_categories for column in columns):
        notes.append("Categories with their probabilities.")
    if len(places) < len(context.columns):
        notes.append(describe_choice(context, len(places)))
    names = color_names(len(rows)) if len(rows) > 1 else []
    if len(rows) > len(set(names)) > 1:
        notes.append(f"Colors repeat after {len(set(names))} {noun}s.")
    return table("components-table", f"{noun.capitalize()}s", headers, rows, " ".join(notes), names)
