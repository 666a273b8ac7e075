"""Timing that survives a noisy machine: both sides in turn, the best of several rounds."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax


class Row(NamedTuple):
    """One line of the table."""

    what: str
    peer: str
    peer_seconds: float
    seconds: float
    target: float


def best_of(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    """Return the least time of each function; each is called once before, to compile."""
    for function in functions:
        jax.block_until_ready(function())
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for place, function in enumerate(functions):
            start = time.perf_counter()
            jax.block_until_ready(function())
            best[place] = min(best[place], time.perf_counter() - start)
    return best
