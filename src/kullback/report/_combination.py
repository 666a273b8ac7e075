"""Models before they were combined, beside the combination."""

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from kullback.models import distances
from kullback.plots import colors_of, panels
from kullback.report._components import column_values, draw_plane, name_bars, plane_of, shown_rows
from kullback.report._grid import grid
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._subject import Subject
from kullback.report._text import number
from kullback.runtime import computing

#: Models and columns that are drawn, and points of each small picture.
_MODELS, _COLUMNS, _POINTS = 7, 4, 400


def likelihoods(after: Subject, before: list[Subject]) -> Table:
    """Return what each model has learned from, and its log-likelihood of the data."""
    headers = ["model", "learned from (rows)"]
    rows = []
    for name, subject in [*_named(before), ("combination", after)]:
        seen = getattr(subject.estimator, "n_points_seen_", 0)
        rows.append([name, number(seen, 9) if seen else "unknown"])
        if subject.log_likelihoods is not None:
            rows[-1].append(number(subject.log_likelihoods.mean(), 5))
    if after.log_likelihoods is not None:
        headers.append("log-likelihood of the data (nats per row)")
    return table("combination-table", "Before and after", headers, rows)


def side_by_side(after: Subject, before: list[Subject]) -> list[Picture]:
    """Return the components of each model and of the combination on the same plane, or their marginals."""
    if after.components is None:
        return []
    return _planes(after, before) or _marginals(after, before)


def counterparts(subject: Subject, after: Subject) -> np.ndarray:
    """Return for each component of a model the component of the combination that it has gone into.

    Pairs have the least sum of divergences, in both directions; what is left over goes to the nearest.
    """
    with computing():
        cost = np.nan_to_num(np.asarray(distances(after.components, subject.components)), nan=1e100, posinf=1e100)
    found = cost.argmin(axis=0)
    combined, own = linear_sum_assignment(cost)
    found[own] = combined
    return found


def _named(before: list[Subject]) -> list[tuple[str, Subject]]:
    return [(f"before: {place}", subject) for place, subject in enumerate(before)]


def _planes(after: Subject, before: list[Subject]) -> list[Picture]:
    plane = plane_of(after)
    if plane is None:
        return []
    points = None if after.X is None else shown_rows(after, _POINTS)
    models = [*_named(before)[:_MODELS], ("combination", after)]
    shown = [(name, subject, counterparts(subject, after)) for name, subject in models]
    room = panels()[1]  # one frame for all of them
    for _, subject, numbers in shown:
        draw_plane(room, subject, plane, points, numbers)
    limits = {"xlim": room.get_xlim(), "ylim": room.get_ylim()}

    def drawn(place: int, name: str, subject: Subject, numbers: np.ndarray) -> Picture:
        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.8)
            draw_plane(axes, subject, plane, points, numbers)
            axes.set(**limits)
            return figure

        return picture(f"combination-{place}", name.capitalize(), "", draw)

    return [drawn(place, *each) for place, each in enumerate(shown)]


def _marginals(after: Subject, before: list[Subject]) -> list[Picture]:
    """Return the density of each model over each of the first columns: thin before, thick after."""

    def drawn(place: int) -> Picture:
        values = column_values(after, place)
        at = grid(after.columns[place], after.weights, values)
        x, mark = at.x, "o" if at.width else ""

        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.0)
            for number_, (subject, color) in enumerate(zip(before, colors_of(len(before)), strict=True)):
                total = subject.weights @ at.densities(subject.columns[place])
                axes.plot(x, total, mark + "--", color=color, linewidth=1.2, markersize=4, label=f"before: {number_}")
            total = after.weights @ at.densities(after.columns[place])
            axes.plot(x, total, mark + "-", color="black", linewidth=2, markersize=5, label="combination")
            axes.set_ylim(bottom=0)
            axes.set_ylabel("probability" if after.columns[place].discrete else "density")
            name_bars(axes, at)
            if len(before) <= _MODELS:
                axes.legend(frameon=False, fontsize=9)
            return figure

        return picture(f"combination-{place}", after.names[place], "", draw)

    known = [place for place, column in enumerate(after.columns) if column.density is not None]
    return [drawn(place) for place in known[:_COLUMNS]]


def check_before(after: Subject, before: list[Subject]) -> None:
    """Raise unless the models could have been combined."""
    for place, subject in enumerate(before):
        if subject.kind != after.kind or len(subject.names) != len(after.names):
            raise ValueError(
                f"before[{place}] is a {subject.kind} of {len(subject.names)} columns: the combination is a "
                f"{after.kind} of {len(after.names)}, and all must be alike."
            )
