"""Components, states and factors: where they lie, and what they say of each column."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.families import DiagonalGaussian, Gaussian, SphericalGaussian
from kullback.plots import colors_of, panels, plot_ellipses, plot_marginal
from kullback.report._columns import Column, gaussian_moments
from kullback.report._grid import Grid, grid
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._plane import Plane
from kullback.report._subject import Subject
from kullback.report._text import number, short

#: Columns whose marginals are drawn, and points of a picture.
MOST_MARGINALS, MOST_POINTS = 12, 2000
_SEED = 0


def moments_of(subject: Subject) -> tuple[np.ndarray, np.ndarray] | None:
    """Return means and covariances of the components, if all columns are sizes."""
    if subject.components is None:
        return None
    if isinstance(subject.components, (Gaussian, DiagonalGaussian, SphericalGaussian)):
        return gaussian_moments(subject.components)
    found = [column.moments for column in subject.columns]
    known = [pair for pair in found if pair is not None]
    if len(known) < len(found):
        return None
    means, variances = (np.stack(side, axis=1) for side in zip(*known, strict=True))
    return means, variances[..., None] * np.eye(len(known))


def plane_of(subject: Subject) -> Plane | None:
    """Return the plane of the picture of components, if there is one."""
    moments = moments_of(subject)
    if moments is None or len(subject.names) < 2:
        return None
    return Plane.of(subject.names, subject.X, subject.weights, *moments)


def some_rows(count: int, most: int = MOST_POINTS) -> np.ndarray:
    """Return the rows that are drawn: all, or some at random, the same every time."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(_SEED).choice(count, most, replace=False))


def shown_rows(subject: Subject, most: int = MOST_POINTS) -> np.ndarray:
    """Return the rows that are drawn on a plane: none of those with missing entries."""
    return subject.complete[some_rows(len(subject.complete), most)]


def draw_plane(
    axes: Axes, subject: Subject, plane: Plane, points: np.ndarray | None, numbers: np.ndarray | None = None
) -> None:
    """Draw rows as points and components as ellipses.

    `numbers` are those of a combination's components: they give the colors, and rows are gray then.
    """
    moments = moments_of(subject)
    assert moments is not None
    many = len(subject.weights) > 1
    shown = np.arange(len(subject.weights)) if numbers is None else numbers
    palette = colors_of(int(shown.max()) + 1)
    colors = [palette[which] for which in shown]
    if points is not None and subject.X is not None:
        labels = subject.labels[points] if many and numbers is None else np.zeros(len(points), int)
        places = plane.places(subject.X[points])
        for label in np.unique(labels):
            color = colors[label] if numbers is None else "0.5"
            axes.plot(*places[labels == label].T, "o", color=color, alpha=0.6, markersize=2.6, markeredgewidth=0)
    means, covariances = plane.shadows(*moments)
    plot_ellipses(Gaussian(means, covariances), axes, colors, weights=subject.weights)
    if many:
        for which, mean in zip(shown, means, strict=True):
            axes.annotate(
                str(which), tuple(mean), xytext=(4, 3), textcoords="offset points", fontsize=10, fontweight="bold"
            )
    axes.set(xlabel=plane.labels[0], ylabel=plane.labels[1])


def ellipses(subject: Subject) -> list[Picture]:
    """Return the picture of components as ellipses, where columns are sizes and there are two or more."""
    plane = plane_of(subject)
    if plane is None:
        return []
    points = None if subject.X is None else shown_rows(subject)

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        draw_plane(axes, subject, plane, points)
        return figure

    told = (
        "" if points is None else f" Points are {_all_or_some(len(points), len(subject.complete))}.{subject.left_out}"
    )
    caption = f"Each ellipse reaches two standard deviations from its mean, {plane.told}.{told}"
    return [picture("ellipses", "Where they lie", caption, draw)]


def _all_or_some(drawn: int, count: int) -> str:
    return "the rows of the data" if drawn == count else f"{drawn:,} of {count:,} rows, drawn at random"


def marginals(subject: Subject) -> list[Picture]:
    """Return a picture of each column: data, components, and their sum."""
    if subject.components is None:
        return []
    shown = list(zip(subject.names, subject.columns, strict=True))[:MOST_MARGINALS]
    return [
        _marginal(subject, place, name, column)
        for place, (name, column) in enumerate(shown)
        if column.density is not None
    ]


def _marginal(subject: Subject, place: int, name: str, column: Column) -> Picture:
    values = column_values(subject, place)
    at = grid(column, subject.weights, values)
    densities = at.densities(column)

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.0)
        plot_marginal(at.x, densities, subject.weights, at.seen(values), at.width > 0, axes)
        name_bars(axes, at)
        return figure

    return picture(f"marginal-{place}", name, told_of(subject, column, at, values), draw)


def name_bars(axes: Axes, at: Grid) -> None:
    """Write words below the bars, upright where they have no room side by side."""
    if at.labels:
        labels = [short(label) for label in at.labels]
        room = sum(len(label) + 2 for label in labels) < 60
        axes.set_xticks(at.x, labels, rotation=0 if room else 90)


def told_of(subject: Subject, column: Column, at: Grid, values: np.ndarray | None) -> str:
    """Return what the picture of a column does not show by itself."""
    told = []
    if at.width > 1:
        told.append(f"Each bar is of {at.width:,} whole numbers.")
    if 0 < len(at.labels) < len(column.categories):
        told.append(f"The {len(at.labels)} commonest of {len(column.categories):,} words.")
    if values is not None and subject.X is not None and len(values) < len(subject.X):
        told.append(f"{len(subject.X) - len(values):,} of {len(subject.X):,} rows have no value here.")
    return " ".join(told)


def column_values(subject: Subject, place: int) -> np.ndarray | None:
    """Return the entries of a column as its family means them, without those that are missing."""
    if subject.X is None:
        return None
    values = subject.X[:, place]
    values = values[np.isfinite(values)]
    threshold = getattr(subject.estimator, "binarize", None)
    if threshold is not None:
        values = (values > threshold).astype(float)
    return np.mod(values + np.pi, 2 * np.pi) - np.pi if subject.columns[place].wraps else values


def component_table(subject: Subject) -> Table:
    """Return what each component or state says of each column, in words."""
    states = subject.is_hidden_markov
    headers = ["state" if states else "component", "share of time" if states else "weight", *subject.names]
    rows = []
    for place, weight in enumerate(subject.weights):
        rows.append([str(place), number(weight), *(column.words[place] for column in subject.columns)])
    note = "Means ± standard deviations." if any("±" in column.words[0] for column in subject.columns) else ""
    return table("components-table", "States" if states else "Components", headers, rows, note)
