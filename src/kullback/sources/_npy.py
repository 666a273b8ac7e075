"""NumPy's own files of one array. Nothing in them is ever unpickled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kullback.sources._columns import Columns
from kullback.sources._npy_header import read_header
from kullback.sources._part import PIECE, Look, Part, Piece, by_row, rows_at_once


class NpyPart(Part):
    """An NPY file, stored row by row or column by column, read piece by piece.

    It is read and not mapped: a file that becomes shorter in the meantime would end the process.
    """

    def __init__(self, path: Path):
        self.name, self._path = str(path), path
        with open(path, "rb") as stream:
            self._header = read_header(stream, path.stat().st_size, self.name)

    @property
    def rows(self) -> int | None:
        """How many rows there are."""
        return self._header.rows

    def look(self) -> Look:
        """Return how many columns there are."""
        return Look(None, ["number"] * self._header.width)

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        """Yield what there is from a row on."""
        header, places = self._header, columns.typed_places(self.name, *self.look())
        whole, most = places == list(range(header.width)), rows_at_once(header.width, PIECE)
        with open(self._path, "rb", buffering=0) as stream:
            for row in range(at.get("row", 0), header.rows, most):
                count = min(most, header.rows - row)
                if header.by_column:
                    table = self._columns(stream, row, count, places)
                else:
                    table = self._rows(stream, row, count)
                    table = table if whole else table[:, places]
                yield Piece(table, {"row": row}, {}, by_row(self.name, row))

    def _rows(self, stream: Any, row: int, count: int) -> np.ndarray:
        table = np.empty((count, self._header.width), self._header.dtype)
        self._fill(stream, row * self._header.width, table)
        return table

    def _columns(self, stream: Any, row: int, count: int, places: list[int]) -> np.ndarray:
        table = np.empty((len(places), count), self._header.dtype)
        for place, column in zip(places, table, strict=True):
            self._fill(stream, place * self._header.rows + row, column)
        return table.T

    def _fill(self, stream: Any, entry: int, out: np.ndarray) -> None:
        """Read entries from the one with this number on."""
        stream.seek(self._header.start + entry * self._header.dtype.itemsize)
        view = memoryview(out.reshape(-1).view(np.uint8).data)
        while view:
            read = stream.readinto(view)
            if not read:
                raise ValueError(f"{self.name} has become shorter while it was read.")
            view = view[read:]
