"""Rows that a model draws, beside the data: what every model has to show."""

import copy

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import panels, plot_marginal
from kullback.report._components import MOST_MARGINALS, column_values
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, picture

#: Rows that are drawn from the model, and bins of their histograms.
_ROWS, _BINS = 2000, 40


def samples(context: ReportContext) -> list[Picture]:
    """Return a histogram of each column, of rows from the model and of the data."""
    drawn = _draw_rows(context)

    def one(place: int, name: str) -> Picture:
        values = column_values(context, place)
        both = np.concatenate([drawn[:, place], np.zeros(0) if values is None else values])
        heights, edges = np.histogram(drawn[:, place], _BINS, (both.min(), both.max()), density=True)

        def draw(width: float) -> Figure:
            figure, axes = panels(width=width, height=3.0)
            plot_marginal((edges[1:] + edges[:-1]) / 2, heights[None], [1.0], values, axes=axes)
            return figure

        return picture(f"samples-{place}", name, "", draw)

    return [one(place, name) for place, name in enumerate(context.names[:MOST_MARGINALS])]


def _draw_rows(context: ReportContext) -> np.ndarray:
    """Draw rows, the same every time."""
    estimator = copy.copy(context.estimator)
    if "random_state" in estimator.get_params(deep=False):
        estimator.random_state = 0
    found = estimator.sample(_ROWS)
    return np.asarray(found[0] if isinstance(found, tuple) else found, dtype=float)
