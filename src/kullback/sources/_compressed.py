"""Text that may be compressed: its suffix says how."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What may come after the suffix of a text.
SUFFIXES = (".gz", ".zst")

#: Bytes that are passed over at once.
_STEP = 1 << 20


def is_compressed(path: str | Path) -> bool:
    """Whether the bytes of a file are not those of its text."""
    return str(path).lower().endswith(SUFFIXES)


@contextlib.contextmanager
def text_from(path: Path, byte: int) -> Iterator[Any]:
    """Open a text at a byte of what it is when it is not compressed; what is wrong with it is said with its name."""
    try:
        with _open_stream(path) as stream:
            if not _skip(stream, path, byte):
                raise ValueError(f"{path} ends before byte {byte:,}, where reading should go on.")
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    except OSError as error:
        if error.errno is not None:  # it is the disk that speaks, not the file
            raise
        raise ValueError(f"{path} is damaged: {error}.") from None


def _open_stream(path: Path) -> Any:
    if not is_compressed(path):
        return open(path, "rb")
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


def _skip(stream: Any, path: Path, byte: int) -> bool:
    """Go to a byte; say whether there is one."""
    if not is_compressed(path):
        return stream.seek(byte) <= path.stat().st_size
    while byte > 0:
        passed = len(stream.read(min(byte, _STEP)))
        if not passed:
            return False
        byte -= passed
    return True
