"""How sure the model is of rows, and which it expects least."""

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import panels, plot_responsibilities
from kullback.report._components import some_rows
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._text import number, percent

#: Rows of the strip of responsibilities, and of the table of the least likely.
_STRIP, _LEAST = 400, 10


def responsibilities(context: ReportContext) -> list[Picture]:
    """Return the strip of responsibilities of a mixture with data."""
    if context.X is None or len(context.weights) < 2:
        return []
    some = some_rows(len(context.X), _STRIP)
    probabilities = np.asarray(context.estimator.predict_proba(context.X[some]))

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        plot_responsibilities(probabilities, axes)
        return figure

    sure = percent(np.mean(probabilities.max(axis=1) > 0.9))
    rows = f"{len(context.X):,} rows"
    which = f"the {rows}" if len(some) == len(context.X) else f"{len(some):,} rows, drawn at random from {rows}"
    caption = f"Colors are the components' probabilities. Of {which}, {sure} belong to one by more than 0.9."
    return [picture("responsibilities", "Responsibilities", caption, draw)]


def least_likely(context: ReportContext) -> list[Table]:
    """Return the rows that the model expects least."""
    each = context.log_likelihoods
    if each is None or context.X is None:
        return []
    order = np.argsort(each, kind="stable")[:_LEAST]
    rows = [
        [f"{row:,}", number(each[row]), *(context.entry(row, place) for place in range(len(context.names)))]
        for row in order
    ]
    headers = ["row", "log-likelihood", *context.names]
    if len(context.lengths) > 1:
        ends = np.cumsum(context.lengths)
        headers.insert(1, "sequence")
        for row, cells in zip(order, rows, strict=True):
            cells.insert(1, f"{np.searchsorted(ends, row, side='right'):,}")
    note = "Log-likelihoods are given the rows before." if context.has_time else ""
    return [table("least-likely", "Least likely rows", headers, rows, note)]
