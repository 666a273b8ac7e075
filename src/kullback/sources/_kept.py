"""Columns that go along with the rows that are read, untouched: what they are, and what a batch of them is."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

#: How entries are kept: as values of Arrow, as the fields of a text, or as JSON.
FORMS = ("typed", "text", "json")


class Kept(NamedTuple):
    """The columns that go along with the rows of a batch, one entry for each row, as they are in the data.

    `table` is a `pyarrow.RecordBatch`. Files of typed columns keep their types. Of separated text ("text") all columns
    are strings, as they are written. Of JSON lines ("json") they are strings of JSON, null where a key is not there.
    `kinds` says what the columns hold, as the beginning of the data shows. `rows` are the numbers of the rows in their
    file, from 1, where bad rows count as well; `files` are the names of the files, or None where there is only one.
    """

    table: Any
    form: str
    kinds: dict[str, str]
    rows: np.ndarray
    files: list[str] | None

    @classmethod
    def concatenate(cls, parts: Sequence["Kept"]) -> "Kept":
        """Return the columns of several batches as those of one."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        files = None if first.files is None else [name for part in parts for name in part.files or ()]
        rows = np.concatenate([part.rows for part in parts])
        return first._replace(table=_concatenate([part.table for part in parts]), rows=rows, files=files)


class KeptSelection:
    """Which columns go along: their names, or places where they have none, and what they hold."""

    def __init__(self, places: list[int], names: list[str] | None, kinds: list[str], several: bool):
        self.names = [f"x{place}" if names is None else names[place] for place in places]
        self.wanted: list[Any] = list(places) if names is None else list(self.names)
        self.kinds = dict(zip(self.names, (kinds[place] for place in places), strict=True))
        self.several = several

    def record_batch(self, columns: list[Any]) -> Any:
        """Return columns of a part, in order, with the names that they go along under."""
        import pyarrow as pa

        return pa.RecordBatch.from_arrays(columns, names=self.names)


class KeptGatherer:
    """Gathers what goes along with the rows of one batch."""

    def __init__(self, columns: KeptSelection):
        self._columns = columns
        self._tables: list[Any] = []
        self._rows: list[np.ndarray] = []
        self._files: list[str] = []
        self._form = ""

    def add(self, piece: Any, part: str, place: int, count: int, bad: Sequence[int]) -> None:
        """Add the rows of a piece from a place on, without the bad ones, which are counted from there."""
        table, form = piece.kept
        keep = np.delete(np.arange(count), list(bad)) if bad else np.arange(count)
        table = table.slice(place, count)
        if self._tables and (table.schema != self._tables[0].schema or form != self._form):
            raise ValueError(f"{part}: the columns that are kept have other types than in the file before it.")
        self._form = form
        self._tables.append(table.take(keep) if bad and self._columns.names else table)
        self._rows.append(piece.at["row"] + place + keep + 1)
        self._files += [part] * len(keep)

    def take(self) -> Kept | None:
        """Return what was gathered, and begin anew; None if there is nothing."""
        if not self._tables:
            return None
        files = self._files if self._columns.several else None
        found = Kept(_concatenate(self._tables), self._form, self._columns.kinds, np.concatenate(self._rows), files)
        self._tables, self._rows, self._files = [], [], []
        return found


def _concatenate(tables: list[Any]) -> Any:
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    if any(pa.types.is_dictionary(kind) for kind in tables[0].schema.types):
        return pa.Table.from_batches(tables).unify_dictionaries().combine_chunks().to_batches()[0]
    return pa.concat_batches(tables)
