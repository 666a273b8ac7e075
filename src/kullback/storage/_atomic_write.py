"""Files that are whole, or not there."""

import contextlib
import glob
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from kullback.storage._file_lock import lock_file

#: Seconds after which a temporary file counts as left behind where files cannot be locked.
_STALE = 3600.0


def check_writable(path: Path) -> None:
    """Raise unless a file can be written here: before the work whose result it will hold."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory: there is no place for {path.name}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: give the name of a file.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a regular file: give the name of one.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path.parent} may not be written to: there is no place for {path.name}.")


@contextlib.contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Let errors of the operating system name this file, and not the temporary one that stands for it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside the goal; at the end flush it and rename it.

    A crash, or an error inside, leaves the old file or none. The temporary is locked until it has its name, so that
    nobody takes it for one left behind.
    """
    temporary: Path | None = None
    try:
        with name_in_errors(path):
            temporary, file = _temporary(path)
        try:
            yield file
            with name_in_errors(path):
                file.flush()
                os.fsync(file.fileno())
                if os.name == "posix":
                    os.replace(temporary, path)
        finally:
            with name_in_errors(path):
                file.close()
        if os.name != "posix":  # where an open file keeps its name
            with name_in_errors(path):
                os.replace(temporary, path)
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with atomic_file(path) as file, name_in_errors(path):
        file.write(content)


def _temporary(path: Path) -> tuple[Path, Any]:
    """Return a new file beside another, locked."""
    while True:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        file = open(temporary, "xb")  # noqa: SIM115, closed by who asked
        if lock_file(file) is not False and os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # it was swept away before it was locked
        temporary.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Remove what writers of a file have left that were killed: temporaries that no living one holds."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 32}"):
        try:
            with open(left, "rb") as file:
                held = lock_file(file)
                if held or (held is None and time.time() - os.fstat(file.fileno()).st_mtime > _STALE):
                    left.unlink()
        except OSError:  # another was quicker, or it is not ours to remove
            continue
