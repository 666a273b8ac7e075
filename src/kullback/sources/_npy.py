"""NumPy's own files of one array. Nothing in them is ever unpickled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kullback.sources._npy_header import read_header
from kullback.sources._part import NumberPart, select


class NpyPart(NumberPart):
    """An NPY file, stored row by row or column by column, read piece by piece.

    It is read and not mapped: a file that becomes shorter in the meantime would end the process.
    """

    def __init__(self, path: Path):
        self._path = path
        with open(path, "rb") as stream:
            self._header = read_header(stream, path.stat().st_size, str(path))
        super().__init__(str(path), self._header.rows, self._header.width)

    def _tables(self, first: int, most: int, places: list[int]) -> Iterator[np.ndarray]:
        with open(self._path, "rb", buffering=0) as stream:
            for row in range(first, self._header.rows, most):
                count = min(most, self._header.rows - row)
                if self._header.by_column:
                    yield self._read_columns(stream, row, count, places)
                else:
                    yield select(self._read_rows(stream, row, count), places)

    def _read_rows(self, stream: Any, row: int, count: int) -> np.ndarray:
        table = np.empty((count, self._header.width), self._header.dtype)
        self._fill(stream, row * self._header.width, table)
        return table

    def _read_columns(self, stream: Any, row: int, count: int, places: list[int]) -> np.ndarray:
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
