"""Pictures of hidden Markov models: the states in time, and how they follow each other."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.plots import panels, plot_states, plot_transitions
from kullback.report._context import ReportContext, describe_gaps
from kullback.report._parts import Picture, Table, color_names, picture, row_panels, table
from kullback.report._text import number, percent, short

#: Rows and columns of the timeline, and categories beside it.
_STEPS, _COLUMNS, _LEVELS = 1000, 4, 10


def timeline(context: ReportContext) -> list[Picture]:
    """Return the series over the colors of its most probable path of states."""
    if context.X is None:
        return []
    X, names = context.X, context.names[:_COLUMNS]
    begin, lengths = _last_steps(context)

    def draw(width: float) -> Figure:
        figure, axes = row_panels(names, width, 2.6, 1.9)
        for place, each in enumerate(axes):
            draw_states(each, context, place)
        return figure

    caption = "Background colors show the most probable path of states."
    if len(lengths) > 1:
        caption += " Dotted lines mark the start of a new sequence."
    if begin:
        caption += f" Only the last {_STEPS:,} of {len(X):,} rows are shown."
    if len(names) < len(context.names):
        caption += f" Only the first {len(names)} of {len(context.names):,} columns are shown."
    caption += describe_gaps(X[begin:, : len(names)])
    return [picture("timeline", "States in time", caption, draw, wide=True)]


def _last_steps(context: ReportContext) -> tuple[int, np.ndarray]:
    """Return the first row that is shown, and the lengths of the sequences from there on."""
    begin = max(int(context.lengths.sum()) - _STEPS, 0)
    ends = np.cumsum(context.lengths)
    return begin, np.diff(np.append(begin, ends[ends > begin]))


def draw_states(axes: Axes, context: ReportContext, place: int) -> None:
    """Draw the end of a column over the states on the most probable path."""
    assert context.X is not None
    begin, lengths = _last_steps(context)
    time, values = np.arange(begin, len(context.X)), context.X[begin:, place]
    plot_states(time, values, context.labels[begin:], len(context.weights), axes, lengths)
    _name_levels(axes, context.columns[place].categories)


def _name_levels(axes: Axes, categories: tuple[str, ...]) -> None:
    """Write categories beside the levels of a column, where there is room for them."""
    if 0 < len(categories) <= _LEVELS:
        axes.set_yticks(range(len(categories)), [short(word, 12) for word in categories])


def transition_graph(context: ReportContext) -> list[Picture]:
    """Return the graph of states and transitions."""
    transitions, k = np.asarray(context.model.transitions), len(context.weights)
    height = 2.7 if k == 2 else 4.2 if k > 2 else 2.2

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=height)
        plot_transitions(transitions, context.weights, axes)
        return figure

    inside = "Each circle shows the number of the state and its probability of staying. " if k <= 10 else ""
    caption = (
        f"{inside}Arrows are wider for more probable transitions, and circles larger for more frequent states. "
        "Transitions with a probability below 0.01 are left out."
    )
    return [picture("transitions", "Transitions", caption, draw)]


def dwelling(context: ReportContext) -> list[Table]:
    """Return how long each state lasts, and the transitions."""
    model = context.model
    stays = np.diagonal(np.asarray(model.transitions))
    lasts = np.divide(1.0, 1 - stays, out=np.full(len(stays), np.inf), where=stays < 1)
    headers = ["state", "mean duration (rows)", "start probability"]
    rows = [[str(k), number(lasts[k]), percent(model.initial[k])] for k in range(len(stays))]
    if context.X is not None:
        share = np.bincount(context.labels, minlength=len(stays)) / len(context.labels)
        headers.append("share of the data")
        rows = [[*row, percent(share[k])] for k, row in enumerate(rows)]
    names = [f"to {k}" for k in range(len(stays))]
    moves = [[f"from {k}", *(number(p, 3) for p in row)] for k, row in enumerate(np.asarray(model.transitions))]
    return [
        table("dwelling", "Duration of states", headers, rows, colors=color_names(len(stays))),
        table("transitions-table", "Transition probabilities", ["", *names], moves),
    ]
