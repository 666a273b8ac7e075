"""Sentences on standard error."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def say(sentence: str) -> None:
    """Write one line."""
    print("kullback: " + " ".join(sentence.split()), file=sys.stderr, flush=True)


class _Notes(logging.Handler):
    """Notes of bad rows, as sentences."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


@contextmanager
def said_warnings(quiet: bool) -> Iterator[None]:
    """Turn warnings of the library, and its notes of bad rows, into sentences; or into nothing."""

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if not quiet:
            say(str(message))

    logger, handler = logging.getLogger("kullback"), logging.NullHandler() if quiet else _Notes()
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)
