"""Which pictures and tables a model has, by its kind."""

from kullback.report._combination import likelihoods, side_by_side
from kullback.report._components import MOST_MARGINALS, component_table, ellipses, marginals
from kullback.report._factors import factor_table, loadings
from kullback.report._hidden_markov import dwelling, timeline, transition_graph
from kullback.report._learning import learning_curve
from kullback.report._linear_system import eigenvalues, forecast, system_tables
from kullback.report._parts import Section
from kullback.report._rows import least_likely, responsibilities
from kullback.report._subject import Subject


def sections(subject: Subject, before: list[Subject]) -> list[Section]:
    """Return the parts of the page that have something to show, in order."""
    found = [*_own(subject), _columns(subject)]
    if before:
        note = "Each of the models before has learned by itself; only models were combined, not their data."
        combined = [likelihoods(subject, before)], side_by_side(subject, before)
        found.append(Section("combination", "The combination", note, *combined))
    found.append(Section("learning-section", "Learning", "", [], learning_curve(subject)))
    found.append(Section("rows", "Rows that were not expected", "", least_likely(subject), []))
    return [section for section in found if not section.empty]


def _own(subject: Subject) -> list[Section]:
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
        if subject.takes_inputs:
            note = "The system has inputs, which a report does not get: there is no fit, no likelihood and no forecast."
        return [
            Section("time", "In time", note, [], forecast(subject)),
            Section("system", "The system", "", system_tables(subject), eigenvalues(subject)),
        ]
    if subject.is_factors:
        return [Section("factors", "The factors", "", [factor_table(subject)], loadings(subject) + ellipses(subject))]
    pictures = ellipses(subject) + responsibilities(subject)
    return [Section("components", "The components", "", [component_table(subject)], pictures)]


def _columns(subject: Subject) -> Section:
    pictures = marginals(subject)
    if not pictures:
        return Section("columns", "", "", [], [])
    note = "Solid lines, or the tops of colored bars: the model. "
    if len(subject.weights) > 1:
        note += f"In colors: its {'states' if subject.is_hidden_markov else 'components'}, by their shares. "
    if subject.X is not None:
        note += "Gray bars, or dots: the data. "
    if len(subject.names) > MOST_MARGINALS:
        note += f"The first {MOST_MARGINALS} of {len(subject.names):,} columns."
    return Section("columns", "Column by column", note, [], pictures)
