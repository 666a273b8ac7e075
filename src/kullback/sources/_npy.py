"""NumPy's own files. Nothing in them is ever unpickled."""

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kullback.sources._columns import Columns
from kullback.sources._damage import damaged
from kullback.sources._part import PIECE, Look, Part, Piece, as_matrix, by_row
from kullback.sources._typed import ArrayPart


def npy_part(path: Path) -> ArrayPart:
    """Return an NPY file as a memory map."""
    try:
        return ArrayPart(np.lib.format.open_memmap(path, mode="r"), str(path))
    except ValueError as error:
        raise ValueError(f"{path} is no NPY file of numbers, or it is damaged: {_sentence(error)}") from None


class _Shape(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


class NpzPart(Part):
    """One array of an NPZ file, compressed or not, read piece by piece: the only one, or the one that is named."""

    def __init__(self, path: Path, member: str | None):
        self.name, self._path = str(path) if member is None else f"{path}:{member}", path
        with damaged(str(path), "NPZ file"), zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            if member not in names and (member is not None or len(names) != 1):
                what = f"{len(names)} arrays" if member is None else f"no array {member!r}"
                raise ValueError(
                    f"{path} has {what}: name one of {', '.join(names) or 'none'} after a colon, as in "
                    f"{path.name}:{names[0] if names else 'X'}."
                )
            self._member = f"{member or names[0]}.npy"
            with archive.open(self._member) as stream:
                shape, fortran, dtype = self._read_shape(stream)
        as_matrix(np.empty((0, *shape[1:]), dtype) if shape else np.empty((), dtype), self.name)
        if fortran and len(shape) == 2 and min(shape) > 1:
            raise ValueError(f"{self.name} is stored column by column: save np.ascontiguousarray of it, or as NPY.")
        self._rows, self._width, self._dtype = shape[0], math.prod(shape[1:]), dtype

    @property
    def rows(self) -> int | None:
        """How many rows there are."""
        return self._rows

    def look(self) -> Look:
        """Return how many columns there are."""
        return Look(None, ["number"] * self._width)

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        """Yield what there is from a row on."""
        places, size = columns.typed_places(self.name, *self.look()), self._width * self._dtype.itemsize
        with (
            damaged(self.name, "NPZ file"),
            zipfile.ZipFile(self._path) as archive,
            archive.open(self._member) as stream,
        ):
            self._read_shape(stream)
            stream.seek(at.get("row", 0) * size, 1)
            for row in range(at.get("row", 0), self._rows, PIECE):
                count = min(PIECE, self._rows - row)
                data = stream.read(count * size)
                if len(data) < count * size:
                    raise EOFError(f"it ends before row {row + count:,}")
                table = np.frombuffer(data, self._dtype).reshape(count, self._width)
                yield Piece(table[:, places], {"row": row}, {}, by_row(self.name, row))

    def _read_shape(self, stream: Any) -> _Shape:
        """Read the header of an array."""
        header = np.lib.format
        try:
            version = header.read_magic(stream)
            read = header.read_array_header_1_0 if version == (1, 0) else header.read_array_header_2_0
            return _Shape(*read(stream))
        except ValueError as error:
            raise ValueError(f"{self.name} holds no array of numbers: {_sentence(error)}") from None


def _sentence(error: Exception) -> str:
    return str(error).split("\n")[0].rstrip(". ") + "."
