"""Pictures of linear dynamical systems: the end of the series, what comes next, and how the state moves."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kullback.plots import panels, plot_eigenvalues, plot_forecast
from kullback.report._context import ReportContext, describe_gaps
from kullback.report._parts import Picture, Table, picture, row_panels, table
from kullback.report._text import number

#: Rows of the past that are drawn, columns, and rows ahead at most.
_PAST, _COLUMNS, _AHEAD = 120, 4, 40


def forecast(context: ReportContext, future_inputs: np.ndarray | None = None) -> list[Picture]:
    """Return the end of the last sequence, what was expected one step before, and the steps ahead with bands."""
    series = Series.of(context, future_inputs)
    if series is None:
        return []
    names = context.names[:_COLUMNS]

    def draw(width: float) -> Figure:
        figure, axes = row_panels(names, width, 3.4, 2.2)
        for place, each in enumerate(axes):
            series.draw(each, place)
        handles, labels = axes[0].get_legend_handles_labels()
        columns = 5 if width > 8 else 2
        figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=9)
        return figure

    title = "Fit and forecast" if series.steps else "Fit"
    caption = _caption(context, len(series.X), series.steps, len(names)) + describe_gaps(series.X[:, : len(names)])
    return [picture("forecast", title, caption, draw, wide=True)]


class Series(NamedTuple):
    """The end `X` of the last sequence, from row `begin` on, its one-step predictions, and forecasts by their level."""

    begin: int
    X: np.ndarray
    expected: np.ndarray
    forecasts: dict[float, Any]
    steps: int

    @classmethod
    def of(cls, context: ReportContext, future_inputs: np.ndarray | None = None) -> "Series | None":
        """Return the series of a system, unless its inputs are not known or it has hardly begun."""
        if context.X is None or context.lacks_inputs or context.lengths[-1] < 3:
            return None
        rows = int(context.lengths[-1])
        X, inputs = context.X[-rows:], None if context.inputs is None else context.inputs[-rows:]
        begin = max(rows - _PAST, 1)  # nothing comes before the first row
        steps = len(future_inputs) if future_inputs is not None else 0 if context.view.inputs else _steps(rows)
        found = {
            level: context.estimator.forecast(X, steps=steps, inputs=inputs, future_inputs=future_inputs, level=level)
            for level in (0.95, 0.5)
            if steps
        }
        expected = _one_step(context, X, inputs)[begin - 1 :]
        return cls(len(context.X) - rows + begin, X[begin:], expected, found, steps)

    def draw(self, axes: Axes, place: int) -> None:
        """Draw one column."""
        bands = [(f.lower[:, place], f.upper[:, place], f"{100 * level:.0f} %") for level, f in self.forecasts.items()]
        time, total = np.arange(self.begin, self.begin + len(self.X)), self.begin + len(self.X)
        mean = self.forecasts[0.5].mean[:, place] if self.steps else []
        ahead = np.arange(total, total + self.steps)
        plot_forecast(time, self.X[:, place], self.expected[:, place], ahead, mean, bands, axes)


def _caption(context: ReportContext, past: int, steps: int, columns: int) -> str:
    whose = " of the last sequence" if len(context.lengths) > 1 else ""
    caption = f"The last {past:,} rows{whose} with their one-step predictions"
    if steps:
        caption += f", and a forecast of the next {steps}. If the model is right, the bands hold 50 % and 95 % of them."
    else:
        caption += ". There is no forecast, because the future inputs were not given."
    if columns < len(context.names):
        caption += f" Only the first {columns} of {len(context.names):,} columns are shown."
    return caption


def _steps(rows: int) -> int:
    return int(np.clip(rows // 5, 5, _AHEAD))


def _one_step(context: ReportContext, X: np.ndarray, inputs: np.ndarray | None) -> np.ndarray:
    """Return what is expected of each row from the second on, given the rows before it: C (A m + B u) + D u + d."""
    model: Any = context.model
    means, _ = context.estimator.filter(X, inputs=inputs)
    ahead = means[:-1] @ np.asarray(model.transition).T
    if inputs is not None and model.input_transition is not None:
        ahead = ahead + inputs[1:] @ np.asarray(model.input_transition).T
    seen = ahead @ np.asarray(model.observation).T
    if inputs is not None and model.input_observation is not None:
        seen = seen + inputs[1:] @ np.asarray(model.input_observation).T
    return seen if model.offset is None else seen + np.asarray(model.offset)


def eigenvalues(context: ReportContext) -> list[Picture]:
    """Return the eigenvalues of the transition in the unit circle."""

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        plot_eigenvalues(context.model.transition, axes)
        return figure

    caption = (
        "Inside the unit circle a mode decays, outside it grows. The angle is how far the mode turns from one row to "
        "the next."
    )
    return [picture("eigenvalues", "Eigenvalues of the transition matrix", caption, draw)]


def system_tables(context: ReportContext) -> list[Table]:
    """Return how the hidden state moves, and how columns see it."""
    model = context.model
    values = np.linalg.eigvals(np.asarray(model.transition))
    values = values[np.argsort(-np.abs(values))]
    motions = []
    for value in values[values.imag >= 0]:
        size, turn = np.abs(value), np.abs(np.angle(value))
        period = number(2 * np.pi / turn) if turn > 1e-9 else "none"
        half = "0" if size <= 0 else number(np.log(0.5) / np.log(size)) if size < 1 else "∞"
        motions.append([number(size), period, half])
    states = [f"hidden {place}" for place in range(len(model.transition))]
    driven, seeing = (_by_input(matrix) for matrix in (model.input_transition, model.input_observation))
    noise = np.sqrt(np.diagonal(np.asarray(model.observation_noise)))
    offset = np.zeros(len(noise)) if model.offset is None else np.asarray(model.offset)
    seen = [
        [name, *_numbers(row, seeing, place), number(offset[place]), number(noise[place])]
        for place, (name, row) in enumerate(zip(context.names, np.asarray(model.observation), strict=True))
    ]
    moves = [[states[place], *_numbers(row, driven, place)] for place, row in enumerate(np.asarray(model.transition))]
    return [
        table("motions", "Modes", ["modulus", "period (rows)", "half-life (rows)"], motions),
        table("observation", "Observation matrix", ["column", *states, *seeing, "offset", "noise (std. dev.)"], seen),
        table("transition", "Transition matrix", ["", *states, *driven], moves),
    ]


def _by_input(matrix: Any) -> dict[str, np.ndarray]:
    """Return what each input does."""
    return {} if matrix is None else {f"input {place}": column for place, column in enumerate(np.asarray(matrix).T)}


def _numbers(row: np.ndarray, by_input: dict[str, np.ndarray], place: int) -> list[str]:
    return [number(value) for value in (*row, *(column[place] for column in by_input.values()))]
