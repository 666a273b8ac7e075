"""Sentences on standard error."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kullback.storage import printable, sentence

#: Characters of a sentence: what the library says in 300, and names of files and columns.
_MOST = 1000


def print_message(text: str) -> None:
    """Write one line on standard error."""
    print("kullback: " + printable(sentence(text, _MOST)), file=sys.stderr, flush=True)


def print_answer(text: str) -> None:
    """Write one line on standard output."""
    print(printable(text), flush=True)


class _Notes(logging.Handler):
    """Notes of bad rows, as sentences."""

    def emit(self, record: logging.LogRecord) -> None:
        print_message(record.getMessage())


@contextmanager
def mute_notes() -> Iterator[None]:
    """Print no notes of bad rows, where the same rows are read again."""
    logger = logging.getLogger("kullback")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@contextmanager
def print_warnings(quiet: bool) -> Iterator[None]:
    """Turn warnings of the library, and its notes of bad rows, into sentences; or into nothing."""

    def show(message: Any, *args: Any, **kwargs: Any) -> None:
        if not quiet:
            print_message(str(message))

    logger, handler = logging.getLogger("kullback"), logging.NullHandler() if quiet else _Notes()
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield
    finally:
        logger.removeHandler(handler)
