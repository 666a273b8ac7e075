"""Which pictures and tables a page has, by the kind of the model."""

import functools
from typing import Any

import numpy as np

from kullback.families import Component
from kullback.models import FactorAnalysis, HiddenMarkovModel, LinearDynamicalSystem, Mixture, ProbabilisticPCA
from kullback.report._combination import likelihoods, side_by_side
from kullback.report._components import MOST_MARGINALS, component_table, ellipses, marginals, plane_of
from kullback.report._context import ReportContext
from kullback.report._factors import factor_table, loadings
from kullback.report._hidden_markov import dwelling, timeline, transition_graph
from kullback.report._learning import learning_curves
from kullback.report._linear_system import eigenvalues, forecast, system_tables
from kullback.report._parts import Section
from kullback.report._rows import least_likely, responsibilities
from kullback.report._samples import samples


def sections(
    context: ReportContext, before: list[ReportContext], future_inputs: np.ndarray | None = None
) -> list[Section]:
    """Return the parts of the page that have something to show, in order."""
    found = [*model_sections(context.model, context, future_inputs), _columns(context)]
    if before:
        note = "Each of the models before has learned by itself; only models were combined, not their data."
        pictures = side_by_side(context, before)
        if pictures and plane_of(context) is not None and len(context.weights) > 1:
            note += " Components have the number and color of those of the combination that they went into."
        if pictures and plane_of(context) is not None:
            note += context.omission
        found.append(Section("combination", "The combination", note, [likelihoods(context, before)], pictures))
    found.append(Section("learning-section", "Learning", "", [], learning_curves(context, before)))
    found.append(Section("rows", "Rows that were not expected", "", least_likely(context), []))
    return [section for section in found if not section.empty]


@functools.singledispatch
def model_sections(model: Any, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    """Return what only this kind of model has; of one that is not known here, rows that it draws beside the data.

    Register a kind of model to have pictures of its own.
    """
    note = "Black lines: rows that the model draws. " + ("" if context.X is None else "Gray bars: the data.")
    return [Section("samples", "Samples", note.strip(), [], samples(context))]


@model_sections.register(Component)
@model_sections.register(Mixture)
def _(model: Any, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    if context.components is None:
        return model_sections.dispatch(object)(model, context, future_inputs)
    pictures = ellipses(context) + responsibilities(context)
    return [Section("components", "The components", "", [component_table(context)], pictures)]


@model_sections.register
def _(model: HiddenMarkovModel, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    tables, pictures = [component_table(context), *dwelling(context)], transition_graph(context) + ellipses(context)
    return [
        Section("time", "In time", "", [], timeline(context)),
        Section("states", "The states", "", tables, pictures),
    ]


@model_sections.register
def _(model: LinearDynamicalSystem, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    note = ""
    if context.X is not None and context.lacks_inputs:
        note = "The system has inputs, and the report got none: there is no fit, no likelihood and no forecast."
    return [
        Section("time", "In time", note, [], forecast(context, future_inputs)),
        Section("system", "The system", "", system_tables(context), eigenvalues(context)),
    ]


@model_sections.register(ProbabilisticPCA)
@model_sections.register(FactorAnalysis)
def _(model: Any, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    return [Section("factors", "The factors", "", [factor_table(context)], loadings(context) + ellipses(context))]


def _columns(context: ReportContext) -> Section:
    shown = list(zip(context.names, context.columns, strict=False))[:MOST_MARGINALS]
    pictures = marginals(context)
    unknown = ", ".join(f"{name} ({column.words[0]})" for name, column in shown if column.marginal.density is None)
    if not pictures and not unknown:
        return Section("columns", "", "", [], [])
    note = "Solid lines, or the tops of colored bars: the model. "
    if len(context.weights) > 1:
        note += f"In colors: its {context.view.noun}s, by their shares. "
    if context.X is not None:
        note += "Gray bars, or dots: the data. "
    if len(context.names) > MOST_MARGINALS:
        note += f"The first {MOST_MARGINALS} of {len(context.names):,} columns. "
    if unknown:
        note = (note if pictures else "") + f"There is no picture of {unknown}: the family does not say how to draw it."
    return Section("columns", "Column by column", note, [], pictures)
