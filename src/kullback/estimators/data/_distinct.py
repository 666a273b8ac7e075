"""Which rows of a table are the same: symbols and small counts have few different ones."""

from typing import Any

import numpy as np

from kullback.core import DistinctRows

#: So many different rows at most, and so few of all rows.
_MOST, _SHARE = 1024, 0.25
#: Rows that are looked at before all of them.
_FIRST = 64


def find_distinct_rows(values: np.ndarray, observed: np.ndarray | None) -> DistinctRows | None:
    """Return all combinations of the entries that columns of small whole numbers may have, and which one each row is.

    None where entries are other numbers, or combinations are too many. They are found without sorting: entries are the
    digits of a number. Their count is rounded up, so that tables of like entries share one compiled function.

    >>> find_distinct_rows(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]] * 20), None).place[:3].tolist()
    [1, 4, 1]
    """
    if values.ndim != 2 or not values.size or not _are_counts(values[:_FIRST]) or not _are_counts(values):
        return None
    sizes = values.max(axis=0).astype(np.int64) + 1
    if observed is not None:  # a missing entry is one more
        sizes = sizes + 1
        values = np.where(observed, values, sizes - 1)
    count = float(np.prod(sizes.astype(float)))
    if count > min(_MOST, _SHARE * len(values)):
        return None
    place = np.zeros(len(values), np.int32)
    for column, size in zip(values.T, sizes, strict=True):
        place = place * np.int32(size) + column.astype(np.int32)
    table = np.indices(sizes).reshape(len(sizes), -1).T
    there = None if observed is None else _padded(table < sizes - 1)
    table = _padded(table.astype(values.dtype))
    return DistinctRows(table if there is None else np.where(there, table, 0), there, place)


def _are_counts(values: np.ndarray) -> bool:
    return bool(((values >= 0) & (values < _MOST) & (values == np.floor(values))).all())


def _padded(table: Any) -> Any:
    """Return the rows, and the first of them again until their number is a power of 2 and at least 8."""
    more = max(1 << (len(table) - 1).bit_length(), 8) - len(table)
    return np.concatenate([table, np.broadcast_to(table[:1], (more, *table.shape[1:]))])
