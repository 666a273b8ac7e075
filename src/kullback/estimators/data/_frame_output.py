"""Answers that look like X: numbers as the kind of frame that came in, with its names, types and categories."""

import sys
from typing import Any, NamedTuple

import numpy as np

#: The categories of a column by their numbers; None where entries are numbers.
Known = list[str] | None


def restore_frame(table: np.ndarray, like: Any, known: list[Known]) -> Any:
    """Return a table with the columns of `like` as a frame of its library; the array itself if that is no frame.

    Numbers of categories become the categories again, 1 and 0 in columns of true and false these, and whole numbers in
    columns of such are whole, in types that know missing values where some are left. What a type cannot hold, such as
    2.5 in a column of whole numbers, makes the column one of floating-point numbers.
    """
    library = type(like).__module__.partition(".")[0]
    if library == "pandas" and getattr(like, "ndim", 0) == 2:
        pandas, dtypes = sys.modules["pandas"], list(like.dtypes)
        held = [_pandas_kind(like.iloc[:, place], dtype) for place, dtype in enumerate(dtypes)]
        columns = _columns(table, held, known)
        series = [_to_pandas(pandas, column, dtype) for column, dtype in zip(columns, dtypes, strict=True)]
        found = pandas.DataFrame(dict(enumerate(series)))
        found.index = like.index if len(like) == len(table) else found.index
        found.columns = like.columns
        return found
    if library == "polars" and hasattr(like, "get_columns"):
        polars, held = sys.modules["polars"], [_polars_kind(dtype) for dtype in like.dtypes]
        columns = _columns(table, held, known)
        return polars.DataFrame(
            [_to_polars(polars, *each) for each in zip(like.columns, columns, like.dtypes, strict=True)]
        )
    if library == "pyarrow" and hasattr(like, "itercolumns"):
        arrow, held = sys.modules["pyarrow"], [_arrow_kind(each) for each in like.schema.types]
        columns = _columns(table, held, known)
        arrays = [_to_arrow(arrow, *each) for each in zip(columns, like.schema.types, strict=True)]
        return arrow.table(arrays, names=like.column_names)
    return table


class _Column(NamedTuple):
    """A column of "text", "truth", "whole" or "float": entries, and None for what is missing; or floats and NaN."""

    kind: str
    entries: np.ndarray


def _columns(table: np.ndarray, held: list[str], known: list[Known]) -> list[_Column]:
    return [_column(table[:, place], held[place], known[place]) for place in range(len(held))]


def _column(column: np.ndarray, held: str, known: Known) -> _Column:
    missing = np.isnan(column)
    there = column[~missing]
    entries = np.full(len(column), None, dtype=object)
    if known is not None:
        entries[~missing] = [name_category(known, code) for code in there]
        return _Column("text", entries)
    if held == "truth" and np.isin(there, (0.0, 1.0)).all():
        entries[~missing] = there == 1
        return _Column("truth", entries)
    if held == "whole" and (np.floor(there) == there).all() and (np.abs(there) < 2.0**53).all():
        entries[~missing] = there.astype(np.int64)
        return _Column("whole", entries)
    return _Column("float", column)


def name_category(known: list[str], code: float) -> str:
    """Return the category with a number; one that no row had yet, for which there is room, has its number as a name.

    >>> name_category(["a", "b"], 1.0), name_category(["a", "b"], 2.0)
    ('b', 'category 2')
    """
    return known[int(code)] if code < len(known) else f"category {int(code)}"


def _pandas_kind(column: Any, dtype: Any) -> str:
    if str(dtype) == "object" or hasattr(dtype, "categories"):  # of objects, or categories true and false
        first = next(iter(column.dropna()), None)
        return "truth" if isinstance(first, bool | np.bool_) else "float"
    return {"b": "truth", "i": "whole", "u": "whole"}.get(getattr(dtype, "kind", "f"), "float")


def _to_pandas(pandas: Any, column: _Column, dtype: Any) -> Any:
    kind, entries = column
    if kind == "float":
        same = getattr(dtype, "kind", "O") == "f"
        return pandas.Series(entries).astype(dtype) if same else pandas.Series(entries)
    if isinstance(dtype, pandas.CategoricalDtype):
        order = list(dtype.categories)
        names = {str(each) if kind == "text" else each: each for each in order}
        found = [None if each is None else names.get(each, each) for each in entries]
        more = [each for each in dict.fromkeys(found) if each is not None and each not in order]
        return pandas.Series(pandas.Categorical(found, categories=order + more, ordered=dtype.ordered))
    if isinstance(dtype, np.dtype) and dtype.kind in "biu" and any(each is None for each in entries):
        dtype = "boolean" if kind == "truth" else "UInt64" if dtype.kind == "u" else "Int64"
    return pandas.Series(entries, dtype=dtype)


def _polars_kind(dtype: Any) -> str:
    return "truth" if str(dtype) == "Boolean" else "whole" if dtype.is_integer() else "float"


def _to_polars(polars: Any, name: str, column: _Column, dtype: Any) -> Any:
    kind, entries = column
    if kind == "float":
        found = polars.Series(name, entries).fill_nan(None)
        return found.cast(dtype) if dtype.is_float() else found
    found = polars.Series(name, entries.tolist(), dtype=polars.String if kind == "text" else dtype)
    new = isinstance(dtype, polars.Enum) and not set(entries) - {None} <= set(dtype.categories)
    return found if new else found.cast(dtype)


def _arrow_kind(kind: Any) -> str:
    arrow = sys.modules["pyarrow"]
    return "truth" if arrow.types.is_boolean(kind) else "whole" if arrow.types.is_integer(kind) else "float"


def _to_arrow(arrow: Any, column: _Column, kind: Any) -> Any:
    held, entries = column
    if held == "float":
        found = arrow.array(entries, from_pandas=True)
        return found.cast(kind) if arrow.types.is_floating(kind) else found
    found = arrow.array(entries.tolist(), arrow.string() if held == "text" else kind)
    if arrow.types.is_dictionary(kind):
        return found.dictionary_encode() if held == "text" else found
    return found.cast(kind)
