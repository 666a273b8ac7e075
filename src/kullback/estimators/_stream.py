"""Iterables of tables, as `fit_stream` goes through them."""

import sys
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np


def check_stream(batches: Any, passes: Any) -> None:
    """Raise unless `batches` can be gone through `passes` times."""
    if not isinstance(passes, Integral) or int(passes) < 1:
        raise ValueError(f"passes is {passes!r}: it must be an integer, 1 or more.")
    if hasattr(batches, "shape"):
        raise ValueError(
            f"batches is one table of shape {tuple(batches.shape)}: pass it to fit, or put tables into a list."
        )
    if int(passes) > 1 and isinstance(batches, Iterator):
        raise ValueError(f"batches can be gone through once, and passes is {passes}: pass a list, or passes=1.")


def join_first_batches(batches: Iterable[Any], estimator: Any) -> Iterator[tuple[Any, Any]]:
    """Yield tables and weights; the first are put together until an estimator has the rows it needs to start from."""
    waiting: list[tuple[Any, Any]] = []
    for batch in batches:
        pair = batch if isinstance(batch, tuple) else (batch, None)
        if len(pair) != 2:
            raise ValueError(f"batches holds a tuple of {len(pair)}: it must be a table, or a pair (X, sample_weight).")
        waiting.append(pair)
        if estimator.has_started or sum(len(X) for X, _ in waiting) >= estimator.rows_needed:
            yield _concatenate(waiting)
            waiting = []
    if waiting:
        yield _concatenate(waiting)


def _concatenate(batches: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    if len(batches) == 1:
        return batches[0]
    tables = [X for X, _ in batches]
    weighted = any(weight is not None for _, weight in batches)
    weights = [np.ones(len(X)) if weight is None else np.asarray(weight) for X, weight in batches]
    names = [_names_of(X) for X in tables]
    if names[0] is not None:  # a frame keeps the names of its columns
        if any(name != names[0] for name in names):
            raise ValueError("batches holds tables with different columns: the first ones cannot be put together.")
        library = type(tables[0]).__module__.partition(".")[0]
        table = getattr(sys.modules[library], "concat_tables" if library == "pyarrow" else "concat")(tables)
    else:
        table = np.concatenate([_as_array(X) for X in tables])
    return table, np.concatenate(weights) if weighted else None


def _names_of(X: Any) -> list[Any] | None:
    """Return the names of the columns of a frame; None of other tables."""
    if isinstance(X, np.ndarray) or not hasattr(X, "columns"):
        return None
    return list(getattr(X, "column_names", X.columns))


def _as_array(X: Any) -> np.ndarray:
    """Return a table as an array; numbers beside text in a list stay numbers."""
    table = np.asarray(X)
    return np.array(X, dtype=object) if table.dtype.kind == "U" and not isinstance(X, np.ndarray) else table
