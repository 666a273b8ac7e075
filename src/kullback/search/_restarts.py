"""Restarts: what a search does next when one run has ended, from what the runs before have cost."""

from typing import Any, NamedTuple

import numpy as np

#: Restarts double populations up to so many points, and so many numbers.
MOST_POINTS, MOST_NUMBERS = 2**14, 2**23
#: In units of the first scale, how far is looked for a point at which f has a value.
WIDEST = 64.0


class Run(NamedTuple):
    """One run between two restarts: how it began, what it has cost, and why it ended."""

    population: int
    shrink: float
    large: bool
    limit: int
    evaluations: int
    best: float
    stopped: str


class RestartPlan(NamedTuple):
    """The next run: its population, a factor of sigma0, which kind it is, and how many evaluations it may take."""

    population: int
    shrink: float = 1.0
    large: bool = True
    limit: int = 0


def check_restarts(restarts: Any) -> tuple[str, float]:
    """Return which restarts, and how many at most; raise where they are bad."""
    if restarts is None or restarts is False:
        return "ipop", 0
    if restarts in ("ipop", "bipop") and isinstance(restarts, str):
        return restarts, np.inf
    if isinstance(restarts, (int, np.integer)) and restarts >= 0:
        return "ipop", int(restarts)
    raise ValueError(f"restarts is {restarts!r}: it must be 'ipop', 'bipop', None, or how many there may be.")


def double_population(population: int, times: int, width: int) -> int:
    """Return a population that is doubled so many times, or as often as it may: to `MOST_POINTS` points, each of
    `width` numbers, and `MOST_NUMBERS` numbers. One that is larger from the beginning stays as it is.

    >>> double_population(6, 3, 2), double_population(6, 50, 2), double_population(100_000, 3, 2)
    (48, 12288, 100000)
    """
    most = min(MOST_POINTS, MOST_NUMBERS // width)
    while times > 0 and 2 * population <= most:
        population, times = 2 * population, times - 1
    return population


def next_plan(kind: str, population: int, width: int, runs: list[Run], rng: np.random.Generator) -> RestartPlan:
    """Return the plan of the next run, for points of `width` numbers.

    - "ipop": each run has twice the population of the one before, up to a bound (`double_population`). Auger, Hansen, A
      restart CMA evolution strategy with increasing population size (2005).
    - "bipop": so do the large runs; between them, until they have cost as much, go small ones with a population and a
      step by chance, and at most half the evaluations of the last large one. Hansen, Benchmarking a BI-population
      CMA-ES on the BBOB-2009 function testbed (2009).
    """
    larger = double_population(population, sum(run.large for run in runs), width)
    if kind == "ipop" or not runs:
        return RestartPlan(larger)
    spent = {large: sum(run.evaluations for run in runs[1:] if run.large is large) for large in (False, True)}
    if spent[False] >= spent[True]:
        return RestartPlan(larger)
    last = [run for run in runs if run.large][-1]
    ratio = (last.population / population / 2) ** rng.random() ** 2
    # few different sizes, as each is compiled
    size = int(population * 2 ** (round(2 * np.log2(max(ratio, 1))) / 2))
    return RestartPlan(size, 10 ** (-2 * rng.random()), False, last.evaluations // 2)
