"""One picture of a fitted estimator, the first that its page would show."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from kullback.families import Component
from kullback.models import (
    ConditionalModel,
    FactorAnalysis,
    HelmholtzMachine,
    HiddenMarkovModel,
    LinearDynamicalSystem,
    Mixture,
    ProbabilisticPCA,
    SpikingMemory,
)
from kullback.plots import panels, plot_eigenvalues, plot_transitions
from kullback.report._components import draw_marginal, draw_plane, plane_of, rows_to_draw
from kullback.report._context import ReportContext
from kullback.report._hidden_markov import draw_states
from kullback.report._images import draw_rows
from kullback.report._linear_system import Series
from kullback.report._samples import draw_samples
from kullback.report._scatter import Scatter
from kullback.report._spiking import Raster
from kullback.report.conditional import draw_conditional


def plot(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    lengths: Any = None,
    inputs: Any = None,
    words: Mapping[str, Sequence[str]] | None = None,
    image_shape: tuple[int, int] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw what a fitted estimator has learned, with rows of data where they are given, and return the Axes.

    Components are ellipses over the rows; of columns that are no sizes, such as categories, the rows are drawn on the
    two columns that say the most about their component; of one column, its density. States of hidden Markov models are
    colors behind the series, or the graph of transitions without rows; a linear dynamical system has its forecast, or
    its eigenvalues; a network of spiking units has their raster. A regressor or classifier has its predictions along
    the input that moves them most. Of another network rows that it draws are shown beside the data, as images where
    rows are images. `write_report` has all pictures of a model on one page.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator of `kullback`.
    X : table or None
        Rows to show the model with: an array or a frame with the columns of the fit.
    y : array-like or None
        The targets of the rows, for models of targets given inputs.
    lengths, inputs, words, image_shape
        As in `write_report`.
    axes : Axes or None
        Where to draw: a new figure when it is None.

    Examples
    --------
    >>> import numpy as np
    >>> from kullback import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> axes = plot(GaussianMixture(2, random_state=0).fit(X), X)
    >>> len(axes.patches)  # two ellipses, each with its outline
    4

    """
    context = ReportContext(estimator, X, lengths, inputs, words, y, image_shape=image_shape)
    axes = panels()[1] if axes is None else axes
    draw_model(context.model, context, axes)
    return axes


@functools.singledispatch
def draw_model(model: Any, context: ReportContext, axes: Axes) -> None:
    """Draw one picture of a kind of model; of one that is not known here, rows drawn from it beside the data."""
    if context.image_shape is not None:
        draw_rows(axes, context)
        return
    draw_samples(axes, context, 0)
    axes.set_xlabel(context.names[0])


@draw_model.register
def _(model: HelmholtzMachine, context: ReportContext, axes: Axes) -> None:
    draw_rows(axes, context)


@draw_model.register(Component)
@draw_model.register(Mixture)
@draw_model.register(ProbabilisticPCA)
@draw_model.register(FactorAnalysis)
def _(model: Any, context: ReportContext, axes: Axes) -> None:
    plane, scatter = plane_of(context), Scatter.of(context)
    if plane is not None:
        draw_plane(axes, context, plane, None if context.X is None else rows_to_draw(context))
    elif scatter is not None:
        scatter.draw(axes, context)
    elif context.columns and context.columns[0].marginal.density is not None:
        draw_marginal(axes, context, 0)
        axes.set_xlabel(context.names[0])
    else:
        draw_model.dispatch(object)(model, context, axes)


@draw_model.register
def _(model: ConditionalModel, context: ReportContext, axes: Axes) -> None:
    draw_conditional(context, axes)


@draw_model.register
def _(model: HiddenMarkovModel, context: ReportContext, axes: Axes) -> None:
    if context.X is None:
        plot_transitions(np.asarray(model.transitions), context.weights, axes)
        return
    draw_states(axes, context, 0)
    axes.set(xlabel="row", ylabel=context.names[0])


@draw_model.register
def _(model: LinearDynamicalSystem, context: ReportContext, axes: Axes) -> None:
    series = Series.of(context)
    if series is None:
        plot_eigenvalues(model.transition, axes)
        return
    series.draw(axes, 0)
    axes.legend(frameon=False, fontsize=9)
    axes.set(xlabel="row", ylabel=context.names[0])


@draw_model.register
def _(model: SpikingMemory, context: ReportContext, axes: Axes) -> None:
    Raster.of(context).draw(axes)
