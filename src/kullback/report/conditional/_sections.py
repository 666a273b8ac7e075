"""Which sections a model of targets given inputs has, and which picture alone."""

from matplotlib.axes import Axes

from kullback.report._context import ReportContext
from kullback.report._parts import Section
from kullback.report._text import clean
from kullback.report.conditional._along import Along, along_inputs
from kullback.report.conditional._answers import Target, targets_of
from kullback.report.conditional._calibration import calibration_pictures, score_tables
from kullback.report.conditional._coefficients import coefficient_tables

#: Targets that have pictures.
_TARGETS = 4


def conditional_sections(context: ReportContext) -> list[Section]:
    """Return calibration, predictions along the inputs, and coefficients."""
    targets, along = targets_of(context), Along(context)
    shown = targets[:_TARGETS]
    many = len(targets) > 1
    found = [Section("predictions", "Predictions", _describe_targets(context, targets), score_tables(targets), [])]
    for target in shown:
        title = f"Calibration of {target.name}" if many else "Calibration"
        found.append(
            Section(
                f"calibration-{target.place}",
                title,
                _warning(target) if target is shown[0] else "",
                [],
                calibration_pictures(target),
            )
        )
    for target in shown:
        note, pictures = along_inputs(context, along, target, len(shown))
        title = f"{target.name} along each input" if many else "Along each input"
        found.append(Section(f"along-{target.place}", title, note, [], pictures))
    found.append(Section("coefficients", "Coefficients", "", coefficient_tables(context), []))
    return found


def draw_conditional(context: ReportContext, axes: Axes) -> None:
    """Draw the first target along the input along which its prediction moves most, with rows of the data."""
    along, target = Along(context), targets_of(context)[0]
    (axis,) = along.chosen(target, 1)
    along.draw(axes, target, axis)


def _describe_targets(context: ReportContext, targets: list[Target]) -> str:
    notes = []
    if len(targets) > _TARGETS:
        notes.append(f"Pictures are of the first {_TARGETS} of {len(targets):,} targets.")
    if context.targets is not None:
        never = [target.name for target in targets if not len(target.known)]
        if never:
            notes.append(f"All rows lack {', '.join(map(clean, never))}: there is nothing to compare predictions with.")
    return " ".join(notes)


def _warning(target: Target) -> str:
    if not len(target.known):
        return ""
    return "If the fit has learned from these rows, all of this looks better than it will on new ones."
