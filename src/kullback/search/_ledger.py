"""What has happened in a minimization so far: all that is needed to go on, and to write it to a file."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.search._checkpoint import Arrays, check_arrays
from kullback.search._engine import Turn, turn_shapes
from kullback.search._integers import Stretch, no_stretch
from kullback.search._method import Method
from kullback.search._restarts import WIDEST, Plan, Run
from kullback.search._result import History
from kullback.search._settings import Settings
from kullback.search._stopping import SENTENCES, Look, is_level

RULES = tuple(SENTENCES)


class End(NamedTuple):
    """What is kept of a run: the state at its end, as arrays, and the stretch."""

    leaves: tuple[Any, ...]
    stretch: Stretch


@dataclasses.dataclass
class Ledger:
    """Counts, the best point and where it was found, the history, runs that have ended, and the one that goes on."""

    x: NDArray[np.float64]
    value: float = np.inf
    best_run: int = 0
    best_end: End | None = None
    evaluations: int = 0
    failed: int = 0
    stopped: str = ""
    runs: list[Run] = dataclasses.field(default_factory=list)
    history: list[tuple[float, ...]] = dataclasses.field(default_factory=list)
    # the run that goes on
    plan: Plan = dataclasses.field(default_factory=lambda: Plan(0))
    search: Method | None = None
    turn: Turn | None = None
    began: int = 0
    best: list[float] = dataclasses.field(default_factory=list)
    median: list[float] = dataclasses.field(default_factory=list)
    level: int = 0
    stretch: Stretch = dataclasses.field(default_factory=lambda: no_stretch(0))
    repeats: float = 1.0

    def find(self, x: NDArray[np.float64], value: float) -> None:
        """Take a point as the best, if it is."""
        if value < self.value:
            self.x, self.value, self.best_run = x.copy(), value, len(self.runs)

    def end(self, rule: str) -> None:
        """End the run that goes on; if it has found the best point, keep its state."""
        assert self.turn is not None
        if self.best_run == len(self.runs):
            self.best_end = End(self.turn.leaves, self.stretch)
        self.runs.append(self.current(rule))

    def begin(self, plan: Plan, search: Method, turn: Turn) -> None:
        """Begin a run."""
        self.plan, self.search, self.turn = plan, search, turn
        self.began, self.best, self.median, self.level, self.repeats = self.evaluations, [], [], 0, 1.0
        self.stretch = no_stretch(len(self.x))

    def widen(self, plan: Plan, search: Method, turn: Turn) -> None:
        """Go on with the same run from a wider start."""
        self.plan, self.search, self.turn = plan, search, turn

    def note(self, turn: Turn, values: NDArray[np.float64], evaluations: int) -> Look:
        """Write down a generation, and return what stopping rules look at."""
        least, middle = float(values[0]), float(values[len(values) // 2])
        self.turn, self.evaluations = turn, evaluations
        self.best.append(least)
        self.median.append(middle)
        self.level = self.level + 1 if is_level(values) else 0
        widest = float(np.max(turn.spread * self.stretch.factor))
        self.history.append(
            (evaluations, least, middle, widest, turn.condition, float(int(self.repeats)), len(self.runs))
        )
        return Look(self.best, self.median, values, self.level, turn.mean, turn.spread, turn.condition)

    def current(self, stopped: str) -> Run:
        """Return the run that goes on as one that ends now."""
        best = min(self.best, default=np.inf)
        return Run(*self.plan, self.evaluations - self.began, best, stopped)

    def arrays(self) -> Arrays:
        """Return all of it as arrays."""
        assert self.turn is not None
        plan, turn = self.plan, self.turn
        counts = [self.evaluations, self.failed, self.began, self.level, plan.population, plan.large, plan.limit]
        counts.append(self.best_run)
        found: Arrays = {
            "x": self.x,
            "counts": np.array(counts, dtype=np.int64),
            "numbers": np.array([self.value, self.repeats, plan.shrink, turn.condition]),
            "runs": np.array([(*run[:-1], RULES.index(run.stopped)) for run in self.runs], dtype=float).reshape(-1, 7),
            "history": np.array(self.history, dtype=float).reshape(-1, 7),
            "points": turn.points,
            "mean": turn.mean,
            "spread": turn.spread,
            "center": self.stretch.center,
            "factor": self.stretch.factor,
        }
        found |= {f"state.{place}": np.asarray(leaf) for place, leaf in enumerate(turn.leaves)}
        if self.best_run < len(self.runs) and self.best_end is not None:
            leaves, stretch = self.best_end
            found |= {"best.center": stretch.center, "best.factor": stretch.factor}
            found |= {f"best.{place}": np.asarray(leaf) for place, leaf in enumerate(leaves)}
        return found

    def table(self) -> History:
        """Return the history, column by column."""
        columns = np.array(self.history, dtype=float).reshape(-1, 7).T
        whole = {"evaluations", "repeats", "run"}
        named: dict[str, Any] = dict(zip(History._fields, columns, strict=True))
        return History(**{name: col.astype(np.int64) if name in whole else col for name, col in named.items()})


def restored(path: Path, stopped: str, arrays: Arrays, settings: Settings) -> Ledger:
    """Return the ledger that was written; raise at one that was not."""
    counts, numbers = arrays.get("counts"), arrays.get("numbers")
    if counts is None or numbers is None or counts.shape != (8,) or numbers.shape != (4,) or counts.dtype.kind != "i":
        raise ValueError(f"{path} is damaged: it has no counts of a run.")
    evaluations, failed, began, level, population, large, limit, best_run = (int(count) for count in counts)
    value, repeats, shrink, condition = (float(number) for number in numbers)
    sound = min(failed, began, level, limit) >= 0 and began <= evaluations and repeats >= 1 and 0 < shrink <= WIDEST
    sound = sound and not np.isnan(value + condition)
    if not (sound and population == len(arrays.get("points", ())) and population > 1):
        raise ValueError(f"{path} is damaged: its counts are not those of a run.")
    plan = Plan(population, shrink, bool(large), limit)
    n = len(settings.x0)
    expected: dict[str, tuple[tuple[int | None, ...], str]] = {
        "x": ((n,), "f"),
        "counts": ((8,), "i"),
        "numbers": ((4,), "f"),
        "runs": ((None, 7), "f"),
        "history": ((None, 7), "f"),
        "points": ((population, n), "f"),
        "mean": ((n,), "f"),
        "spread": ((n,), "f"),
        "center": ((n,), "f"),
        "factor": ((n,), "f"),
    }
    if "runs" not in arrays or not 0 <= best_run <= len(arrays["runs"]) <= evaluations:
        raise ValueError(f"{path} is damaged: it has no runs.")
    search = settings.search_of(plan, len(arrays["runs"]))
    kept = best_run < len(arrays["runs"])
    shapes = turn_shapes(search)
    for place, (shape, dtype) in enumerate(shapes):
        for name in ("state", "best") if kept else ("state",):
            expected[f"{name}.{place}"] = (shape, np.dtype(dtype).kind)
    if kept:
        expected |= {"best.center": ((n,), "f"), "best.factor": ((n,), "f")}
    check_arrays(path, arrays, expected)
    for name, array in arrays.items():
        if name not in ("history", "runs", "numbers") and not np.isfinite(array).all():
            raise ValueError(f"{path} is damaged: {name} has entries that are not finite.")
    told, ended = arrays["history"], arrays["runs"]
    finite = np.isfinite(ended[:, :5]).all() and np.isfinite(told[:, [0, 5, 6]]).all() and not np.isnan(told).any()
    known = np.isin(ended[:, 6], np.arange(len(RULES))).all() and np.isin(told[:, 6], np.arange(len(ended) + 1)).all()
    if not (finite and known):
        raise ValueError(f"{path} is damaged: its history is not that of a run.")
    runs = [
        Run(int(row[0]), row[1], bool(row[2]), int(row[3]), int(row[4]), row[5], RULES[int(row[6])])
        for row in arrays["runs"].tolist()
    ]
    history = [tuple(row) for row in arrays["history"].tolist()]
    own = [row for row in history if row[-1] == len(runs)]
    leaves, best = (tuple(arrays.get(f"{name}.{place}") for place in range(len(shapes))) for name in ("state", "best"))
    turn = Turn(leaves, arrays["points"], arrays["mean"], arrays["spread"], condition)
    return Ledger(
        x=arrays["x"],
        value=value,
        evaluations=evaluations,
        failed=failed,
        stopped=stopped,
        best_run=best_run,
        best_end=End(best, Stretch(arrays["best.center"], arrays["best.factor"])) if kept else None,
        runs=runs,
        history=history,
        plan=plan,
        search=search,
        turn=turn,
        began=began,
        best=[row[1] for row in own],
        median=[row[2] for row in own],
        level=level,
        stretch=Stretch(arrays["center"], arrays["factor"]),
        repeats=repeats,
    )
