"""Pieces of all sizes become batches of one size, each with the place after it."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kullback.sources._columns import Columns
from kullback.sources._errors import BadRowCounter, report_damage
from kullback.sources._kept import Kept
from kullback.sources._part import Part, rows_at_once


class Mark(NamedTuple):
    """A place between two rows: `taken` rows after the beginning `at` of a piece of the part number `part`.

    `rows` are the good ones until then, `bad` the others, and `words` says how many words of each column were known,
    and in how many entries they were.
    """

    part: int
    name: str
    at: dict[str, Any]
    taken: int
    rows: int
    bad: int
    words: dict[str, tuple[int, int]]


class Batch(NamedTuple):
    """Rows and the place after them. Without rows it only says that this place is reached."""

    values: np.ndarray
    mark: Any
    kept: Kept | None = None


#: A part, its number, and where in it to begin.
PartStart = tuple[int, Part, dict[str, Any]]


def batches(
    parts: Iterable[PartStart], columns: Columns, size: int, counter: BadRowCounter, rows: int
) -> Iterator[Batch | None]:
    """Yield batches of `size` rows, and a last one that may be shorter; None when nothing came yet."""
    full, filled, mark, along = _room(size, len(columns)), 0, None, columns.gather_kept()
    for number, part, start in parts:
        for piece in part.pieces(columns, start):
            if piece is None:
                yield None
                continue
            place = max(start.get("row", 0) - piece.at["row"], 0)
            while place < len(piece):
                taken = min(size - filled, len(piece) - place)
                full = grow(full, filled, taken, size)
                here = full[filled : filled + taken]
                bad = {row - place: what for row, what in piece.bad.items() if place <= row < place + taken}
                with report_damage(part.name, "table that can be used"):
                    good = columns.fill(here, _rows(piece.table, place, taken), bad)
                for row in sorted(bad):
                    counter.add(piece.where(place + row), bad[row])
                if along is not None:
                    along.add(piece, part.name, place, taken, list(bad))
                if bad:
                    here[: len(good)] = good
                place, filled, rows = place + taken, filled + len(good), rows + len(good)
                mark = Mark(number, part.name, piece.at, place, rows, counter.count, columns.codes.sizes())
                if filled == size:
                    yield Batch(full, mark, None if along is None else along.take())
                    full, filled = _room(size, len(columns)), 0
    columns.codes.refuse_names()
    if mark is not None:
        yield Batch(full[:filled], mark, None if along is None else along.take())


def _room(size: int, width: int) -> np.ndarray:
    """Return room for a batch, or for its first rows where rows are so wide that all might not be there."""
    return np.empty((rows_at_once(width, size), width))


def grow(full: np.ndarray, filled: int, more: int, size: int) -> np.ndarray:
    """Return room for `more` rows after those that are filled, of `size` at most."""
    if filled + more <= len(full):
        return full
    grown = np.empty((min(size, max(filled + more, 2 * len(full))), full.shape[1]))
    grown[:filled] = full[:filled]
    return grown


def _rows(table: Any, place: int, count: int) -> Any:
    return table[place : place + count] if isinstance(table, np.ndarray) else table.slice(place, count)
