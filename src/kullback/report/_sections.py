"""Which pictures and tables a page has, by the kind of the model."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from kullback.estimators import Assessment
from kullback.families import Component
from kullback.models import (
    ConditionalModel,
    FactorAnalysis,
    HelmholtzMachine,
    HiddenMarkovModel,
    LinearDynamicalSystem,
    Mixture,
    ProbabilisticPCA,
    RestrictedBoltzmannMachine,
    SpikingMemory,
    VariationalAutoencoder,
)
from kullback.report._autoencoder import autoencoder_sections
from kullback.report._boltzmann import boltzmann_sections
from kullback.report._columns import Column
from kullback.report._combination import likelihoods, side_by_side
from kullback.report._components import (
    chosen_columns,
    component_table,
    describe_choice,
    ellipses,
    marginals,
    plane_of,
)
from kullback.report._context import ReportContext
from kullback.report._factors import factor_table, loadings
from kullback.report._helmholtz import helmholtz_sections
from kullback.report._hidden_markov import dwelling, timeline, transition_graph
from kullback.report._how_sure import how_sure
from kullback.report._images import least_likely_picture, sample_pictures
from kullback.report._learning import learning_curves
from kullback.report._linear_system import eigenvalues, forecast, system_tables
from kullback.report._parts import Picture, Section
from kullback.report._rows import certainty, least_likely, least_likely_rows, responsibilities
from kullback.report._samples import sample_note, samples
from kullback.report._scatter import scatter
from kullback.report._spiking import spiking_sections
from kullback.report.conditional import conditional_sections


def sections(
    context: ReportContext,
    before: Mapping[str, ReportContext],
    future_inputs: np.ndarray | None = None,
    assessment: Assessment | None = None,
) -> list[Section]:
    """Return the parts of the page that have something to show, in order."""
    found = [*model_sections(context.model, context, future_inputs), _columns(context)]
    if before:
        pictures = side_by_side(context, before)
        note = "Each model was fitted to data of its own. Only the models were combined; their data stayed apart."
        if pictures and plane_of(context) is not None and len(context.weights) > 1:
            note += (
                f" The {context.view.noun}s of each model carry the number and the color of the {context.view.noun} of "
                "the combination that they are part of."
            )
        if pictures and plane_of(context) is not None:
            note += context.omission
        found.append(Section("combination", "The combination", note, [likelihoods(context, before)], pictures))
    if assessment is not None:
        found.append(how_sure(context, assessment))
    found.append(Section("learning-section", "Learning", "", [], learning_curves(context, before)))
    found.append(Section("rows", "Unexpected rows", "", least_likely(context), _unexpected(context)))
    return [section for section in found if not section.empty]


@functools.singledispatch
def model_sections(model: Any, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    """Return what only this kind of model has; of one that is not known here, rows that it draws beside the data.

    Register a kind of model to have pictures of its own.
    """
    if context.image_shape is not None:
        return [Section("samples-section", "Samples", "", [], sample_pictures(context))]
    return [Section("samples", "Samples", sample_note(context), [], samples(context))]


@model_sections.register(Component)
@model_sections.register(Mixture)
def _(model: Any, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    if context.components is None:
        return model_sections.dispatch(object)(model, context, future_inputs)
    pictures = (ellipses(context) or scatter(context)) + responsibilities(context)
    title = "The components" if len(context.weights) > 1 else "The model"
    return [Section("components", title, certainty(context), [component_table(context)], pictures)]


@model_sections.register
def _(model: ConditionalModel, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    return conditional_sections(context)


@model_sections.register
def _(model: HelmholtzMachine, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    return helmholtz_sections(context)


@model_sections.register
def _(model: VariationalAutoencoder, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    return autoencoder_sections(context)


@model_sections.register
def _(model: RestrictedBoltzmannMachine, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    return boltzmann_sections(context)


@model_sections.register
def _(model: HiddenMarkovModel, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    tables = [component_table(context), *dwelling(context)]
    pictures = transition_graph(context) + (ellipses(context) or scatter(context))
    return [
        Section("time", "Over time", "", [], timeline(context)),
        Section("states", "The states", "", tables, pictures),
    ]


@model_sections.register
def _(model: LinearDynamicalSystem, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    note = ""
    if context.X is not None and context.lacks_inputs:
        note = "This model takes inputs, and none were given: there are no predictions, likelihoods or forecasts."
    return [
        Section("time", "Over time", note, [], forecast(context, future_inputs)),
        Section("system", "The system", "", system_tables(context), eigenvalues(context)),
    ]


@model_sections.register
def _(model: SpikingMemory, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    return spiking_sections(context)


@model_sections.register(ProbabilisticPCA)
@model_sections.register(FactorAnalysis)
def _(model: Any, context: ReportContext, future_inputs: np.ndarray | None) -> list[Section]:
    return [Section("factors", "The factors", "", [factor_table(context)], loadings(context) + ellipses(context))]


def _unexpected(context: ReportContext) -> list[Picture]:
    if context.image_shape is None or context.log_likelihoods is None:
        return []
    return [least_likely_picture(context, least_likely_rows(context.log_likelihoods))]


def _columns(context: ReportContext) -> Section:
    if not context.columns:
        return Section("columns", "", "", [], [])
    shown = [(context.names[place], context.columns[place]) for place in chosen_columns(context)]
    notes = [_describe_marginals(context, [column for _, column in shown]), describe_choice(context)]
    unknown = ", ".join(f"{name} ({column.words[0]})" for name, column in shown if column.marginal.density is None)
    if unknown:
        notes.append(f"There is no picture of {unknown}: the family does not define its marginals.")
    return Section("columns", "Column by column", " ".join(filter(None, notes)), [], marginals(context))


def _describe_marginals(context: ReportContext, columns: list[Column]) -> str:
    """Return what the lines, bars and dots are in pictures of these columns."""
    drawn = [column.marginal.discrete for column in columns if column.marginal.density is not None]
    noun = context.view.noun if len(context.weights) > 1 else None
    notes = []
    if not all(drawn):
        line, data = "Dashed black line" if noun else "Line", ", over a gray histogram of the data"
        parts = f"; filled curves: its {noun}s, scaled by their shares" if noun else ""
        notes.append(f"{line}: the model{parts}{'' if context.X is None else data}.")
    if any(drawn):
        bars = f"Stacked bars: the {noun}s, which add up to the model" if noun else "Bars: the model"
        notes.append(f"{bars}{'' if context.X is None else '; dots: the data'}.")
    return " ".join(notes)
