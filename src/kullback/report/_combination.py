"""Models that were combined, beside the combination."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from kullback.models import distances
from kullback.plots import colors_of, panels
from kullback.report._components import chosen_columns, column_values, draw_plane, name_bars, plane_of, rows_to_draw
from kullback.report._context import ReportContext
from kullback.report._grid import grid
from kullback.report._images import rows_picture
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._text import number, short
from kullback.runtime import computing

#: Models by their names.
Contexts = Mapping[str, ReportContext]
#: Models and columns that are drawn, and points of each small picture.
_MODELS, _COLUMNS, _POINTS = 7, 4, 400
#: Images that each model draws.
_SAMPLES = 24
_AFTER = "Combination"


def likelihoods(after: ReportContext, before: Contexts) -> Table:
    """Return what each model has learned from, and its log-likelihood of the data."""
    headers = ["model", "rows of all steps" if after.view.network else "rows learned from"]
    rows = []
    for name, context in [*before.items(), (_AFTER, after)]:
        seen = getattr(context.estimator, "n_points_seen_", 0)
        rows.append([name, number(seen, 9) if seen else "unknown"])
        if context.log_likelihoods is not None:
            rows[-1].append(number(np.nanmean(context.log_likelihoods), 5))
    if after.log_likelihoods is not None:
        headers.append("log-likelihood (nats per row)")
    return table("combination-table", "Each model and the combination", headers, rows)


def side_by_side(after: ReportContext, before: Contexts) -> list[Picture]:
    """Return the components of each model and of the combination on the same plane, or their marginals, or samples."""
    if after.image_shape is not None:
        models = [*list(before.items())[:_MODELS], (_AFTER, after)]
        return [
            rows_picture(context, f"combination-{place}", name, "Rows drawn from it.", context.draws[:_SAMPLES])
            for place, (name, context) in enumerate(models)
        ]
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


def _planes(after: ReportContext, before: Contexts) -> list[Picture]:
    plane = plane_of(after)
    if plane is None:
        return []
    points = None if after.X is None else rows_to_draw(after, _POINTS)
    models = [*list(before.items())[:_MODELS], (_AFTER, after)]
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

        return picture(f"combination-{place}", name, "", draw)

    return [one(place, *each) for place, each in enumerate(shown)]


def _marginals(after: ReportContext, before: Contexts) -> list[Picture]:
    """Return the density of each model over some columns: dashed before, solid after."""

    def one(place: int) -> Picture:
        values = column_values(after, place)
        at = grid(after.columns[place], after.weights, values)
        x, mark = at.x, "o" if at.width else ""

        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.0)
            total = after.weights @ at.densities(after.columns[place])
            axes.plot(x, total, mark + "-", color="black", linewidth=2, markersize=5, label=_AFTER)
            for (name, context), color in zip(before.items(), colors_of(len(before)), strict=True):
                total = context.weights @ at.densities(context.columns[place])
                axes.plot(x, total, mark + "--", color=color, linewidth=1.2, markersize=3, label=short(name))
            axes.set_ylim(bottom=0)
            axes.set_ylabel("probability" if after.columns[place].marginal.discrete else "density")
            name_bars(axes, at)
            if len(before) <= _MODELS:
                axes.legend(frameon=False, fontsize=9)
            return figure

        return picture(f"combination-{place}", after.names[place], "", draw)

    places = chosen_columns(after, _COLUMNS)
    return [one(place) for place in places if after.columns[place].marginal.density is not None]


def check_before(after: ReportContext, before: Contexts) -> None:
    """Raise unless the models could have been combined."""
    for name, context in before.items():
        if context.kind != after.kind or len(context.names) != len(after.names):
            raise ValueError(
                f"{name} in before is a {context.kind} of {len(context.names)} columns: the combination is a "
                f"{after.kind} of {len(after.names)} columns, and they must be alike."
            )
