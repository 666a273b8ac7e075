"""Whether predictions are right: numbers by their probabilities, categories by how often they come."""

import numpy as np
from matplotlib.figure import Figure

from kullback.plots import panels, plot_coverage, plot_matrix, plot_pit, plot_reliability, plot_residuals
from kullback.report._components import some_rows
from kullback.report._parts import Picture, Table, picture, table
from kullback.report._text import number, percent, short
from kullback.report.conditional._answers import Target

#: Categories of the table of what was taken for what.
_CLASSES = 12
#: Levels of the intervals whose coverage is written.
_LEVELS = (0.5, 0.9)


def calibration_pictures(target: Target) -> list[Picture]:
    """Return the pictures that compare what was predicted of a target with what came; none without rows."""
    if not len(target.known):
        return []
    return _of_categories(target) if target.categories else _of_numbers(target)


def _of_numbers(target: Target) -> list[Picture]:
    pit, rows = target.pit[target.known], f"{len(target.known):,} rows"
    shown = target.known[some_rows(len(target.known))]

    def draw_pit(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.4)
        plot_pit(pit, axes)
        return figure

    def draw_coverage(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.4)
        plot_coverage(pit, axes)
        return figure

    def draw_residuals(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.4)
        plot_residuals(target.center, target.residuals, axes, shown)
        axes.set_xlabel(f"predicted {'direction' if target.angle else 'mean'} of {short(target.name, 24)}")
        return figure

    random = " Equal whole numbers share their probability at random." if target.discrete else ""
    key = target.place
    return [
        picture(
            f"pit-{key}",
            "PIT histogram",
            f"How probable a smaller value was, of {rows}: flat where predictions are right, a U where they are too "
            "narrow, a hill where they are too wide. Gray: 95 % of what chance does to a bar."
            f"{random}{target.omission}",
            draw_pit,
        ),
        picture(
            f"coverage-{key}",
            "Coverage by level",
            "How many rows the central intervals of each level hold: the diagonal where predictions are right. Gray: "
            "95 % of what chance does to it.",
            draw_coverage,
        ),
        picture(
            f"residuals-{key}",
            "Residuals",
            "Quantile residuals, standard normal where predictions are right. Dashed: the 5 %, 50 % and 95 % quantiles "
            "of that"
            + ("; solid: those of rows with similar predictions." if len(target.known) >= 100 else ".")
            + _describe_drawn(len(shown), len(target.known)),
            draw_residuals,
        ),
    ]


def _describe_drawn(drawn: int, count: int) -> str:
    return "" if drawn == count else f" Dots are {drawn:,} of {count:,} rows, chosen at random."


def _of_categories(target: Target) -> list[Picture]:
    codes = target.values[target.known].astype(int)
    probabilities = target.probabilities[target.known]
    likeliest = probabilities.argmax(axis=1)
    two = len(target.categories) == 2
    if two:
        predicted, came = probabilities[:, 1], codes == 1
        what = f"The predicted probability of {target.categories[1]}, and how often it came"
    else:
        predicted, came = probabilities.max(axis=1), likeliest == codes
        what = "The probability of the likeliest category, and how often it came"

    def draw_reliability(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.8)
        plot_reliability(predicted, came, axes)
        return figure

    found = [
        picture(
            f"reliability-{target.place}",
            "Reliability",
            f"{what}, in groups of rows with similar probabilities: the diagonal where predictions are right. Gray "
            f"bars: 95 % of what chance does to a group.{target.omission}",
            draw_reliability,
        )
    ]
    kinds = np.arange(len(target.categories))
    if len(kinds) > _CLASSES:
        often = np.bincount(codes, minlength=len(kinds))
        kinds = np.sort(np.argsort(-often, kind="stable")[:_CLASSES])
    counts = np.array([[np.sum((codes == true) & (likeliest == taken)) for taken in kinds] for true in kinds])
    names = [short(target.categories[kind], 14) for kind in kinds]

    def draw_confusion(width: float) -> Figure:
        figure, axes = panels(width=width, height=max(1.2 + 0.4 * len(kinds), 2.4))
        totals = np.array([np.sum(codes == kind) for kind in kinds])[:, None]
        plot_matrix(100 * counts / np.maximum(totals, 1), names, names, axes, decimals=0)
        if sum(len(name) + 2 for name in names) > 50:
            axes.tick_params(axis="x", labelrotation=90)
        axes.set(xlabel="likeliest category", ylabel="what came")
        return figure

    caption = "Of the rows of each category, how many percent are predicted as which."
    if len(kinds) < len(target.categories):
        caption += f" The {len(kinds)} most common of {len(target.categories):,} categories."
    return [*found, picture(f"confusion-{target.place}", "Confusion", caption, draw_confusion)]


def score_tables(targets: list[Target]) -> list[Table]:
    """Return how good predictions are, in numbers: of targets that are numbers, and of categories."""
    numbers = [target for target in targets if not target.categories and len(target.known)]
    categories = [target for target in targets if target.categories and len(target.known)]
    found = []
    if numbers:
        headers = ["target", "rows", "mean absolute error", *(f"in the {percent(level)} interval" for level in _LEVELS)]
        found.append(table("scores", "Scores", headers, [_score(target) for target in numbers]))
    if categories:
        headers = ["target", "rows", "predicted right", "most common category", "log-likelihood (nats)"]
        rows = [_score_categories(target) for target in categories]
        found.append(table("category-scores", "Scores of categories" if numbers else "Scores", headers, rows))
    return found


def _score(target: Target) -> list[str]:
    errors = target.values[target.known] - target.center[target.known]
    if target.angle:
        errors = np.mod(errors + np.pi, 2 * np.pi) - np.pi
    away = 2 * np.abs(target.pit[target.known] - 0.5)
    held = [percent(np.mean(away <= level)) for level in _LEVELS]
    return [target.name, f"{len(target.known):,}", number(np.abs(errors).mean()), *held]


def _score_categories(target: Target) -> list[str]:
    codes, table = target.values[target.known].astype(int), target.probabilities[target.known]
    often = np.bincount(codes, minlength=len(target.categories))
    with np.errstate(divide="ignore"):
        score = np.log(table[np.arange(len(codes)), codes]).mean()
    common = f"{target.categories[often.argmax()]} ({percent(often.max() / len(codes))})"
    return [target.name, f"{len(codes):,}", percent(np.mean(table.argmax(axis=1) == codes)), common, number(score)]
