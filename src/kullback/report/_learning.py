"""How the log-likelihood rose during the fit."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import colors_of, panels, plot_learning
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, picture
from kullback.report._text import short

#: Models that a legend has room for.
_LEGEND = 7


def learning_curves(context: ReportContext, before: Mapping[str, ReportContext]) -> list[Picture]:
    """Return the curve of the fit's steps, that of the stream, and those of models that were combined."""
    title = "Learning step by step" if context.view.network else "Learning from the stream"
    own = _stream("learning-stream", title, {"": context})
    return _fit(context) + own + _stream("learning-before", "Learning before the combination", before)


def _fit(context: ReportContext) -> list[Picture]:
    if context.view.network:
        return _epochs(context)
    bounds = list(getattr(context.estimator, "lower_bounds_", []))
    held = list(getattr(context.estimator, "validation_scores_", []))
    if len(bounds) < 2:
        return []

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        axes.set(xlabel="iteration", ylabel="log-likelihood per row (nats)")
        plot_learning(bounds, axes, label="rows that were learned from" if held else None)
        if held:
            plot_learning(held, axes, label="rows that were held out")
            axes.legend(frameon=False, fontsize=9)
        return figure

    caption = "Mean log-likelihood of the rows after each iteration."
    if held:
        caption += " The fit keeps the iteration that was best on the rows that were held out."
    return [picture("learning", "Learning curve", caption, draw)]


def _epochs(context: ReportContext) -> list[Picture]:
    """Return the objective of a network after each epoch, and the log-likelihood of the rows that were held out."""
    estimator = context.estimator
    bounds = list(getattr(estimator, "lower_bounds_", ()))
    held, errors = (list(getattr(estimator, f"validation_{name}_", ())) for name in ("scores", "errors"))
    if len(bounds) < 2:
        return []
    beside = list(getattr(estimator, "lower_bound_errors_", ())) or None

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.4)
        axes.set(xlabel="epoch", ylabel="nats per row")
        if held:
            plot_learning(held, axes, label="log-likelihood of rows held out", errors=errors)
        plot_learning(bounds, axes, label="objective on rows learned from", errors=beside)
        axes.legend(frameon=False, fontsize=9)
        return figure

    caption = "The mean objective of the steps of each epoch."
    if beside:
        caption += " Band: 2 standard errors of log Z to each side, as they were at the end."
    if held:
        best = int(np.argmax(held))
        caption = (
            "Band: 2 standard errors, over the rows that were held out, to each side. The network is the one after "
            f"epoch {best + 1:,}, which was best on them. The objective is the mean of the steps of each epoch."
        )
    return [picture("learning", "Learning curve", caption, draw)]


def _stream(key: str, title: str, contexts: Mapping[str, ReportContext]) -> list[Picture]:
    """Return the curves of models that have learned batch by batch, under their names."""
    found: dict[str, Any] = {
        name: getattr(context.estimator, "learning_curve_", ()) for name, context in contexts.items()
    }
    curves = {name: curve for name, curve in found.items() if len(curve) > 1}
    if not curves:
        return []
    network = next(iter(contexts.values())).view.network
    colors = dict(zip(contexts, colors_of(len(contexts)), strict=True))

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        axes.set(xlabel="rows seen", ylabel="nats per row" if network else "log-likelihood per row (nats)")
        for name, curve in curves.items():
            plot_learning(curve[:, -2], axes, colors[name], short(name), points=curve[:, -3])
        if 1 < len(contexts) <= _LEGEND:
            axes.legend(frameon=False, fontsize=9)
        return figure

    value, batch, batches = ("objective", "step", "steps") if network else ("log-likelihood", "batch", "batches")
    caption = f"Mean {value} of the rows of each {batch}, before the model learned from it."
    if any(contexts[name].estimator.n_batches_seen_ > len(curve) for name, curve in curves.items()):
        caption += f" Neighboring {batches} are averaged."
    return [picture(key, title, caption, draw)]
