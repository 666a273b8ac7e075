"""Files that are whole, or not there."""

import glob
import os
import time
import uuid
from pathlib import Path
from typing import Any

from kullback._file_lock import locked

#: Seconds after which a temporary file counts as left behind where files cannot be locked.
_STALE = 3600.0


def write_whole(path: Path, content: bytes) -> None:
    """Write to a temporary file beside the goal, flush, then rename: a crash leaves the old file or the new one.

    An error names the goal. The temporary is locked until it has its name, so that nobody takes it for one left behind.
    """
    temporary: Path | None = None
    try:
        temporary, file = _temporary(path)
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":
                os.replace(temporary, path)
        if os.name != "posix":  # where an open file keeps its name
            os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _temporary(path: Path) -> tuple[Path, Any]:
    """Return a new file beside another, locked."""
    while True:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        file = open(temporary, "xb")  # noqa: SIM115, closed by who asked
        if locked(file) is not False and os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # it was swept away before it was locked
        temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove what writers of a file have left that were killed: temporaries that no living one holds."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 32}"):
        try:
            with open(left, "rb") as file:
                held = locked(file)
                if held or (held is None and time.time() - os.fstat(file.fileno()).st_mtime > _STALE):
                    left.unlink()
        except OSError:  # another was quicker, or it is not ours to remove
            continue
