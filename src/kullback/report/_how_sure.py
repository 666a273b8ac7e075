"""How sure the model can be of what it says: losses with intervals, criteria, and components under resampling."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kullback.estimators import Assessment
from kullback.families import Gaussian
from kullback.plots import colors_of, panels, plot_pareto_k, plot_refits, plot_stream_band
from kullback.report._components import moments_of, plane_of
from kullback.report._context import ReportContext
from kullback.report._parts import Picture, Section, Table, color_names, picture, table
from kullback.report._text import number
from kullback.runtime import in_float64

#: Batches of a stream from which on it has a band.
_BATCHES = 12
_LOSSES = {
    "data": "on the data",
    "held_out": "on rows held out",
    "out_of_bag": "out of bag, on rows that refits have not seen",
    "future": "on the future, under fits to what came before",
    "gap": "gap: on the data less held out",
}

Facts = dict[str, Any]


def how_sure(context: ReportContext, assessment: Assessment) -> Section:
    """Return the section that shows an assessment."""
    facts = assessment.facts
    tables = [_losses(facts), _criteria(facts), *_stability(facts["stability"], context.view.noun)]
    pictures = [*_refits(context, assessment), *_pareto(facts["pareto_k"]), *_band(context)]
    notes = [each for each in (facts["problem"], *facts["notes"]) if each]
    return Section("how-sure", "How sure", " ".join(notes), tables, pictures)


def _losses(facts: Facts) -> Table:
    rows = [
        [text, number(found["value"]), f"{number(found['lower'])} to {number(found['upper'])}"]
        for name, text in _LOSSES.items()
        if (found := facts["loss"][name]) is not None
    ]
    note = f"−log-likelihood in nats per {facts['unit']}."
    gap = facts["loss"]["gap"]
    if gap is not None:
        beyond = "is below 0: the model has overfitted" if gap["upper"] < 0 else "holds 0, or is above it"
        note += f" The interval of the gap {beyond}."
    return table("losses", "Loss", ["loss", "nats", "about 95 %"], rows, note)


def _criteria(facts: Facts) -> Table:
    rows, found, coefficient = [], facts["criteria"], facts["coefficient"]
    if facts["parameters"] is not None:
        rows.append(["parameters d", f"{facts['parameters']:,}", ""])
    if coefficient is not None:
        twice = f"{number(2 * coefficient['value'])} ± {number(2 * coefficient['standard_error'], 2)}"
        rows.append([f"2λ̂ at n = {facts['units']:,}", twice, "learning coefficient, in place of d"])
    for name, of in (("bic", "plug-in"), ("wbic", "Bayes")):
        if found[name] is not None:
            rows.append([name.upper(), number(found[name]), of])
    for name in ("waic", "loo"):
        each = found[name]
        if each is not None:
            value = f"{number(each['value'])} ± {number(each['standard_error'], 2)}"
            share = f", k̂ > 0.7 for {100 * each['high_pareto_k']:.2g} % of the rows" if name == "loo" else ""
            rows.append([name.upper(), value, f"Bayes{share}"])
    note = f"Criteria in nats per {facts['unit']}; the lower the better."
    if facts["prior"] is not None:
        note += f" Prior: {facts['prior']}."
    return table("criteria", "Criteria", ["", "value", "of"], rows, note)


def _stability(found: Facts | None, noun: str) -> list[Table]:
    if found is None:
        return []
    rows = [
        [
            str(each["component"]),
            f"{number(each['weight'])} ± {number(each['weight_error'], 2)}",
            "∞" if each["relative_entropy"] is None else number(each["relative_entropy"], 2),
            f"{100 * each['seen']:.0f} %",
        ]
        for each in found["components"]
    ]
    named = ", ".join(str(each) for each in found["unstable"])
    note = (
        f"{found['refits']} refits to resampled rows. Distance: the median relative entropy to the {noun} that it is "
        f"matched with, in nats; it is seen where that is at most {found['seen_within']:g}. Seen in fewer than "
        f"{100 * found['least_seen']:.0f} % of the refits: {named or 'none'}."
    )
    headers = [noun, "weight", "distance", "seen"]
    return [table("stability", "Under resampling", headers, rows, note, color_names(len(rows)))]


def _refits(context: ReportContext, assessment: Assessment) -> list[Picture]:
    plane, moments = plane_of(context), moments_of(context)
    if plane is None or moments is None or not assessment.models or assessment.facts["stability"] is None:
        return []
    own = Gaussian(*plane.shadows(*moments))
    others = [Gaussian(*plane.shadows(*_moments(model.components))) for model in assessment.models]

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=4.2)
        plot_refits(own, others, axes, colors_of(len(context.weights)), weights=context.weights)
        for which, mean in enumerate(np.asarray(own.mean)):
            axes.annotate(
                str(which), tuple(mean), xytext=(4, 3), textcoords="offset points", fontsize=10, fontweight="bold"
            )
        axes.set(xlabel=plane.labels[0], ylabel=plane.labels[1])
        return figure

    caption = f"Filled: the fit. Thin lines: {min(len(others), 30)} refits to resampled rows.{plane.caption}"
    return [picture("refits", "Other rows, other ellipses", caption, draw)]


@in_float64
def _moments(components: Any) -> tuple[np.ndarray, np.ndarray]:
    found: tuple[np.ndarray, np.ndarray] = components.moments()
    return found


def _pareto(pareto_k: list[float] | None) -> list[Picture]:
    if pareto_k is None:
        return []

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        plot_pareto_k(pareto_k, axes)
        return figure

    caption = "Above the line, the loss of a row left out is not known from the draws."
    return [picture("pareto-k", "Rows that hold the posterior", caption, draw)]


def _band(context: ReportContext) -> list[Picture]:
    curve = vars(context.estimator).get("learning_curve_", ())
    if context.view.network or len(curve) < _BATCHES:
        return []

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        plot_stream_band(curve, axes)
        return figure

    caption = (
        "Dots: the loss of batches before they were learned from. Line: their mean so far. The band holds at every "
        "look with probability 95 %, approximately."
    )
    return [picture("stream-band", "Foretelling the stream", caption, draw)]
