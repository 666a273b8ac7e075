"""Files and rows that are not what they should be: one sentence that names the file, and the row."""

import contextlib
import errno
import logging
import lzma
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

logger = logging.getLogger("kullback.sources")

#: Characters of what a reader of files says that are shown.
LONGEST = 160

_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    UnicodeDecodeError,
    struct.error,
    tokenize.TokenError,
    SyntaxError,
    RecursionError,
    NotImplementedError,
    MemoryError,
    OverflowError,
)


class BadRow(ValueError):  # noqa: N818 - it is what the row is
    """A row that cannot be used. The message says the file, the line or row, and what is wrong."""


class BadRowCounter:
    """Counts bad rows: the first one raises, or the first beyond `limit` where they may be skipped."""

    def __init__(self, skip: bool, limit: int, count: int = 0):
        self.skip, self.limit, self.count = skip, limit, count

    def add(self, where: str, what: str) -> None:
        """Take note of one bad row."""
        if not self.skip:
            raise BadRow(f"{where}: {what} (skip_bad leaves such rows out).")
        self.count += 1
        if self.count > self.limit:
            raise BadRow(f"{where}: {what}; this is bad row number {self.count:,}, and max_bad allows {self.limit:,}.")
        logger.warning("%s: %s; the row is left out.", where, what)


@contextlib.contextmanager
def report_damage(name: str, kind: str) -> Iterator[None]:
    """Say of what a reader cannot read that it is damaged. Errors of our own go through as they are."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, *_ERRORS) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # it is the disk that speaks
            raise
        article = "an" if kind[0] in "AN" else "a"
        raise ValueError(f"{name} is not {article} {kind}, or it is damaged: {first_sentence(error)}.") from None


def check_table(table: Any, name: str, labels: Sequence[str]) -> None:
    """Raise unless lengths, offsets, indices and text of a record batch from a file can be used.

    Arrow believes what a file says of them, and reads outside its memory where that is wrong.
    """
    import pyarrow as pa

    for label, column in zip(labels, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowException as error:
            raise ValueError(f"{name}: column {label!r} is damaged: {first_sentence(error)}.") from None
    try:
        table.validate()  # whether all are as long as it says
    except pa.ArrowException as error:
        raise ValueError(f"{name} is damaged: {first_sentence(error)}.") from None


def first_sentence(error: Exception) -> str:
    """Return the first sentence of a message, shortened: some readers repeat what they could not read."""
    text = re.split(r"[\n;]", str(error))[0].rstrip(". ") or type(error).__name__
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
