"""Locks on open files that die with the process that holds them."""

from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def lock_file(file: Any) -> bool | None:
    """Lock an open file until it is closed, and say whether it worked: False where someone else holds the lock.

    None says that nobody can tell: files here cannot be locked.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that knows no locks
        return None
    return True
