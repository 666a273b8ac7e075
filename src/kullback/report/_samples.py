"""Rows that a model draws, beside the data: what every model has to show."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.plots import panels, plot_marginal
from kullback.report._components import MOST_MARGINALS, column_values
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, picture

#: Bins of the histogram of rows from the model.
_BINS = 40
#: Whole numbers that have a bar each.
_WHOLE = 100


def sample_note(context: ReportContext) -> str:
    """Return how rows of the model and of the data are told from each other."""
    columns = context.estimator.discrete_columns
    if not any(columns):
        return "Black lines: rows drawn from the model." + ("" if context.X is None else " Gray bars: the data.")
    lines = "Bars" if all(columns) else "Black lines, and bars of whole numbers"
    data = "Dots" if all(columns) else "Gray bars, and dots"
    return f"{lines}: rows drawn from the model." + ("" if context.X is None else f" {data}: the data.")


def samples(context: ReportContext) -> list[Picture]:
    """Return a histogram of each column, of rows from the model and of the data."""

    def one(place: int, name: str) -> Picture:
        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.0)
            draw_samples(axes, context, place)
            return figure

        return picture(f"samples-{place}", name, "", draw)

    return [one(place, name) for place, name in enumerate(context.names[:MOST_MARGINALS])]


def draw_samples(axes: Axes, context: ReportContext, place: int) -> None:
    """Draw the histograms of a column in rows from the model and in the data."""
    drawn, values = context.draws[:, place], column_values(context, place)
    both = np.concatenate([drawn, np.zeros(0) if values is None else values])
    if context.estimator.discrete_columns[place] and np.ptp(both) <= _WHOLE:
        x = np.arange(both.min(), both.max() + 1)
        shares = np.mean(drawn[:, None] == x, axis=0)
        plot_marginal(x, shares[None], [1.0], values, discrete=True, axes=axes)
        return
    heights, edges = np.histogram(drawn, _BINS, (both.min(), both.max()), density=True)
    plot_marginal((edges[1:] + edges[:-1]) / 2, heights[None], [1.0], values, axes=axes)
