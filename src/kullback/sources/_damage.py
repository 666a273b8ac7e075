"""Files that are not what they should be: one sentence that names the file."""

import contextlib
import errno
import lzma
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

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


@contextlib.contextmanager
def damaged(name: str, kind: str) -> Iterator[None]:
    """Say of what a reader cannot read that it is damaged. Errors of our own go through as they are."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, *_ERRORS) as error:
        raise ValueError(f"{name} is no {kind}, or it is damaged: {first_sentence(error)}.") from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # it is the disk that speaks, not the file
            raise
        raise ValueError(f"{name} is no {kind}, or it is damaged: {first_sentence(error)}.") from None


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
