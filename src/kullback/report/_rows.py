"""How sure the model is of the component of each row, and which rows it expects least."""

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import panels, plot_responsibilities
from kullback.report._components import some_rows
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._text import all_or_some, number, percent, short
from kullback.report.conditional import describe_expected

#: Rows of the strip of responsibilities, and of the table of the least likely.
_STRIP, _LEAST = 400, 10
#: A row is sure with a larger probability of one component; where more of them are, a sentence says it all.
_SURE, _VERY_SURE, _NEARLY_ALL = 0.9, 0.999, 0.95
#: Columns that are named for each of the least likely rows; columns, and letters of their names, beside them at most.
_BLAMED, _VALUES, _LETTERS = 3, 8, 120


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
    end = "" if sure == count else f"; the least certain is row {least + 1:,}, with {number(highest[least], 3)}"
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


def least_likely_rows(each: np.ndarray) -> np.ndarray:
    """Return the rows of the lowest log-likelihoods, the lowest first."""
    return np.argsort(each, kind="stable")[: min(_LEAST, np.sum(~np.isnan(each)))]


def least_likely(context: ReportContext) -> list[Table]:
    """Return the rows that the model expects least, and the columns that make them unlikely."""
    each = context.log_likelihoods
    if each is None or context.X is None:
        return []
    order = least_likely_rows(each)
    columns: dict[str, list[str]] = {"row": [f"{row + 1:,}" for row in order]}
    if len(context.lengths) > 1:
        ends = np.cumsum(context.lengths)
        columns["sequence"] = [f"{np.searchsorted(ends, row, side='right') + 1:,}" for row in order]
    columns["log-likelihood"] = [number(each[row]) for row in order]
    if context.targets is not None:
        columns |= describe_expected(context, order)
    notes = ["Rows are counted from 1."]
    notes += ["Log-likelihoods are given the rows before."] if context.has_time else []
    blamed = _blame(context, order)
    if blamed is not None:
        columns["unlikely values"] = blamed
        notes.append(
            "In parentheses: how many nats more surprising the value is than usual, given the rest of its row."
        )
    headers = list(columns)
    if context.image_shape is not None:
        entries = []
    elif blamed is None or (len(context.names) <= _VALUES and sum(map(len, context.names)) <= _LETTERS):
        headers += context.names
        entries = [[context.entry(row, place) for row in order] for place in range(len(context.names))]
    else:
        entries = []
    rows = [list(cells) for cells in zip(*columns.values(), *entries, strict=True)]
    return [table("least-likely", "Least likely rows", headers, rows, " ".join(notes))]


def _blame(context: ReportContext, rows: np.ndarray) -> list[str] | None:
    """Return the values that make rows unlikely, the most surprising first; None where columns are not told apart."""
    contributions = context.contributions(rows)
    if contributions is None or (contributions == contributions[:, :1]).all():
        return None

    def describe(row: int, told: np.ndarray) -> str:
        order, least = np.argsort(-told, kind="stable")[:_BLAMED], max(1.0, 0.1 * min(told.max(), 1e300))
        largest = [place for place in order if told[place] >= least]
        texts = [f"{short(context.names[k], 24)} {context.entry(row, k)} (+{number(told[k], 3)})" for k in largest]
        return ", ".join(texts) or "no single value"

    return [describe(row, told) for row, told in zip(rows, contributions, strict=True)]
