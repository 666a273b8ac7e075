"""Archives of NumPy arrays. Nothing in them is ever unpickled."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kullback.sources._errors import report_damage
from kullback.sources._npy_header import read_header
from kullback.sources._part import NumberPart

#: What one compressed byte can become at most, as deflate packs it; others can pack more, and NumPy does not use them.
_RATIO = 1032


class NpzPart(NumberPart):
    """One array of an NPZ file, compressed or not, read piece by piece: the only one, or the one that is named."""

    def __init__(self, path: Path, member: str | None):
        self._path, name = path, str(path) if member is None else f"{path}:{member}"
        with report_damage(str(path), "NPZ file"), zipfile.ZipFile(path) as archive:
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
                raise ValueError(f"{name} is encrypted: save it without a password.")
            size = min(info.file_size, _RATIO * min(info.compress_size, path.stat().st_size))
            with archive.open(info) as stream:
                self._header = read_header(stream, size, name)
        if self._header.by_column:
            raise ValueError(f"{name} is stored column by column: save np.ascontiguousarray of it, or as NPY.")
        super().__init__(name, self._header.rows, self._header.width)

    def _tables(self, first: int, most: int, places: list[int]) -> Iterator[np.ndarray]:
        header = self._header
        size = header.width * header.dtype.itemsize
        with (
            report_damage(self.name, "NPZ file"),
            zipfile.ZipFile(self._path) as archive,
            archive.open(self._member) as stream,
        ):
            stream.seek(header.start + first * size)
            for row in range(first, header.rows, most):
                count = min(most, header.rows - row)
                data = stream.read(count * size)
                if len(data) < count * size:
                    raise EOFError(f"it ends before row {row + count:,}")
                yield np.frombuffer(data, header.dtype).reshape(count, header.width)[:, places]


def _is_array(info: zipfile.ZipInfo) -> bool:
    return info.filename.endswith(".npy")
