"""Pictures of restricted Boltzmann machines: filters, usage of hidden units, and what is known of log Z."""

import warnings
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from kullback.plots import panels, plot_usage
from kullback.report._context import ReportContext
from kullback.report._images import choose_rows, draw_images, sample_pictures
from kullback.report._parts import Picture, Section, Table, picture, table
from kullback.report._text import number, percent

#: Rows that are looked at, filters that are shown.
_ROWS, _FILTERS = 500, 48
#: A unit that is on in fewer rows is never on, and one that is off in fewer is always on.
_RARE = 0.01


def boltzmann_sections(context: ReportContext) -> list[Section]:
    """Return samples beside data, what is hidden, and log Z."""
    estimator: Any = context.estimator
    dreams = np.asarray(estimator.transform(context.draws[:_ROWS]), dtype=float).mean(axis=0)
    used = dreams
    if context.X is not None:
        used = np.asarray(estimator.transform(context.X[choose_rows(context, _ROWS)]), dtype=float).mean(axis=0)
    log_z, note = _log_partition(context)
    pictures = [_filters(context, used), _usage(context, used, dreams)]
    tables = [_units(context, used, dreams), log_z]
    return [
        Section("samples-section", "Samples", "", [], sample_pictures(context)),
        Section("hidden", "Hidden units", note, tables, pictures),
    ]


def _log_partition(context: ReportContext) -> tuple[Table, str]:
    """Return log Z with its standard error, by counting or annealing and as the training has known it."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        value, error = context.estimator.log_partition()
    path, spread = context.estimator.path_log_partition_
    known = context.estimator.curve_is_likelihood_
    how = "all states counted" if error == 0 else "annealed importance sampling"
    rows = [[how, number(value, 6), "exact" if error == 0 else number(error, 2)]]
    told_path = [number(path, 6), number(spread, 2)] if known else ["lost", ""]
    rows.append(["chains along the training, of the last step", *told_path])
    note = (
        "Log-likelihoods are minus the free energy less log Z, the logarithm of a sum over all states. The machine is "
        "an average of those on its way, of about the last fifth; the learning curve and the chains along the training "
        "tell of each of these."
    )
    if not known:
        note += (
            " The machine has moved too far for the chains that know log Z while it learns: its curve is one of "
            "pseudo-likelihoods from then on."
        )
    notes = [str(one.message) for one in told if issubclass(one.category, ConvergenceWarning)]
    return table("log-partition", "Log Z", ["by", "log Z", "standard error"], rows, ""), " ".join([note, *notes[:1]])


def _filters(context: ReportContext, used: np.ndarray) -> Picture:
    """Return the weights of hidden units, those that move the data most first."""
    weights = np.asarray(context.model.weights, dtype=float).T
    order = np.argsort(-used * (1 - used) * np.square(weights).sum(axis=1), kind="stable")[:_FILTERS]
    which = f"{len(order)} of {len(weights):,} units" if len(order) < len(weights) else f"all {len(weights)} units"
    what = "log odds" if context.model.log_scale is None else "mean"
    caption = (
        f"What {which} add to the {what} of each column when they are on: blue is more, orange less. Those that make "
        "the largest difference come first."
    )
    shown = weights[order]
    return picture("filters", "Filters", caption, lambda width: draw_images(shown, context.image_shape, width, True))


def _usage(context: ReportContext, used: np.ndarray, dreams: np.ndarray) -> Picture:
    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        plot_usage([used], ["hidden units"], axes, None if context.X is None else [dreams])
        return figure

    caption = "How often each unit is on, given rows of the data; dashed: in rows that the model draws."
    alone = "How often each unit is on in rows that the model draws."
    return picture("usage", "Usage of hidden units", alone if context.X is None else caption, draw)


def _units(context: ReportContext, used: np.ndarray, dreams: np.ndarray) -> Table:
    never, always = int(np.sum(used < _RARE)), int(np.sum(used > 1 - _RARE))
    row = [f"{len(used):,}", percent(used.mean()), percent(dreams.mean()), never, always]
    given = "rows of the model" if context.X is None else "rows of the data"
    note = f"Never on: with less than {percent(_RARE)} on average over the rows; always on: with all but that."
    return table(
        "units", "Hidden units", ["units", f"on, given {given}", "on, in draws", "never on", "always on"], [row], note
    )
