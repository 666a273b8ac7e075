"""Columns of a table that leaves: each knows its entries as CSV, as JSON and as an Arrow array."""

import abc
import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from kullback.cli._messages import json_line
from kullback.estimators import name_category
from kullback.storage import printable_json

#: Texts that are numbers in JSON as they are written.
_DIGITS = frozenset("0123456789")
#: Fractions of a second that are none.
_ZEROS = re.compile(r"\.0+(?![0-9])")


class OutputColumn(abc.ABC):
    """The entries of one column."""

    @abc.abstractmethod
    def csv(self) -> list[Any]:
        """Return the entries as they stand in CSV; None for a missing one."""

    @abc.abstractmethod
    def json(self) -> list[str]:
        """Return each entry as JSON."""

    @abc.abstractmethod
    def arrow(self) -> Any:
        """Return the entries as an Arrow array, whose type is the same for all batches."""

    @abc.abstractmethod
    def fill(self, missing: np.ndarray, values: "Values") -> "OutputColumn":
        """Return the column with some entries replaced by those of another, as many as there are rows."""


class Values(OutputColumn):
    """Numbers, or categories: places in a list of words. NaN is missing. `whole` numbers are written without a point.

    `truth` is for columns that hold true and false.
    """

    def __init__(self, values: Any, whole: bool = False, words: Sequence[str] | None = None, truth: bool = False):
        self._values, self._words, self._truth = np.asarray(values), words, truth
        numbers = whole and self._values.dtype.kind == "f"
        self._whole = numbers and not np.mod(self._values[~self._missing()], 1).any()  # nothing is cut off

    def csv(self) -> list[Any]:
        """Return numbers, words, or true and false."""
        return [str(entry).lower() if isinstance(entry, bool) else entry for entry in self._entries()]

    def json(self) -> list[str]:
        """Return numbers, words, or true and false; what is not finite is null."""
        return [json_line(entry) for entry in self._entries()]

    def arrow(self) -> Any:
        """Return an array of integers, doubles, truth values or strings, null where an entry is missing."""
        import pyarrow as pa

        if self._words is not None:
            return pa.array(self._entries(), pa.string())
        if self._truth:
            return pa.array(self._entries(), pa.bool_())
        if self._whole:
            return pa.array(self._entries(), pa.int64())
        return pa.array(self._values, mask=self._missing() if self._values.dtype.kind == "f" else None)

    def fill(self, missing: np.ndarray, values: "Values") -> "OutputColumn":
        """Return the other column: it has what is there as well."""
        return values

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole, as those of counts and categories are."""
        return self._whole or self._truth

    def _missing(self) -> np.ndarray:
        return np.isnan(self._values) if self._values.dtype.kind == "f" else np.zeros(len(self._values), bool)

    def _entries(self) -> list[Any]:
        entries = self._values.tolist()
        if self._words is not None:
            return [None if entry != entry else name_category(self._words, entry) for entry in entries]
        if self._truth:
            return [None if entry != entry else bool(entry) for entry in entries]
        if self._whole:
            return [None if entry != entry else int(entry) for entry in entries]
        return [None if entry != entry else entry for entry in entries]


class Text(OutputColumn):
    """Fields of a text as they were written. `values` is what they mean to the model, where it reads them.

    In JSON an entry of a column of numbers is a number if JSON would write it in the same way.
    """

    def __init__(self, entries: list[str], numbers: bool, values: Values | None):
        self._entries, self._numbers, self._values = entries, numbers, values

    def csv(self) -> list[Any]:
        """Return the fields."""
        return list(self._entries)

    def json(self) -> list[str]:
        """Return strings, or numbers as they were written; an empty field is null."""
        return [entry if self._numbers and _is_json_number(entry) else _json_string(entry) for entry in self._entries]

    def arrow(self) -> Any:
        """Return what the model reads, or strings, null where a field is empty."""
        import pyarrow as pa

        if self._values is not None:
            return self._values.arrow()
        return pa.array([entry or None for entry in self._entries], pa.string())

    def fill(self, missing: np.ndarray, values: Values) -> OutputColumn:
        """Return the fields with some replaced; the others stay as they were written."""
        new = values.csv()
        entries = [str(new[row]) if missing[row] else entry for row, entry in enumerate(self._entries)]
        return Text(entries, self._numbers, values)


class JsonText(OutputColumn):
    """Entries of JSON as they were written. `values` is what they mean to the model, where it reads them."""

    def __init__(self, entries: list[str], values: Values | None):
        self._entries, self._values = entries, values

    def csv(self) -> list[Any]:
        """Return texts without quotes, and all else as it was written; null is an empty field."""
        return [_unquoted(entry) for entry in self._entries]

    def json(self) -> list[str]:
        """Return the entries; what some programs write for numbers that are not finite is null."""
        return [
            "null" if entry in ("NaN", "Infinity", "-Infinity") else printable_json(entry) for entry in self._entries
        ]

    def arrow(self) -> Any:
        """Return what the model reads, or strings."""
        import pyarrow as pa

        return pa.array(self.csv(), pa.string()) if self._values is None else self._values.arrow()

    def fill(self, missing: np.ndarray, values: Values) -> OutputColumn:
        """Return the entries with some replaced; the others stay as they were written."""
        new = values.json()
        return JsonText([new[row] if missing[row] else entry for row, entry in enumerate(self._entries)], values)


class Typed(OutputColumn):
    """An Arrow array, which keeps its type in Parquet."""

    def __init__(self, array: Any):
        self._array = array

    def csv(self) -> list[Any]:
        """Return numbers and texts; times as ISO 8601; bytes in hexadecimal; lists and structures as JSON."""
        return [_plain(entry) for entry in self._entries()]

    def json(self) -> list[str]:
        """Return the entries as JSON."""
        return [json_line(_jsonable(entry)) for entry in self._entries()]

    def arrow(self) -> Any:
        """Return the array."""
        return self._array

    def fill(self, missing: np.ndarray, values: Values) -> OutputColumn:
        """Return the values, with the type of this column if it can hold them: no integers for numbers that are not."""
        import pyarrow as pa

        kind, new = self._array.type, values.arrow()
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_integer(kind) and not values.is_whole:
            return values
        if pa.types.is_decimal(kind):
            return values
        return Typed(new.cast(kind))

    def _entries(self) -> list[Any]:
        import pyarrow as pa

        array, types = self._array, pa.types
        if types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if types.is_float32(array.type) or types.is_float16(array.type):  # the digits that single precision has
            return [
                None if entry is None else float(str(array.type.to_pandas_dtype()(entry)))
                for entry in array.to_pylist()
            ]
        if types.is_temporal(array.type) and not types.is_duration(array.type):
            return [None if entry is None else _ZEROS.sub("", entry) for entry in _as_texts(array)]
        return [None if isinstance(entry, float) and math.isnan(entry) else entry for entry in array.to_pylist()]


def as_column(values: Any) -> OutputColumn:
    """Return an array of answers as a column."""
    return values if isinstance(values, OutputColumn) else Values(values)


def _as_texts(array: Any) -> list[str | None]:
    """Return times as texts."""
    import pyarrow as pa

    try:
        return array.cast(pa.string()).to_pylist()
    except pa.ArrowException:  # a zone that is not known here
        return [None if entry is None else str(entry) for entry in array.to_pylist()]


def _plain(entry: Any) -> Any:
    if isinstance(entry, bool):
        return str(entry).lower()
    if isinstance(entry, list | dict):
        return json_line(_jsonable(entry))
    return entry.hex() if isinstance(entry, bytes) else entry


def _jsonable(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {str(name): _jsonable(each) for name, each in entry.items()}
    if isinstance(entry, list | tuple):
        return [_jsonable(each) for each in entry]
    if isinstance(entry, bytes):
        return entry.hex()
    return entry if entry is None or isinstance(entry, str | int | float) else str(entry)


def _is_json_number(entry: str) -> bool:
    if not entry or entry[-1] not in _DIGITS:
        return False
    try:
        return isinstance(json.loads(entry), int | float)
    except ValueError:
        return False


def _json_string(entry: str) -> str:
    return printable_json(json.dumps(entry, ensure_ascii=False)) if entry else "null"


def _unquoted(entry: str) -> str | None:
    if entry == "null":
        return None
    return json.loads(entry) if entry.startswith('"') else entry
