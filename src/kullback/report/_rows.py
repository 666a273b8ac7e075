"""How sure the model is of rows, and which it expects least."""

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import panels, plot_responsibilities
from kullback.report._components import some_rows
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._subject import Subject
from kullback.report._text import number, percent

#: Rows of the strip of responsibilities, and of the table of the least likely.
_STRIP, _LEAST = 400, 10


def responsibilities(subject: Subject) -> list[Picture]:
    """Return the strip of responsibilities of a mixture with data."""
    if not subject.is_mixture or subject.X is None or len(subject.weights) < 2:
        return []
    some = some_rows(len(subject.X), _STRIP)
    probabilities = np.asarray(subject.estimator.predict_proba(subject.X[some]))

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        plot_responsibilities(probabilities, axes)
        return figure

    sure = percent(np.mean(probabilities.max(axis=1) > 0.9))
    rows = f"{len(subject.X):,} rows"
    which = f"the {rows}" if len(some) == len(subject.X) else f"{len(some):,} rows, drawn at random from {rows}"
    caption = f"Colors are the components' probabilities. Of {which}, {sure} belong to one by more than 0.9."
    return [picture("responsibilities", "Responsibilities", caption, draw)]


def least_likely(subject: Subject) -> list[Table]:
    """Return the rows that the model expects least."""
    each = subject.log_likelihoods
    if each is None or subject.X is None:
        return []
    order = np.argsort(each, kind="stable")[:_LEAST]
    rows = [
        [f"{row:,}", number(each[row]), *(subject.entry(row, place) for place in range(len(subject.names)))]
        for row in order
    ]
    headers = ["row", "log-likelihood", *subject.names]
    if len(subject.lengths) > 1:
        ends = np.cumsum(subject.lengths)
        headers.insert(1, "sequence")
        for row, cells in zip(order, rows, strict=True):
            cells.insert(1, f"{np.searchsorted(ends, row, side='right'):,}")
    note = "Log-likelihoods are given the rows before." if subject.has_time else ""
    return [table("least-likely", "Least likely rows", headers, rows, note)]
