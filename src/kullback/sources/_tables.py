"""Tables in memory that are no arrays of numbers, column by column: what each column holds, and its entries."""

import sys
from typing import Any, NamedTuple

import numpy as np

from kullback.sources._codes import Codes
from kullback.sources._columns import as_numbers, as_strings
from kullback.sources._entries import SHOWN, word
from kullback.sources._typed import kind_of_type
from kullback.storage import quote

_PLAIN = "iuf"  # kinds of NumPy types that are numbers as they are


class TableColumns(NamedTuple):
    """The columns of a table in memory.

    `labels` are their names, or their places where they have none; `kinds` is what they hold: "number", "truth" or
    "words"; `entries` are Arrow arrays. `declared` has the categories of columns whose type lists them, in its order.
    """

    labels: list[str]
    kinds: list[str]
    entries: list[Any]
    declared: dict[str, list[str]]

    def with_labels(self, labels: list[str]) -> "TableColumns":
        """Return the same columns under other labels."""
        names = dict(zip(self.labels, labels, strict=True))
        declared = {names[label]: order for label, order in self.declared.items()}
        return self._replace(labels=labels, declared=declared)

    def numbers(self, codes: Codes) -> np.ndarray:
        """Return the table as 64-bit numbers, NaN where an entry is missing; words by their places in `codes`."""
        table = np.empty((len(self.entries[0]) if self.entries else 0, len(self.labels)))
        for place, (label, entries) in enumerate(zip(self.labels, self.entries, strict=True)):
            has_words = label in codes.words
            table[:, place] = codes.numbers(label, as_strings(entries)) if has_words else as_numbers(entries)
        return table


def read_columns(X: Any) -> TableColumns | None:
    """Return the columns of a table in memory; None for arrays and frames of nothing but plain numbers.

    Tables are frames of pandas and polars, tables of pyarrow, and arrays that hold text. What is neither numbers, true
    and false, nor words is refused by the name of its column.
    """
    found = _columns_of(X)
    if found is None:
        return None
    names, columns = found
    labels = [str(place) for place in range(len(columns))] if names is None else names
    if len(set(labels)) < len(labels):
        twice = next(label for place, label in enumerate(labels) if label in labels[:place])
        raise ValueError(f"X has two columns with the name {quote(twice)}: give each its own.")
    kinds, entries, declared = [], [], {}
    for label, column in zip(labels, columns, strict=True):
        array, order = _as_arrow(label, column)
        kinds.append(kind_of_type(array.type))
        entries.append(array)
        if kinds[-1] not in ("number", "truth", "words"):
            raise ValueError(
                f"column {quote(label)} of X holds {kinds[-1]}, and a model learns from numbers and words: turn it "
                "into one of them, or leave it out."
            )
        if kinds[-1] == "words" and order is not None:
            declared[label] = order
    return TableColumns(labels, kinds, entries, declared)


def _columns_of(X: Any) -> tuple[list[str] | None, list[Any]] | None:
    """Return names and columns of a table, None where it can be taken as numbers as it is."""
    library = type(X).__module__.partition(".")[0]
    if library == "numpy":
        return _array_columns(X)
    if library in ("builtins", "scipy"):
        return _array_columns(np.array(X, dtype=object)) if _has_text(X) else None
    if library == "pandas" and getattr(X, "ndim", 0) == 2:
        if all(_is_plain(dtype) for dtype in X.dtypes):
            return None
        return _names(X.columns), [X.iloc[:, place] for place in range(X.shape[1])]
    if library == "polars" and hasattr(X, "collect"):
        raise ValueError("X is a polars LazyFrame, which holds no rows yet: collect it first, X.collect().")
    if library == "polars" and hasattr(X, "get_columns"):
        if all(dtype.is_float() or dtype.is_integer() for dtype in X.dtypes):
            return None
        return _names(X.columns), X.get_columns()
    if library == "pyarrow" and hasattr(X, "itercolumns"):
        return _names(X.column_names), list(X.itercolumns())
    return None


def _array_columns(X: Any) -> tuple[None, list[Any]] | None:
    """Return the columns of an array that holds text; one that holds dates is refused."""
    if getattr(X, "ndim", 0) != 2 or X.dtype.kind in _PLAIN:
        return None
    if X.dtype.kind in "Mm":
        raise ValueError(
            f"X holds times of type {X.dtype}, and a model learns from numbers and words: turn them into numbers."
        )
    text = X.dtype.kind in "UT" or (X.dtype.kind == "O" and any(isinstance(each, str) for each in X.flat))
    return (None, [X[:, place].astype(object) for place in range(X.shape[1])]) if text else None


def _has_text(X: Any) -> bool:
    """Whether rows of a list hold text: NumPy would make text of the numbers beside it too."""
    if not isinstance(X, list | tuple):
        return False
    rows = [row for row in X if isinstance(row, list | tuple)]
    if len(rows) < len(X) or len({len(row) for row in rows}) > 1:
        return False
    return any(isinstance(each, str) for row in rows for each in row)


def _is_plain(dtype: Any) -> bool:
    """Whether a column of pandas is numbers that need no conversion; those that are sparse are left as they are."""
    return (isinstance(dtype, np.dtype) and dtype.kind in _PLAIN) or str(dtype).startswith("Sparse[")


def _names(columns: Any) -> list[str] | None:
    """Return the names of columns if all are text, as scikit-learn has it."""
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


def _as_arrow(label: str, column: Any) -> tuple[Any, list[str] | None]:
    """Return a column as one Arrow array, and the categories that its type lists, if it does so in an order."""
    import pyarrow as pa

    try:
        if isinstance(column, pa.ChunkedArray):
            array = _one_chunk(column)
            ordered = pa.types.is_dictionary(array.type) and array.type.ordered
            return array, _words(array.dictionary.to_pylist() if ordered else None)
        if type(column).__module__.partition(".")[0] == "polars":
            array = _one_chunk(column.to_arrow())
            order = column.dtype.categories.to_list() if isinstance(column.dtype, sys.modules["polars"].Enum) else None
            return array, _words(order)
        array = _one_chunk(pa.array(column, from_pandas=True))
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"column {quote(label)} of X {_describe(column, error)}") from None
    order = getattr(getattr(column, "dtype", None), "categories", None)
    return array, None if order is None else _words(order.tolist())


def _one_chunk(array: Any) -> Any:
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.unify_dictionaries().chunks)


def _words(order: list[Any] | None) -> list[str] | None:
    """Return categories as words, without those that stand for what is missing."""
    return None if order is None else [each for each in map(word, order) if each]


def _describe(column: Any, error: Exception) -> str:
    """Return what is wrong with a column that Arrow cannot hold."""
    types: dict[str, Any] = {}
    for entry in np.asarray(column, dtype=object):
        name = type(entry).__name__
        if name not in ("NoneType", "NAType", "NaTType") and not (name == "float" and np.isnan(entry)):
            types.setdefault(name, entry)
    if len(types) > 1:
        shown = " and ".join(f"{quote(entry, SHOWN)} ({name})" for name, entry in list(types.items())[:2])
        return f"holds entries of several types, such as {shown}: make all of them numbers, or all of them text."
    what = next(iter(types), str(getattr(column, "dtype", "no type")))
    if what == "int":
        return "holds whole numbers of more than 64 bits: turn them into floating-point numbers, or leave it out."
    return f"holds entries of type {what}, which are neither numbers nor words: turn them into one, or leave it out."
