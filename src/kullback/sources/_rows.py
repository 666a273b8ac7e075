"""Rows of separated text: where they end, and their fields.

A field may stand in quotes: it then begins and ends with one, and a quote inside is written twice. A quote inside a
field that does not begin with one is a character like others. A row is broken where a quote opens a field and is never
closed, where something follows a closing quote, or where a carriage return ends no line. Such a row is its first line:
reading goes on with the next one, so that a lost quote costs one row and not all that come after it.
"""

import functools
import re
from collections.abc import Iterator

import numpy as np

_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")

_BLANK, _END = re.compile(" *"), re.compile(r"\r?(?:\n|\Z)")
_UNCLOSED = "the quote that opens field {} is not closed where the field ends"
_RETURNS = "a carriage return stands where no line ends"


def rows_of(data: bytes, line: int, delimiter: str) -> Iterator[tuple[int, list[str] | str, int]]:
    """Yield each row that is not empty: its line, its fields or what is wrong with it, and where it ends.

    `data` holds whole rows, the first of which is in line `line`. The end is a place in the decoded text.
    """
    text = data.decode("utf-8", errors="surrogateescape")
    at, quoted = 0, '"' in text
    while at < len(text):
        stop = text.find("\n", at) + 1 or len(text)
        end = stop
        fields: list[str] | str
        if quoted and text.find('"', at, stop) >= 0:
            found = _quoted_row(text, at, delimiter)
            fields, end = (found[0], stop) if isinstance(found[0], str) else found
        else:
            row = text[at:stop].removesuffix("\n").removesuffix("\r")
            fields = row.split(delimiter) if row else []
            if "\r" in row:
                fields = _RETURNS
        if fields:
            yield line, fields, end
        line += 1 if end == stop else text.count("\n", at, end)
        at = end


def whole_rows(data: bytes, delimiter: str) -> tuple[int, bool]:
    """Return where the last whole row of some text ends, and whether none of those until there is broken."""
    end = data.rfind(b"\n") + 1
    sound = _returns_end_lines(data, end)
    if data.find(b'"', 0, end) < 0:
        return end, sound
    text = np.frombuffer(data, np.uint8, end)
    places = np.flatnonzero(text == _QUOTE)
    if not (sound and _alternate(text, places, ord(delimiter))):
        return _whole_rows_one_by_one(data[:end].decode("latin-1"), delimiter)
    if len(places) % 2:  # the last line ends inside quotes
        lines = np.flatnonzero(text[: places[-1]] == _NEWLINE)
        outside = lines[np.searchsorted(places, lines) % 2 == 0]
        end = int(outside[-1]) + 1 if len(outside) else 0
    return end, True


def _returns_end_lines(data: bytes, end: int) -> bool:
    """Whether all carriage returns are those of line ends."""
    return data.find(b"\r", 0, end) < 0 or data.count(b"\r", 0, end) == data.count(b"\r\n", 0, end)


def _alternate(text: np.ndarray, places: np.ndarray, edge: int) -> bool:
    """Whether the quotes in turn open and close a field, which is nearly always so.

    One that opens is at the beginning of a field, or the second of two that mean one inside a field; one that closes is
    at the end of a field, or the first of two. `text` ends with a line.
    """
    before, after = text[places[::2] - 1], text[places[1::2] + 1]
    before[places[::2] == 0] = _NEWLINE
    begins = (before == edge) | (before == _NEWLINE) | (before == _QUOTE)
    ends = (after == edge) | (after == _NEWLINE) | (after == _RETURN) | (after == _QUOTE)
    return bool(begins.all() and ends.all())


def _whole_rows_one_by_one(text: str, delimiter: str) -> tuple[int, bool]:
    """Return the same of text that ends with a line, whatever its quotes are like: it goes through rows with some."""
    at, sound = 0, "\r" not in text.replace("\r\n", "\n")
    while (quote := text.find('"', at)) >= 0:
        at = text.rfind("\n", at, quote) + 1 or at
        fields, end = _quoted_row(text, at, delimiter)
        if isinstance(fields, str):
            if end == len(text):  # what comes next may close it
                return at, sound
            sound, end = False, text.find("\n", at) + 1
        at = end
    return len(text), sound


def _quoted_row(text: str, at: int, delimiter: str) -> tuple[list[str] | str, int]:
    """Return the fields of the row that begins at a place and where it ends, or what is wrong with it and where.

    A quote that is never closed is wrong at the end of the text, all else before it.
    """
    fields: list[str] = []
    plain = _plain(delimiter)
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
