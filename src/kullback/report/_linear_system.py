"""Pictures of linear dynamical systems: the end of the series, what comes next, and how the state moves."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import panels, plot_eigenvalues, plot_forecast
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._subject import Subject
from kullback.report._text import number, two_lines

#: Rows of the past that are drawn, columns, and rows ahead at most.
_PAST, _COLUMNS, _AHEAD = 120, 4, 40


def forecast(subject: Subject) -> list[Picture]:
    """Return the end of the series, what was expected one step before, and the steps ahead with bands."""
    if subject.X is None or subject.takes_inputs or len(subject.X) < 3:
        return []
    X, rows = subject.X, len(subject.X)
    begin = max(rows - _PAST, 1)  # nothing comes before the first row
    steps = int(np.clip(rows // 5, 5, _AHEAD))
    expected = _one_step(subject)
    found = {level: subject.estimator.forecast(X, steps=steps, level=level) for level in (0.95, 0.5)}
    names = subject.names[:_COLUMNS]

    def draw(width: float) -> Figure:
        figure, axes = panels(len(names), 1, width, 2.2 if len(names) > 1 else 3.4)
        for place, (name, each) in enumerate(zip(names, np.ravel(axes), strict=True)):
            bands = [(f.lower[:, place], f.upper[:, place], f"{level:.0%}") for level, f in found.items()]
            time, ahead = np.arange(begin, rows), np.arange(rows, rows + steps)
            past = X[begin:, place], expected[begin - 1 :, place]
            plot_forecast(time, *past, ahead, found[0.5].mean[:, place], bands, each)
            each.set_ylabel(two_lines(name))
            if place < len(names) - 1:
                each.tick_params(labelbottom=False)
        np.ravel(axes)[-1].set_xlabel("row")
        handles, labels = np.ravel(axes)[0].get_legend_handles_labels()
        columns = 5 if width > 8 else 2
        figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=9)
        return figure

    caption = f"The last {rows - begin:,} rows, what one step before was expected of them, and {steps} rows ahead. "
    caption += "Bands hold half of the points and 95 % of them, if the system is right."
    if len(names) < len(subject.names):
        caption += f" The first {len(names)} of {len(subject.names)} columns."
    return [picture("forecast", "Fit and forecast", caption, draw, wide=True)]


def _one_step(subject: Subject) -> np.ndarray:
    """Return what is expected of each row from the second on, given the rows before it: C A m + d."""
    model: Any = subject.model
    means, _ = subject.estimator.filter(subject.X)
    offset = 0.0 if model.offset is None else np.asarray(model.offset)
    return means[:-1] @ np.asarray(model.transition).T @ np.asarray(model.observation).T + offset


def eigenvalues(subject: Subject) -> list[Picture]:
    """Return the eigenvalues of the transition in the unit circle."""

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        plot_eigenvalues(subject.model.transition, axes)
        return figure

    caption = "Inside of the circle a motion dies out; the angle is how far it turns in a row."
    return [picture("eigenvalues", "Eigenvalues of the transition", caption, draw)]


def system_tables(subject: Subject) -> list[Table]:
    """Return how the hidden state moves, and how columns see it."""
    model = subject.model
    values = np.linalg.eigvals(np.asarray(model.transition))
    values = values[np.argsort(-np.abs(values))]
    motions = []
    for value in values[values.imag >= 0]:
        size, turn = np.abs(value), np.abs(np.angle(value))
        period = number(2 * np.pi / turn) if turn > 1e-9 else "none"
        half = "none" if size <= 0 else number(np.log(0.5) / np.log(size)) if size < 1 else "never"
        motions.append([number(size), period, half])
    states = [f"hidden {place}" for place in range(len(model.transition))]
    noise = np.sqrt(np.diagonal(np.asarray(model.observation_noise)))
    offset = np.zeros(len(noise)) if model.offset is None else np.asarray(model.offset)
    seen = [
        [name, *(number(c) for c in row), number(offset[place]), number(noise[place])]
        for place, (name, row) in enumerate(zip(subject.names, np.asarray(model.observation), strict=True))
    ]
    moves = [[states[i], *(number(a) for a in row)] for i, row in enumerate(np.asarray(model.transition))]
    return [
        table("motions", "Motions", ["size", "period (rows)", "half gone after (rows)"], motions),
        table("observation", "Columns", ["column", *states, "offset", "noise (deviation)"], seen),
        table("transition", "Transition of the hidden state", ["", *states], moves),
    ]
