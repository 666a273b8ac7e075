"""Whether many fits of like tables follow each other, so that functions which all of them can use are worth more."""

import contextlib
import contextvars
from collections.abc import Iterator

_SHARING: contextvars.ContextVar[bool] = contextvars.ContextVar("sharing", default=False)


@contextlib.contextmanager
def sharing_compilations() -> Iterator[None]:
    """Let fits inside prefer what they can share to what is quickest for each: candidates differ in size alone.

    >>> with sharing_compilations():
    ...     compilations_are_shared()
    True
    >>> compilations_are_shared()
    False
    """
    before = _SHARING.set(True)
    try:
        yield
    finally:
        _SHARING.reset(before)


def compilations_are_shared() -> bool:
    """Say whether someone compares candidates of several sizes."""
    return _SHARING.get()
