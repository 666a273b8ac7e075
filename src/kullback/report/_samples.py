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
    heights, edges = np.histogram(drawn, _BINS, (both.min(), both.max()), density=True)
    plot_marginal((edges[1:] + edges[:-1]) / 2, heights[None], [1.0], values, axes=axes)
