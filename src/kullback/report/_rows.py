"""How sure the model is of the component of each row, and which rows it expects least."""

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import panels, plot_responsibilities
from kullback.report._components import some_rows
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._text import all_or_some, number, percent

#: Rows of the strip of responsibilities, and of the table of the least likely.
_STRIP, _LEAST = 400, 10
#: A row is sure with a larger probability of one component; where more of them are, a sentence says it all.
_SURE, _VERY_SURE, _NEARLY_ALL = 0.9, 0.999, 0.95


def certainty(context: ReportContext) -> str:
    """Return a sentence that says how surely rows belong to one component of a mixture."""
    if context.X is None or len(context.weights) < 2:
        return ""
    highest = context.responsibilities.max(axis=1)
    level = _SURE if highest.min() <= _VERY_SURE else _VERY_SURE
    sure, count = int(np.sum(highest > level)), len(highest)
    if count == 1:
        return f"The row belongs to component {context.labels[0]} with a probability of {number(highest[0], 3)}."
    some = f"{sure:,} of {count:,} rows ({percent(sure / count)})" if sure else f"None of {count:,} rows"
    which = f"All {count:,} rows" if sure == count else some
    least = int(highest.argmin())
    end = "" if sure == count else f"; the least certain is row {least:,}, with {number(highest[least], 3)}"
    return f"{which} belong to one component with a probability above {level}{end}."


def responsibilities(context: ReportContext) -> list[Picture]:
    """Return the strip of responsibilities of a mixture with data, unless nearly all rows are sure."""
    if context.X is None or len(context.weights) < 2:
        return []
    if np.mean(context.responsibilities.max(axis=1) > _SURE) >= _NEARLY_ALL:
        return []
    some = some_rows(len(context.X), _STRIP)
    probabilities = context.responsibilities[some]

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.0)
        plot_responsibilities(probabilities, axes)
        return figure

    which = all_or_some(len(some), len(context.X)).removesuffix(",")
    caption = f"The probability of each component for {which}. Rows are grouped by their likeliest component."
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
