"""What has happened in a minimization so far: all that is needed to go on."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.search._engine import Generation, Leaves
from kullback.search._integers import Stretch
from kullback.search._restarts import RestartPlan, Run
from kullback.search._search import Search
from kullback.search._stopping import StoppingView, is_level


class History(NamedTuple):
    """A number for each generation, in seven arrays.

    `evaluations` so far; the least value (`best`) and the median one of the generation; the largest standard deviation
    of a coordinate (`spread`) and the `condition` number after it; how often each point was evaluated (`repeats`); and
    which `run` it belongs to, 0 before the first restart.
    """

    evaluations: NDArray[np.int64]
    best: NDArray[np.float64]
    median: NDArray[np.float64]
    spread: NDArray[np.float64]
    condition: NDArray[np.float64]
    repeats: NDArray[np.int64]
    run: NDArray[np.int64]


class RunEnd(NamedTuple):
    """What is kept of a run that has ended: the arrays of its state, and the stretch."""

    leaves: Leaves
    stretch: Stretch


@dataclasses.dataclass
class RunState:
    """Counts, the best point and where it was found, the history, runs that have ended, and the one that goes on."""

    x: NDArray[np.float64]
    # the run that goes on
    plan: RestartPlan
    search: Search
    generation: Generation
    stretch: Stretch
    began: int = 0
    best: list[float] = dataclasses.field(default_factory=list)
    median: list[float] = dataclasses.field(default_factory=list)
    level: int = 0
    repeats: float = 1.0
    # all runs
    value: float = np.inf
    best_run: int = 0
    best_end: RunEnd | None = None
    evaluations: int = 0
    failed: int = 0
    stopped: str = ""
    runs: list[Run] = dataclasses.field(default_factory=list)
    history: list[tuple[float, ...]] = dataclasses.field(default_factory=list)

    def find(self, x: NDArray[np.float64], value: float) -> None:
        """Take a point as the best, if it is."""
        if value < self.value:
            self.x, self.value, self.best_run = x.copy(), value, len(self.runs)

    def end(self, rule: str) -> None:
        """End the run that goes on; if it has found the best point, keep its state."""
        if self.best_run == len(self.runs):
            self.best_end = RunEnd(self.generation.leaves, self.stretch)
        self.runs.append(self.current(rule))

    def begin(self, plan: RestartPlan, search: Search, generation: Generation) -> None:
        """Begin a run."""
        self.widen(plan, search, generation)
        self.began, self.best, self.median, self.level, self.repeats = self.evaluations, [], [], 0, 1.0
        self.stretch = Stretch.identity(len(self.x))

    def widen(self, plan: RestartPlan, search: Search, generation: Generation) -> None:
        """Go on with the same run from a wider start."""
        self.plan, self.search, self.generation = plan, search, generation

    def record(
        self, x: NDArray[np.float64], values: NDArray[np.float64], evaluations: int, failed: int, noisy: bool = False
    ) -> StoppingView:
        """Write down a population and, unless its values are noisy, its best point; return what stopping rules see."""
        ordered = np.sort(np.where(np.isnan(values), np.inf, values))
        if not noisy and ordered[0] < self.value:
            place = int(np.nanargmin(values))
            self.find(x[place], float(values[place]))
        least, middle = float(ordered[0]), float(ordered[len(ordered) // 2])
        mean, spread, condition = self.generation[2:]
        self.evaluations, self.failed = evaluations, failed
        self.best.append(least)
        self.median.append(middle)
        self.level = self.level + 1 if is_level(ordered) else 0
        widest = float(np.max(spread * self.stretch.factor))
        self.history.append((evaluations, least, middle, widest, condition, float(int(self.repeats)), len(self.runs)))
        return StoppingView(self.best, self.median, ordered, self.level, mean, spread, condition)

    def current(self, stopped: str) -> Run:
        """Return the run that goes on as one that ends now."""
        return Run(*self.plan, self.evaluations - self.began, min(self.best, default=np.inf), stopped)

    def table(self) -> History:
        """Return the history, column by column."""
        columns = np.array(self.history, dtype=float).reshape(-1, len(History._fields)).T
        whole = {"evaluations", "repeats", "run"}
        named: dict[str, Any] = dict(zip(History._fields, columns, strict=True))
        return History(**{name: col.astype(np.int64) if name in whole else col for name, col in named.items()})
