"""Data that comes by and cannot be read again: standard input, named pipes, process substitution, devices."""

import os
import stat
from pathlib import Path
from typing import Any


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
