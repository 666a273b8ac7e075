"""Rows of separated text: where they end, and their fields.

A field may stand in quotes: it then begins and ends with one, and a quote inside is written twice. A quote inside a
field that does not begin with one is a character like others. A row is broken where a quote opens a field and is never
closed, where something follows a closing quote, or where a carriage return ends no line. Such a row is its first line:
reading goes on with the next one, so that a lost quote costs one row and not all that come after it.
"""

import csv
import functools
import io
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")

_BLANK, _END = re.compile(" *"), re.compile(r"\r?(?:\n|\Z)")
_UNCLOSED = "the quote that opens field {} is not closed where the field ends"
_RETURNS = "a carriage return stands where no line ends"


class Row(NamedTuple):
    """A row: its fields or what is wrong with it, its line and the one after it, whether more could mend it."""

    fields: list[str] | str
    line: int
    after: int
    unfinished: bool = False


def rows_of(data: bytes, line: int, delimiter: str) -> Iterator[Row]:
    """Yield each row that is not empty. `data` holds whole rows, the first of which is in line `line`."""
    text = data.decode("utf-8", errors="surrogateescape")
    for row in _rows(text, delimiter, line):
        if row.fields:
            yield row


def _rows(text: str, delimiter: str, line: int) -> Iterator[Row]:
    """Yield all rows. Python's own reader finds them; a row it cannot read is looked at."""
    coming = _Lines(text)
    while coming.at < len(coming.lines):
        first = coming.at
        try:
            for fields in csv.reader(coming, delimiter=delimiter, strict=True):
                yield Row(fields, line + first, line + coming.at)
                first = coming.at
        except csv.Error:
            found, after, unfinished = _parse_quoted(coming.lines, first, coming.at, delimiter)
            yield Row(found, line + first, line + after, unfinished)
            coming.at = after


class _Lines:
    """Lines of a text, one after the other; it can be said which is next."""

    def __init__(self, text: str):
        self.lines, self.at = list(io.StringIO(text, newline="\n")), 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at == len(self.lines):
            raise StopIteration
        self.at += 1
        return self.lines[self.at - 1]


def _parse_quoted(lines: list[str], first: int, after: int, delimiter: str) -> tuple[list[str] | str, int, bool]:
    """Return the fields of a row that begins with a line and ends after some more, and where; or what is wrong with it.

    A row that is broken ends with its first line. The last value says that more text could mend it.
    """
    while True:
        text = "".join(lines[first:after])
        fields, end = _quoted_row(text, delimiter)
        unfinished = isinstance(fields, str) and end == len(text)
        if not unfinished or after == len(lines):
            break
        after = min(2 * after - first, len(lines))
    if isinstance(fields, str):
        return fields, first + 1, unfinished
    return fields, first + max(text.count("\n", 0, end), 1), False


def whole_rows(data: bytes, delimiter: str) -> tuple[int, bool]:
    """Return where the last whole row of some text ends, and whether none of those until there is broken."""
    end = data.rfind(b"\n") + 1
    sound = _returns_end_lines(data, end)
    if data.find(b'"', 0, end) < 0:
        return end, sound
    text = np.frombuffer(data, np.uint8, end)
    places = np.flatnonzero(text == _QUOTE)
    before = text[places - 1]
    before[places == 0] = _NEWLINE
    begins = (before == ord(delimiter)) | (before == _NEWLINE)
    if not begins.any():  # they are characters like others
        return end, sound
    if not (sound and _alternate(text, places, begins, ord(delimiter))):
        return _whole_rows_one_by_one(data[:end].decode("latin-1"), delimiter)
    if len(places) % 2:  # the last line ends inside quotes
        lines = np.flatnonzero(text[: places[-1]] == _NEWLINE)
        outside = lines[np.searchsorted(places, lines) % 2 == 0]
        end = int(outside[-1]) + 1 if len(outside) else 0
    return end, True


def _returns_end_lines(data: bytes, end: int) -> bool:
    """Whether all carriage returns are those of line ends."""
    return data.find(b"\r", 0, end) < 0 or data.count(b"\r", 0, end) == data.count(b"\r\n", 0, end)


def _alternate(text: np.ndarray, places: np.ndarray, begins: np.ndarray, edge: int) -> bool:
    """Whether the quotes in turn open and close a field, which is nearly always so.

    One that opens is at the beginning of a field, or the second of two that mean one inside a field; one that closes is
    at the end of a field, or the first of two. `text` ends with a line.
    """
    opens = begins[::2] | (text[places[::2] - 1] == _QUOTE)
    after = text[places[1::2] + 1]
    closes = (after == edge) | (after == _NEWLINE) | (after == _RETURN) | (after == _QUOTE)
    return bool(opens.all() and closes.all())


def _whole_rows_one_by_one(text: str, delimiter: str) -> tuple[int, bool]:
    """Return the same of text that ends with a line, whatever its quotes are like."""
    sound, lines = "\r" not in text.replace("\r\n", "\n"), 0
    for row in _rows(text, delimiter, 0):
        if row.unfinished:
            return sum(map(len, text.split("\n")[:lines])) + lines, sound
        lines, sound = row.after, sound and isinstance(row.fields, list)
    return len(text), sound


def _quoted_row(text: str, delimiter: str) -> tuple[list[str] | str, int]:
    """Return the fields of the first row of a text and where it ends, or what is wrong with it and where.

    A quote that is never closed is wrong at the end of the text, all else before it.
    """
    fields: list[str] = []
    at, plain = 0, _plain(delimiter)
    while True:
        inside, rest = "", plain
        if text.startswith('"', at):
            close = _closing(text, at)
            if close < 0:
                return _UNCLOSED.format(len(fields) + 1), len(text)
            inside, rest, at = text[at + 1 : close].replace('""', '"'), _BLANK, close + 1
        edge = _past(rest, text, at)
        fields.append(inside + text[at:edge])
        at = edge + 1
        if not text.startswith(delimiter, edge):
            break
    end = _past(_END, text, edge)
    if end > edge or edge == len(text):
        return fields, end
    return _RETURNS if text[edge] == "\r" else _UNCLOSED.format(len(fields)), edge


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where a pattern ends that begins at a place, or the place where it does not."""
    found = pattern.match(text, at)
    return at if found is None else found.end()


@functools.cache
def _plain(delimiter: str) -> re.Pattern[str]:
    """Return what matches a field without quotes around it."""
    return re.compile(f"[^{re.escape(delimiter)}\r\n]*")


def _closing(text: str, at: int) -> int:
    """Return where the quote is that closes the one at a place; -1 if there is none."""
    at = text.find('"', at + 1)
    while at >= 0 and text.startswith('"', at + 1):
        at = text.find('"', at + 2)
    return at
