"""A sum over many blocks, as a tree of tasks: what arrives at one place never grows with the number of blocks."""

import functools
import uuid
from collections.abc import Callable
from typing import Any

import dask

#: Results that one task merges. The tree of 10,000 blocks has 5 levels.
FAN_IN = 8


def broadcast(value: Any) -> Any:
    """Return a value as one node of a graph, which all tasks of an iteration look at."""
    return dask.delayed(value, name=f"broadcast-{uuid.uuid4().hex}", traverse=False)


def tree_reduce(results: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Return the sum of delayed results, always taken in the same order. None is the sum of nothing."""
    combine = dask.delayed(_combined, pure=False)
    while len(results) > 1:
        results = [combine(merge, *results[place : place + FAN_IN]) for place in range(0, len(results), FAN_IN)]
    return dask.compute(*results)[0]


def _combined(merge: Callable[[Any, Any], Any], *results: Any) -> Any:
    some = [result for result in results if result is not None]
    return functools.reduce(merge, some) if some else None
