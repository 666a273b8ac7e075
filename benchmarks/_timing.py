"""Timing that survives a noisy machine: both sides in turn, over several rounds."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax


class Row(NamedTuple):
    """One line of the table: two times and their ratio, above 1 where kullback is the quicker one.

    `ratio` is that of the two times, unless it is given: then the median of the ratios of several rounds.
    """

    what: str
    peer: str
    peer_seconds: float
    seconds: float
    target: float
    ratio: float | None = None

    def __str__(self) -> str:
        ratio = self.peer_seconds / self.seconds if self.ratio is None else self.ratio
        missed = "" if ratio >= self.target else "  missed"
        times = f"{self.peer_seconds * 1e3:>10.2f}{self.seconds * 1e3:>10.2f}"
        return f"{self.what:<70}{self.peer:<30}{times}{ratio:>8.2f}{self.target:>8.2f}{missed}"


class Figure(NamedTuple):
    """One line with a number that is no time: it is to be at most the target, or at least."""

    what: str
    unit: str
    value: float
    target: float
    at_least: bool = False

    def __str__(self) -> str:
        missed = "" if self.value == self.target or (self.value > self.target) == self.at_least else "  missed"
        limit = f"{'≥' if self.at_least else '≤'} {self.target:g}"
        return f"{self.what:<70}{self.unit:<30}{'':>10}{'':>10}{self.value:>8.3g}{limit:>8}{missed}"


#: With this variable set, time of the processor is measured: for a busy machine, and best on one core (`taskset -c 0`).
BUSY = "BENCHMARK_CPU_TIME"

HEAD = f"{'what':<70}{'peer':<30}{'peer ms':>10}{'ours ms':>10}{'ratio':>8}{'target':>8}"


def best_of(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    """Return the least time of each function; each is called once before, to compile."""
    for function in functions:
        jax.block_until_ready(function())
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for place, function in enumerate(functions):
            best[place] = min(best[place], seconds(function))
    return best


def seconds(function: Callable[[], Any]) -> float:
    """Return the time of one call."""
    start = clock()
    jax.block_until_ready(function())
    return clock() - start


def clock() -> float:
    """Return the time, or what this process has used of it."""
    return time.process_time() if BUSY in os.environ else time.perf_counter()


def best_script(rounds: int, *scripts: str) -> list[float]:
    """Return the least time of each script, in fresh processes."""
    best = [float("inf")] * len(scripts)
    for _ in range(rounds):
        for place, script in enumerate(scripts):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", script], check=True)
            best[place] = min(best[place], time.perf_counter() - start)
    return best
