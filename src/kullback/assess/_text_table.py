"""Tables as text: a header, aligned columns, a mark before the lines that count."""

import math
from collections.abc import Sequence
from typing import Any

#: Letters of a cell.
_LONGEST = 48


def text_table(rows: Sequence[dict[str, Any]], columns: Sequence[str], marked: Sequence[bool]) -> str:
    """Return rows under the names of their columns; lines that are marked begin with a star.

    Of columns that hold parameters, `param_…`, the names of the parameters are shown.

    >>> print(text_table([{"k": 1, "nats": -1.25}, {"k": 12, "nats": float("-inf")}], ["k", "nats"], [True, False]))
         k   nats
    *    1  -1.25
        12   -inf
    """
    head = [name.removeprefix("param_") for name in columns]
    cells = [head, *([cell_text(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    lines = ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in cells]
    marks = [" ", *("*" if mark else " " for mark in marked)]
    return "\n".join(f"{mark}   {line}".rstrip() for mark, line in zip(marks, lines, strict=True))


def cell_text(value: Any) -> str:
    """Return a value with a few digits; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.5g}" if math.isfinite(value) else str(value)
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
