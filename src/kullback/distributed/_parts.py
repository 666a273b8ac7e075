"""Dask collections as a list of blocks of rows, each a promise of a table and of its weights."""

import contextlib
import sys
from typing import Any, NamedTuple

import dask
import numpy as np


class Part(NamedTuple):
    """A block of rows and their weights, both delayed; None is a weight of 1 for each row.

    `home` is the address of the worker that holds the block, if one does.
    """

    table: Any
    weight: Any
    home: str | None

    def submit(self, task: Any, *args: Any) -> Any:
        """Return a task of the block, to be done where the block is; elsewhere only if its worker is lost."""
        here = dask.annotate(workers=[self.home], allow_other_workers=True) if self.home else contextlib.nullcontext()
        with here:
            return task(*args, self.table, self.weight)


def parts_of(data: Any, sample_weight: Any = None) -> list[Part]:
    """Return the blocks of a Dask array or frame of shape (rows, columns), whether their sizes are known or not."""
    if not hasattr(type(data), "to_delayed") or data.ndim != 2:  # a Delayed has every attribute, but its type has not
        shape = f" with {data.ndim} axes" if hasattr(type(data), "ndim") else ""
        raise ValueError(
            f"data is a {type(data).__name__}{shape}: it must be a Dask array or frame of rows and columns."
        )
    if hasattr(data, "rechunk"):
        data = data.rechunk({1: -1})  # a row is whole
    tables, homes = list(np.ravel(data.to_delayed())), _homes(data)
    weights = [None] * len(tables) if sample_weight is None else _weights(data, sample_weight, len(tables))
    return [Part(table, weight, homes.get(table.key)) for table, weight in zip(tables, weights, strict=True)]


def _homes(data: Any) -> dict[Any, str]:
    """Return the worker of each block that is in the memory of one."""
    held = sys.modules["distributed"].futures_of(data) if "distributed" in sys.modules else []
    if not held:
        return {}
    sys.modules["distributed"].wait(held)
    return {key: min(workers) for key, workers in held[0].client.who_has(held).items() if workers}


def _weights(data: Any, sample_weight: Any, count: int) -> list[Any]:
    if hasattr(sample_weight, "to_delayed"):
        weights = list(np.ravel(sample_weight.to_delayed()))
        if len(weights) != count:
            raise ValueError(f"sample_weight has {len(weights)} blocks: X has {count}, and each needs its weights.")
        return weights
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim != 1:
        raise ValueError(f"sample_weight has shape {weight.shape}: each row of X has one.")
    return split_like(data, weight, "sample_weight")


def split_like(data: Any, values: np.ndarray, name: str) -> list[Any]:
    """Return an array with an entry for each row of a collection in parts, one for each block."""
    sizes = np.array(data.chunks[0], dtype=float) if hasattr(data, "chunks") else np.full(1, np.nan)
    if np.isnan(sizes).any():
        raise ValueError(
            f"{name} is no Dask collection, and the sizes of the blocks of X are not known: pass one with the same "
            "blocks."
        )
    if len(values) != int(sizes.sum()):
        raise ValueError(f"{name} has shape {values.shape}: X has {int(sizes.sum())} rows, each with one.")
    return np.split(values, np.cumsum(sizes[:-1]).astype(int))


def rows_that_count(table: Any, weight: Any) -> tuple[Any, np.ndarray | None]:
    """Return the rows that count and their weights: a row of weight 0 is no row."""
    if weight is None:
        return table, None
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != (len(table),):
        raise ValueError(f"sample_weight has shape {weight.shape} where X has {len(table)} rows, each with one.")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("sample_weight must be finite and not negative.")
    if weight.all():
        return table, weight
    return select_rows(table, np.flatnonzero(weight)), weight[weight > 0]


def select_rows(table: Any, places: np.ndarray) -> Any:
    """Return some rows of an array, or of a frame with the names of its columns."""
    return table.iloc[places] if hasattr(table, "iloc") else table[places]
