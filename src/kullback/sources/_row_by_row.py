"""Rows of text one by one: slow, but it says of each what is wrong with it."""

from collections.abc import Callable, Sequence
from typing import Any

from kullback.sources._entries import SHOWN, is_unicode, number, truth, why_no_number, word
from kullback.storage import quote

#: What an entry of a column means, and what is said of one that means nothing.
_MEANINGS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], str]]] = {
    "number": (number, why_no_number),
    "truth": (truth, lambda entry: "which is neither true nor false"),
    "words": (word, lambda entry: "which is not a text" + (" in UTF-8" if isinstance(entry, str) else "")),
}


def parse_rows(rows: Sequence[list[Any] | str], labels: list[str], kinds: list[str]) -> tuple[Any, dict[int, str]]:
    """Return rows of entries as a RecordBatch, and what is wrong with some of them.

    A row that is a string is bad already: it says why.
    """
    import pyarrow as pa

    bad = {place: row for place, row in enumerate(rows) if isinstance(row, str)}
    columns = []
    for place, (label, kind) in enumerate(zip(labels, kinds, strict=True)):
        meaning, why = _MEANINGS[kind]
        entries: list[Any] = []
        for at, row in enumerate(rows):
            if isinstance(row, str):
                entries.append(None)
                continue
            value = meaning(row[place])
            entries.append(value)
            if value is None:
                bad.setdefault(at, f"column {label!r} is {quote(row[place], SHOWN)}, {why(row[place])}")
        columns.append(pa.array(entries, pa.string() if kind == "words" else pa.float64()))
    return pa.RecordBatch.from_arrays(columns, names=[str(place) for place in range(len(labels))]), bad


def keep_rows(rows: Sequence[list[str] | str], labels: list[str], bad: dict[int, str]) -> list[Any]:
    """Return rows of texts that go along as columns of strings; those that are no text are added to the bad ones.

    A row that is a string is bad already: its entries are empty.
    """
    import pyarrow as pa

    columns: list[list[str]] = [[] for _ in labels]
    for at, row in enumerate(rows):
        for label, column, entry in zip(
            labels, columns, [""] * len(labels) if isinstance(row, str) else row, strict=True
        ):
            column.append(entry if is_unicode(entry) else "")
            if column[-1] != entry:
                bad.setdefault(at, f"column {label!r} is {quote(entry, SHOWN)}, which is not text in UTF-8")
    return [pa.array(column, pa.string()) for column in columns]
