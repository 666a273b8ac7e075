"""What the library says of a table X, and of targets y, said of rows and columns of a file."""

import contextlib
import re
from collections.abc import Iterator, Sequence

_ENTRY = re.compile(r"\bX\[(\d+), (\d+)\]")
_ROW = re.compile(r"\bX\[(\d+)\]")
_COLUMN = re.compile(r"\bcolumn (\d+)( of X)?\b")
_TARGET = re.compile(r"\by\[(\d+)(?:, (\d+))?\]")
_ALL_TARGETS = re.compile(r"\b(?:Column (\d+) of )?y\b(?= (?:is|has|contains))")
_LACKS = re.compile(r"Input X contains NaN: row (\d+) lacks its entry in column (\d+)\.")
_FEATURES = re.compile(r"\bX has (\d+) feature\(?s?\)?")


@contextlib.contextmanager
def naming_rows(
    data: object, numbers: Sequence[int], labels: Sequence[str], targets: Sequence[str] = ()
) -> Iterator[None]:
    """Let errors about a table speak of the rows with these numbers in some data, and of columns by their names."""
    try:
        yield
    except ValueError as error:
        raise ValueError(name_rows(error, data, numbers, labels, targets)) from None


def name_rows(
    error: Exception, data: object, numbers: Sequence[int], labels: Sequence[str], targets: Sequence[str] = ()
) -> str:
    """Return the sentence of an error about a table whose rows have these numbers in some data.

    >>> error = ValueError("X[2, 1] is -1: a count is needed.")
    >>> name_rows(error, "d.csv", range(11, 16), ["a", "b"])
    "d.csv, row 13: column 'b' is -1: a count is needed."
    >>> name_rows(ValueError("y[0] is 0.5: it must be 0 or 1."), "d.csv", range(11, 16), ["a", "b"], ["c"])
    "d.csv, row 11: column 'c' is 0.5: it must be 0 or 1."
    """
    text = _LACKS.sub(r"X[\1, \2] is missing.", str(error))
    where = f"{data}, rows {numbers[0]:,} to {numbers[-1]:,}" if len(numbers) else str(data)
    found = _ENTRY.search(text) or _ROW.search(text) or (_TARGET.search(text) if targets else None)
    if found and int(found[1]) < len(numbers):
        where = f"{data}, row {numbers[int(found[1])]:,}"

    def label(place: str) -> str:
        return f"column {labels[int(place)]!r}" if int(place) < len(labels) else f"column {place}"

    said = _ENTRY.sub(lambda entry: label(entry[2]), text)
    said = _ROW.sub("it", said)
    if targets:
        said = _name_targets(said, targets)
    said = _COLUMN.sub(lambda column: label(column[1]), said)
    said = _FEATURES.sub(r"there are \1 columns", said)
    said = re.sub(r"\bX\b", "the data", said)
    return text if said == text else f"{where}: {said}"


def _name_targets(text: str, targets: Sequence[str]) -> str:
    def name(place: str | None) -> str:
        several = place is None and len(targets) > 1
        return f"columns {', '.join(map(repr, targets))}" if several else f"column {targets[int(place or 0)]!r}"

    text = _TARGET.sub(lambda found: name(found[2]), text)
    return _ALL_TARGETS.sub(lambda found: name(found[1]), text)
