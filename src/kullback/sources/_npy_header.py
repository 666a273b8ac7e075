"""What the header of a NumPy array in a file says, checked against the bytes that are there."""

import math
import tokenize
from typing import IO, Any, NamedTuple

import numpy as np

from kullback.sources._errors import first_sentence

#: The most columns of an array without rows: no bytes say how many there are.
_WIDEST = 1_000_000
_VERSIONS = ((1, 0), (2, 0), (3, 0))


class Header(NamedTuple):
    """An array of numbers in a file: its rows and columns, how an entry is stored, and the byte where entries begin."""

    rows: int
    width: int
    dtype: np.dtype[Any]
    by_column: bool
    start: int


def read_header(stream: IO[bytes], size: int, name: str) -> Header:
    """Read the header of an array, where the file has `size` bytes in all; nothing is allocated by what it says."""
    shape, by_column, dtype = _read(stream, name)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise ValueError(f"{name} is an array of {dtype}, and not of numbers.")
    if len(shape) not in (1, 2):
        raise ValueError(f"{name} has the shape {shape}, and a table has rows and columns.")
    rows, width, start = shape[0], math.prod(shape[1:]), stream.tell()
    if min(shape) < 0 or rows * width * dtype.itemsize > size - start or (rows == 0 and width > _WIDEST):
        raise ValueError(
            f"{name} is damaged: its header speaks of {rows} rows and {width} columns of {dtype}, and it has "
            f"{max(size - start, 0):,} bytes for them."
        )
    return Header(rows, width, dtype, by_column and min(rows, width) > 1, start)


def _read(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    known = np.lib.format
    try:
        version = known.read_magic(stream)
        if version not in _VERSIONS:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
        # a header of version 3 differs in the letters of names, which columns of numbers do not have
        read = known.read_array_header_1_0 if version == (1, 0) else known.read_array_header_2_0
        return read(stream)
    except (ValueError, TypeError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError, EOFError) as error:
        why = first_sentence(error)
        raise ValueError(f"{name} does not hold an array of numbers, or is damaged: {why}.") from None
