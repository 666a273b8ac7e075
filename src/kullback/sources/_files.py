"""Paths, globs and directories: which files they are, and which are streams that cannot be read again."""

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kullback.sources._formats import FORMATS, suffixes_of

#: What comes after the name of an NPZ file: the name of an array in it.
_MEMBER = re.compile(r"(?P<path>.*\.npz):(?P<member>[^:/\\\\]+)", re.IGNORECASE)


def list_files(paths: Sequence[str | Path], format: str | None) -> Iterator[tuple[Path, str | None]]:
    """Yield the files that paths, globs and directories name, those of a glob or directory in the order of their names.

    With each comes the name of an array in it, where there is one after the path.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}: it must be one of {', '.join(FORMATS)}.")
    for path in paths:
        named = _MEMBER.fullmatch(str(path))
        if named and not Path(path).exists():
            yield from ((file, named["member"]) for file in _expand(named["path"], format))
        else:
            yield from ((file, None) for file in _expand(str(path), format))


def _expand(path: str, format: str | None) -> list[Path]:
    place = Path(path)
    if place.is_dir():
        files = [file for file in sorted(place.rglob("*")) if _is_data(file.relative_to(place), format)]
        if not files:
            raise FileNotFoundError(f"{path} holds no file with a known suffix ({', '.join(suffixes_of(format))}).")
    elif is_stream(path):
        raise ValueError(f"{path} is a stream: it can only be read alone, and not among other files.")
    elif place.exists():
        files = [place]
    elif glob.has_magic(path):
        files = [Path(name) for name in sorted(glob.glob(path, recursive=True)) if Path(name).is_file()]
        if not files:
            raise FileNotFoundError(f"No file matches {path}.")
    else:
        raise FileNotFoundError(f"There is no file {path}.")
    return files


def _is_data(file: Path, format: str | None) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.parts)  # as Spark and others leave them behind
    return not hidden and file.name.lower().endswith(tuple(suffixes_of(format)))


def is_stream(data: Any) -> bool:
    """Return whether data is "-" or the path of something that can be read once, such as a named pipe."""
    if not isinstance(data, str | Path):
        return False
    if str(data) == "-":
        return True
    try:
        mode = os.stat(data).st_mode
    except (OSError, ValueError):  # there is nothing, or nothing can have this name
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
