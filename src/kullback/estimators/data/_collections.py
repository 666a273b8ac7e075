"""Frames that lie elsewhere, in blocks: each block becomes numbers where it lies, by categories that its type lists."""

import sys
from typing import Any

import numpy as np

from kullback.estimators.data._encoding import Categories, Encoded, encode_later
from kullback.sources import TableColumns, read_columns
from kullback.storage import quote


def encode_collection(X: Any, known: Categories | None) -> tuple[Any, TableColumns] | None:
    """Return a frame of blocks as one of numbers, and its columns without rows; None if it holds plain numbers.

    Categories are those that are `known`, or those that the types of columns list: all blocks number them alike.
    """
    if not hasattr(type(X), "map_partitions") or not hasattr(type(X), "dtypes"):  # a Delayed has every attribute
        return None
    dtypes = X.dtypes
    pandas = sys.modules["pandas"]
    for label, dtype in dtypes.items():
        if str(dtype) == "object":
            raise ValueError(
                f"column {quote(label)} of X holds objects, and blocks may hold different ones: turn it into numbers, "
                f"or into categories with X.categorize([{label!r}])."
            )
    empty = pandas.DataFrame({place: pandas.Series([], dtype=dtype) for place, dtype in enumerate(dtypes)})
    empty.columns = list(dtypes.index)
    columns = read_columns(empty)
    if columns is None:
        return None
    if known is None:
        known = {}
        for label, kind in zip(columns.labels, columns.kinds, strict=True):
            if kind == "words":
                known[label] = _listed(label, columns)
        columns = columns._replace(declared=known)
    numbers = X.map_partitions(_encode_block, known, meta=empty.astype(np.float64))
    return numbers, columns


def _listed(label: str, columns: TableColumns) -> list[str]:
    order = columns.declared.get(label)
    if order is None or "__UNKNOWN_CATEGORIES__" in order:
        raise ValueError(
            f"column {quote(label)} of X holds text in blocks, and its categories are not known before all are read: "
            f"list them in its type, with X.categorize([{label!r}])."
        )
    return order


def _encode_block(block: Any, known: Categories) -> Any:
    columns = read_columns(block)
    if columns is None:
        return block
    numbers = encode_later(columns, known, None).table
    return sys.modules["pandas"].DataFrame(numbers, index=block.index, columns=block.columns)


def label_rows(X: Any, columns: TableColumns | None) -> Any:
    """Return rows of a collection with what its columns hold, if that is more than plain numbers."""
    return X if columns is None else Encoded(X, columns.kinds, columns.declared)
