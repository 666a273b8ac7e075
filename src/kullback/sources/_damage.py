"""Files that are not what they should be: one sentence that names the file."""

import contextlib
import zipfile
import zlib
from collections.abc import Iterator


@contextlib.contextmanager
def damaged(name: str, kind: str) -> Iterator[None]:
    """Say of what a reader cannot read that it is damaged. Errors of our own go through as they are."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{name} is no {kind}, or it is damaged: {_first(error)}.") from None
    except OSError as error:
        if error.errno is not None:  # it is the disk that speaks, not the file
            raise
        raise ValueError(f"{name} is no {kind}, or it is damaged: {_first(error)}.") from None


def _first(error: Exception) -> str:
    """Return the first sentence of a message."""
    return str(error).split("\n")[0].rstrip(". ") or type(error).__name__
