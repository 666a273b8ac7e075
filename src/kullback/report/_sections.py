"""Which pictures and tables a model has, by its kind."""

import numpy as np

from kullback.report._combination import likelihoods, side_by_side
from kullback.report._components import MOST_MARGINALS, component_table, ellipses, marginals, plane_of
from kullback.report._factors import factor_table, loadings
from kullback.report._hidden_markov import dwelling, timeline, transition_graph
from kullback.report._learning import learning_curves
from kullback.report._linear_system import eigenvalues, forecast, system_tables
from kullback.report._parts import Section
from kullback.report._rows import least_likely, responsibilities
from kullback.report._subject import Subject


def sections(subject: Subject, before: list[Subject], future_inputs: np.ndarray | None = None) -> list[Section]:
    """Return the parts of the page that have something to show, in order."""
    found = [*_own_sections(subject, future_inputs), _columns(subject)]
    if before:
        note = "Each of the models before has learned by itself; only models were combined, not their data."
        pictures = side_by_side(subject, before)
        if pictures and plane_of(subject) is not None and len(subject.weights) > 1:
            note += " Components have the number and color of those of the combination that they went into."
        if pictures and plane_of(subject) is not None:
            note += subject.left_out
        found.append(Section("combination", "The combination", note, [likelihoods(subject, before)], pictures))
    found.append(Section("learning-section", "Learning", "", [], learning_curves(subject, before)))
    found.append(Section("rows", "Rows that were not expected", "", least_likely(subject), []))
    return [section for section in found if not section.empty]


def _own_sections(subject: Subject, future_inputs: np.ndarray | None) -> list[Section]:
    """Return what only this kind of model has."""
    if subject.is_hidden_markov:
        return [
            Section("time", "In time", "", [], timeline(subject)),
            Section(
                "states",
                "The states",
                "",
                [component_table(subject), *dwelling(subject)],
                transition_graph(subject) + ellipses(subject),
            ),
        ]
    if subject.is_linear_system:
        note = ""
        if subject.X is not None and subject.lacks_inputs:
            note = "The system has inputs, and the report got none: there is no fit, no likelihood and no forecast."
        return [
            Section("time", "In time", note, [], forecast(subject, future_inputs)),
            Section("system", "The system", "", system_tables(subject), eigenvalues(subject)),
        ]
    if subject.is_factors:
        return [Section("factors", "The factors", "", [factor_table(subject)], loadings(subject) + ellipses(subject))]
    pictures = ellipses(subject) + responsibilities(subject)
    return [Section("components", "The components", "", [component_table(subject)], pictures)]


def _without_picture(subject: Subject) -> str:
    """Return the columns of which there is no picture, as this page does not know their family."""
    if subject.components is None:
        return ""
    drawn = list(zip(subject.names, subject.columns, strict=True))[:MOST_MARGINALS]
    named = [f"{name} ({column.words[0]})" for name, column in drawn if column.density is None]
    return ", ".join(named) + ": this page does not know the family" if named else ""


def _columns(subject: Subject) -> Section:
    pictures, unknown = marginals(subject), _without_picture(subject)
    if not pictures and not unknown:
        return Section("columns", "", "", [], [])
    note = "Solid lines, or the tops of colored bars: the model. "
    if len(subject.weights) > 1:
        note += f"In colors: its {'states' if subject.is_hidden_markov else 'components'}, by their shares. "
    if subject.X is not None:
        note += "Gray bars, or dots: the data. "
    if len(subject.names) > MOST_MARGINALS:
        note += f"The first {MOST_MARGINALS} of {len(subject.names):,} columns. "
    if unknown:
        note = (note if pictures else "") + f"There is no picture of {unknown}."
    return Section("columns", "Column by column", note, [], pictures)
