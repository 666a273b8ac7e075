"""What an assessment says, as lines of text."""

from collections.abc import Iterator
from typing import Any

from kullback.cli._messages import spell_options

Facts = dict[str, Any]

#: Letters of a name at the beginning of a line.
_NAME = 22
_LOSSES = {
    "data": "on the data",
    "held_out": "held out",
    "out_of_bag": "out of bag",
    "future": "future left out",
}


def assessment_lines(facts: Facts) -> Iterator[str]:
    """Yield the lines about one model."""
    many = f"{facts['units']:,} sequences of {facts['rows']:,} rows"
    size = f"{facts['rows']:,} rows" if facts["unit"] == "row" else many
    yield f"{facts['kind']}, {size}; losses and criteria in nats per {facts['unit']}"
    yield from _losses(facts["loss"], facts["unit"])
    yield from _sizes(facts)
    yield from _criteria(facts["criteria"])
    if facts["problem"] is not None:
        yield _line("draws", spell_options(facts["problem"]))
    if facts["prior"] is not None:
        yield _line("prior", facts["prior"])
    yield from _stability(facts["stability"])
    for note in facts["notes"]:
        yield _line("note", spell_options(note))


def _losses(losses: Facts, unit: str) -> Iterator[str]:
    yield "loss, with an interval of about 95 %"
    for name, text in _LOSSES.items():
        found = losses[name]
        if found is not None:
            apart = f"   {found['units']:,} {unit}s" if name in ("held_out", "future") else ""
            interval = f"{found['lower']:.4f} to {found['upper']:.4f}"
            yield _line(f"  {text}", f"{found['value']:9.4f}   {interval}{apart}")
    gap = losses["gap"]
    if gap is not None:
        verdict = (
            "it has overfitted"
            if gap["upper"] < 0
            else "the held-out rows are easier"
            if gap["lower"] > 0
            else "no more than chance"
        )
        value = f"{gap['value']:9.4f}   {gap['lower']:.4f} to {gap['upper']:.4f}   data less held out: {verdict}"
        yield _line("  gap", value)


def _sizes(facts: Facts) -> Iterator[str]:
    if facts["parameters"] is None:
        return
    yield "size"
    yield _line("  parameters d", f"{facts['parameters']:9,}")
    found = facts["coefficient"]
    if found is not None:
        bar = f"{2 * found['value']:9.4g} ± {2 * found['standard_error']:.2g} at n = {facts['units']:,}"
        yield _line("  2λ̂", f"{bar}   anchored {2 * found['anchored']:.4g}")


def _criteria(criteria: Facts) -> Iterator[str]:
    if all(value is None for value in criteria.values()):
        return
    yield f"{'criteria':<{_NAME}} {'plug-in':>9} {'Bayes':>9}"
    if criteria["bic"] is not None or criteria["wbic"] is not None:
        yield _line("  BIC, WBIC", f"{_cell(criteria['bic'])} {_cell(criteria['wbic'])}")
    for name in ("waic", "loo"):
        found = criteria[name]
        if found is not None:
            share = f"   k̂ > 0.7 for {100 * found['high_pareto_k']:.2g} % of the rows" if name == "loo" else ""
            value = f"{'':>9} {_cell(found['value'])} ± {found['standard_error']:.2g}{share}"
            yield _line(f"  {name.upper()}", value)


def _stability(found: Facts | None) -> Iterator[str]:
    if found is None:
        return
    yield (
        f"components in {found['refits']} refits to resampled rows; seen: relative entropy to its match within "
        f"{found['seen_within']:g} nats"
    )
    for each in found["components"]:
        entropy = "∞" if each["relative_entropy"] is None else f"{each['relative_entropy']:.3g}"
        weight = f"weight {each['weight']:.3f} ± {each['weight_error']:.2g}"
        seen = f"seen in {100 * each['seen']:.0f} %"
        yield _line(f"  component {each['component']}", f"{weight}   median relative entropy {entropy}   {seen}")
    named = ", ".join(str(each) for each in found["unstable"])
    least = f"{100 * found['least_seen']:.0f} %"
    yield f"  Seen in fewer than {least} of the refits: {named or 'none'}."


def choice_lines(facts: Facts) -> Iterator[str]:
    """Yield the lines of the table of criteria."""
    yield (
        f"{facts['kind']} on {facts['rows']:,} rows: nats per row; beside a criterion how far it is behind the best, ± "
        "the standard error of that, paired by row"
    )
    shown = [name for name in _CRITERIA if any(row[name] is not None for row in facts["candidates"])]
    heads = ["components", "d", "2λ̂", *(_CRITERIA[name] for name in shown)]
    cells = [heads, *(_cells(row, shown) for row in facts["candidates"])]
    if not any(row["coefficient"] for row in facts["candidates"]):
        cells = [line[:2] + line[3:] for line in cells]
    widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
    marks = [" ", *("*" if row["n_components"] == facts["n_components"] else " " for row in facts["candidates"])]
    for mark, line in zip(marks, cells, strict=True):
        yield f"{mark} " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    for row in facts["candidates"]:
        if row["note"]:
            yield f"  {row['n_components']}: {spell_options(row['note'])}"
    by = ", ".join(f"{_CRITERIA[name]} {facts['chosen'][name]}" for name in shown)
    yield f"Chosen by each: {by}."
    yield (
        f"Chosen (*): {facts['n_components']}, the least number within one standard error of the best on rows held "
        f"out, {facts['folds']} folds."
    )
    if facts["prior"]:
        yield f"Prior: {facts['prior']}."
    yield from facts["notes"]


#: Criteria in the order of the table: two of the plug-in, three of the Bayes predictive.
_CRITERIA = {"held_out": "held out", "bic": "BIC", "waic": "WAIC", "loo": "LOO", "wbic": "WBIC"}


def _cells(row: Facts, shown: list[str]) -> list[str]:
    coefficient = row["coefficient"]
    twice = "–" if coefficient is None else f"{2 * coefficient['value']:.3g} ± {2 * coefficient['standard_error']:.2g}"
    parameters = "–" if row["parameters"] is None else str(row["parameters"])
    return [str(row["n_components"]), parameters, twice, *(_criterion_cell(row[name]) for name in shown)]


def _criterion_cell(found: Facts | None) -> str:
    if found is None or found["value"] is None:
        return "–"
    error = "" if found["error"] is None else f" ± {found['error']:.4f}"
    return f"{found['value']:.4f} (+{found['behind']:.4f}{error})"


def _line(name: str, text: str) -> str:
    return f"{name:<{_NAME}} {text}"


def _cell(value: float | None) -> str:
    return f"{'–':>9}" if value is None else f"{value:9.4f}"
