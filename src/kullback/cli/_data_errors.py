"""What the library says of a table X, said of rows and columns of a file."""

import re
from collections.abc import Sequence

_ENTRY = re.compile(r"\bX\[(\d+), (\d+)\]")
_ROW = re.compile(r"\bX\[(\d+)\]")
_COLUMN = re.compile(r"\bcolumn (\d+)( of X)?\b")
_FEATURES = re.compile(r"\bX has (\d+) feature\(?s?\)?")


def name_rows(error: Exception, data: object, first: int, count: int, labels: Sequence[str]) -> str:
    """Return the sentence of an error about a table of `count` rows, which come after `first` others of some data.

    >>> error = ValueError("X[2, 1] is -1: a count is needed.")
    >>> name_rows(error, "d.csv", 10, 5, ["a", "b"])
    "d.csv, row 13: column 'b' is -1: a count is needed."
    """
    text = str(error)
    where = f"{data}, rows {first + 1:,} to {first + count:,}"
    found = _ENTRY.search(text) or _ROW.search(text)
    if found:
        where = f"{data}, row {first + int(found[1]) + 1:,}"

    def label(place: str) -> str:
        return f"column {labels[int(place)]!r}" if int(place) < len(labels) else f"column {place}"

    said = _ENTRY.sub(lambda entry: label(entry[2]), text)
    said = _ROW.sub("it", said)
    said = _COLUMN.sub(lambda column: label(column[1]), said)
    said = _FEATURES.sub(r"there are \1 columns", said)
    said = re.sub(r"\bX\b", "the data", said)
    return text if said == text else f"{where}: {said}"
