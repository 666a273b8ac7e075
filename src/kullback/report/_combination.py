"""Models before they were combined, beside the combination."""

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from kullback.models import distances
from kullback.plots import colors_of, panels
from kullback.report._components import column_values, draw_plane, name_bars, plane_of, rows_to_draw
from kullback.report._context import ReportContext
from kullback.report._grid import grid
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._text import number
from kullback.runtime import computing

#: Models and columns that are drawn, and points of each small picture.
_MODELS, _COLUMNS, _POINTS = 7, 4, 400


def likelihoods(after: ReportContext, before: list[ReportContext]) -> Table:
    """Return what each model has learned from, and its log-likelihood of the data."""
    headers = ["model", "learned from (rows)"]
    rows = []
    for name, context in [*_with_titles(before), ("combination", after)]:
        seen = getattr(context.estimator, "n_points_seen_", 0)
        rows.append([name, number(seen, 9) if seen else "unknown"])
        if context.log_likelihoods is not None:
            rows[-1].append(number(context.log_likelihoods.mean(), 5))
    if after.log_likelihoods is not None:
        headers.append("log-likelihood of the data (nats per row)")
    return table("combination-table", "Before and after", headers, rows)


def side_by_side(after: ReportContext, before: list[ReportContext]) -> list[Picture]:
    """Return the components of each model and of the combination on the same plane, or their marginals."""
    if after.components is None:
        return []
    return _planes(after, before) or _marginals(after, before)


def counterparts(context: ReportContext, after: ReportContext) -> np.ndarray:
    """Return for each component of a model the component of the combination that it has gone into.

    Pairs have the least sum of divergences, in both directions; what is left over goes to the nearest.
    """
    with computing():
        cost = np.nan_to_num(np.asarray(distances(after.components, context.components)), nan=1e100, posinf=1e100)
    found = cost.argmin(axis=0)
    combined, own = linear_sum_assignment(cost)
    found[own] = combined
    return found


def _with_titles(before: list[ReportContext]) -> list[tuple[str, ReportContext]]:
    return [(f"before: {place}", context) for place, context in enumerate(before)]


def _planes(after: ReportContext, before: list[ReportContext]) -> list[Picture]:
    plane = plane_of(after)
    if plane is None:
        return []
    points = None if after.X is None else rows_to_draw(after, _POINTS)
    models = [*_with_titles(before)[:_MODELS], ("combination", after)]
    shown = [(name, context, counterparts(context, after)) for name, context in models]
    room = panels()[1]  # one frame for all of them
    for _, context, numbers in shown:
        draw_plane(room, context, plane, points, numbers)
    limits = {"xlim": room.get_xlim(), "ylim": room.get_ylim()}

    def one(place: int, name: str, context: ReportContext, numbers: np.ndarray) -> Picture:
        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.8)
            draw_plane(axes, context, plane, points, numbers)
            axes.set(**limits)
            return figure

        return picture(f"combination-{place}", name.capitalize(), "", draw)

    return [one(place, *each) for place, each in enumerate(shown)]


def _marginals(after: ReportContext, before: list[ReportContext]) -> list[Picture]:
    """Return the density of each model over each of the first columns: thin before, thick after."""

    def one(place: int) -> Picture:
        values = column_values(after, place)
        at = grid(after.columns[place], after.weights, values)
        x, mark = at.x, "o" if at.width else ""

        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.0)
            for number_, (context, color) in enumerate(zip(before, colors_of(len(before)), strict=True)):
                total = context.weights @ at.densities(context.columns[place])
                axes.plot(x, total, mark + "--", color=color, linewidth=1.2, markersize=4, label=f"before: {number_}")
            total = after.weights @ at.densities(after.columns[place])
            axes.plot(x, total, mark + "-", color="black", linewidth=2, markersize=5, label="combination")
            axes.set_ylim(bottom=0)
            axes.set_ylabel("probability" if after.columns[place].marginal.discrete else "density")
            name_bars(axes, at)
            if len(before) <= _MODELS:
                axes.legend(frameon=False, fontsize=9)
            return figure

        return picture(f"combination-{place}", after.names[place], "", draw)

    known = [place for place, column in enumerate(after.columns) if column.marginal.density is not None]
    return [one(place) for place in known[:_COLUMNS]]


def check_before(after: ReportContext, before: list[ReportContext]) -> None:
    """Raise unless the models could have been combined."""
    for place, context in enumerate(before):
        if context.kind != after.kind or len(context.names) != len(after.names):
            raise ValueError(
                f"before[{place}] is a {context.kind} of {len(context.names)} columns: the combination is a "
                f"{after.kind} of {len(after.names)}, and all must be alike."
            )
