"""Archives of NumPy arrays. Nothing in them is ever unpickled."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kullback.sources._columns import Columns
from kullback.sources._damage import damaged
from kullback.sources._npy_header import read_header
from kullback.sources._part import PIECE, Look, Part, Piece, by_row, rows_at_once

#: What one compressed byte can become at most, as deflate packs it; others can pack more, and NumPy does not use them.
_RATIO = 1032


class NpzPart(Part):
    """One array of an NPZ file, compressed or not, read piece by piece: the only one, or the one that is named."""

    def __init__(self, path: Path, member: str | None):
        self.name, self._path = str(path) if member is None else f"{path}:{member}", path
        with damaged(str(path), "NPZ file"), zipfile.ZipFile(path) as archive:
            arrays = {info.filename.removesuffix(".npy"): info for info in archive.infolist() if _is_array(info)}
            if member not in arrays and (member is not None or len(arrays) != 1):
                what = f"{len(arrays) or 'no'} arrays" if member is None else f"no array {member!r}"
                names = list(arrays)[:20]
                raise ValueError(
                    f"{path} has {what}: name one of {', '.join(names) or 'none'} after a colon, as in "
                    f"{path.name}:{names[0] if names else 'X'}."
                )
            info = arrays[next(iter(arrays)) if member is None else member]
            self._member = info.filename
            if info.flag_bits & 1:
                raise ValueError(f"{self.name} is encrypted: save it without a password.")
            size = min(info.file_size, _RATIO * min(info.compress_size, path.stat().st_size))
            with archive.open(info) as stream:
                self._header = read_header(stream, size, self.name)
        if self._header.by_column:
            raise ValueError(f"{self.name} is stored column by column: save np.ascontiguousarray of it, or as NPY.")

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
        size, most = header.width * header.dtype.itemsize, rows_at_once(header.width, PIECE)
        with (
            damaged(self.name, "NPZ file"),
            zipfile.ZipFile(self._path) as archive,
            archive.open(self._member) as stream,
        ):
            stream.seek(header.start + at.get("row", 0) * size)
            for row in range(at.get("row", 0), header.rows, most):
                count = min(most, header.rows - row)
                data = stream.read(count * size)
                if len(data) < count * size:
                    raise EOFError(f"it ends before row {row + count:,}")
                table = np.frombuffer(data, header.dtype).reshape(count, header.width)
                yield Piece(table[:, places], {"row": row}, {}, by_row(self.name, row))


def _is_array(info: zipfile.ZipInfo) -> bool:
    return info.filename.endswith(".npy")
