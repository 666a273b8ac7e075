"""What tells whether a file is the one that was read before: its size, its time, and hashes of some of its blocks."""

import functools
import logging
import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import IO, NamedTuple

logger = logging.getLogger("kullback.sources")

#: Bytes of a block of which there is a hash.
_BLOCK = 1 << 16

_FILE = re.compile(r"(\d{1,18}) (\d{1,19}) ([0-9a-f]{16}) ([0-9a-f]{16})")
_TAIL = re.compile(r"(\d{1,18}) ([0-9a-f]{16})")


class DataFile(NamedTuple):
    """A file of data: `grows` says whether rows can be added at its end, `plain` whether positions are bytes of it."""

    path: Path
    grows: bool
    plain: bool


def fingerprint(path: Path) -> str:
    """Return size, time, and hashes of the first and the last block of a file."""
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        return f"{about.st_size} {about.st_mtime_ns} {_hash(file, 0, about.st_size)} {_last(file, about.st_size)}"


def tail(path: Path, end: int) -> str | None:
    """Return a place in a file and the hash of the block before it; None where it cannot be read any more."""
    try:
        with open(path, "rb") as file:
            return f"{end} {_last(file, end)}"
    except OSError:
        return None


def is_fingerprint(found: object) -> bool:
    """Return whether this is what `fingerprint` says."""
    return isinstance(found, str) and _FILE.fullmatch(found) is not None


def is_tail(found: object) -> bool:
    """Return whether this is what `tail` says."""
    return found is None or (isinstance(found, str) and _TAIL.fullmatch(found) is not None)


def check_file(file: DataFile, before: str, grown: bool) -> None:
    """Raise unless a file is the one that had a fingerprint before; where `grown`, more may stand after that."""
    about = os.stat(file.path)
    found = _difference(file.path, before, about.st_size, about.st_mtime_ns, about.st_ino)
    if found is not None:
        raise ValueError(f"{file.path} is not what was read before: {found}; go on with the same data, or begin anew.")
    size, time = map(int, before.split()[:2])
    if about.st_size > size and not (grown and file.grows):
        raise ValueError(
            f"{file.path} is not what was read before: it had {size:,} bytes and has {about.st_size:,}; go on with the "
            f"same data, or begin anew."
        )
    if about.st_size == size and about.st_mtime_ns != time:
        logger.warning("%s was written since it was read before; its size, beginning and end are the same.", file.path)


def check_tail(file: DataFile, before: str) -> None:
    """Raise unless the block before a place in a file is the same."""
    end = int(before.split()[0])
    if tail(file.path, end) != before:
        raise ValueError(
            f"{file.path} is not what was read before: what stands before byte {end:,} is another; go on with the same "
            f"data, or begin anew."
        )


@functools.lru_cache(maxsize=100_000)
def _difference(path: Path, before: str, size: int, time: int, node: int) -> str | None:
    """Return what is different; a file that was not touched since is not read again."""
    had, first, last = int(before.split()[0]), *before.split()[2:]
    if size < had:
        return f"it had {had:,} bytes and has {size:,}"
    with open(path, "rb") as file:
        if _hash(file, 0, had) != first:
            return "it begins with something else"
        return None if _last(file, had) == last else f"what stands before byte {had:,} is another"


def _last(file: IO[bytes], end: int) -> str:
    return _hash(file, max(end - _BLOCK, 0), end)


def _hash(file: IO[bytes], start: int, end: int) -> str:
    file.seek(start)
    return blake2b(file.read(min(end - start, _BLOCK)), digest_size=8).hexdigest()
