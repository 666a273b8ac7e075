"""The state of a minimization over real coordinates as arrays of a file, and back."""

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kullback.search._checkpoint import Arrays, check_arrays
from kullback.search._engine import Generation, state_shapes
from kullback.search._integers import Stretch
from kullback.search._restarts import WIDEST, RestartPlan, Run
from kullback.search._run_state import History, RunEnd, RunState
from kullback.search._search import Search
from kullback.search._stopping import SENTENCES

RULES = tuple(SENTENCES)


#: The whole numbers of a state, and the other ones, in the order in which a file has them.
Counts = namedtuple("Counts", "evaluations failed began level population large limit best_run")
Numbers = namedtuple("Numbers", "value repeats shrink condition")


def state_arrays(state: RunState) -> Arrays:
    """Return all of a state as arrays."""
    plan, generation = state.plan, state.generation
    plan_counts = plan.population, plan.large, plan.limit
    counts = Counts(state.evaluations, state.failed, state.began, state.level, *plan_counts, state.best_run)
    runs = [(*run[:-1], RULES.index(run.stopped)) for run in state.runs]
    found: Arrays = {
        "x": state.x,
        "counts": np.array(counts, dtype=np.int64),
        "numbers": np.array(Numbers(state.value, state.repeats, plan.shrink, generation.condition)),
        "runs": np.array(runs, dtype=float).reshape(-1, len(Run._fields)),
        "history": np.array(state.history, dtype=float).reshape(-1, len(History._fields)),
        "points": generation.points,
        "mean": generation.mean,
        "spread": generation.spread,
        "center": state.stretch.center,
        "factor": state.stretch.factor,
    }
    found |= {f"state.{place}": np.asarray(leaf) for place, leaf in enumerate(generation.leaves)}
    if state.best_run < len(state.runs) and state.best_end is not None:
        leaves, stretch = state.best_end
        found |= {"best.center": stretch.center, "best.factor": stretch.factor}
        found |= {f"best.{place}": np.asarray(leaf) for place, leaf in enumerate(leaves)}
    return found


def read_state(path: Path, arrays: Arrays, make_search: Callable[[RestartPlan, int], Search]) -> RunState:
    """Return the state that was written; raise where it is not one. `make_search` takes a plan and a run's number."""
    counts, numbers = _read_counts(path, arrays)
    plan = RestartPlan(counts.population, numbers.shrink, bool(counts.large), counts.limit)
    search = make_search(plan, len(arrays["runs"]))
    kept = counts.best_run < len(arrays["runs"])
    _check_state(path, arrays, search, kept)
    runs = [_read_run(row) for row in arrays["runs"].tolist()]
    history = [tuple(row) for row in arrays["history"].tolist()]
    own = [row for row in history if row[-1] == len(runs)]
    places = range(len(state_shapes(search)))
    leaves, best = (tuple(arrays.get(f"{name}.{place}") for place in places) for name in ("state", "best"))
    return RunState(
        x=arrays["x"],
        plan=plan,
        search=search,
        generation=Generation(leaves, arrays["points"], arrays["mean"], arrays["spread"], numbers.condition),
        stretch=Stretch(arrays["center"], arrays["factor"]),
        began=counts.began,
        best=[row[1] for row in own],
        median=[row[2] for row in own],
        level=counts.level,
        repeats=numbers.repeats,
        value=numbers.value,
        best_run=counts.best_run,
        best_end=RunEnd(best, Stretch(arrays["best.center"], arrays["best.factor"])) if kept else None,
        evaluations=counts.evaluations,
        failed=counts.failed,
        runs=runs,
        history=history,
    )


def _read_counts(path: Path, arrays: Arrays) -> tuple[Counts, Numbers]:
    """Return the numbers of a state; raise where they are not those of a run."""
    found, others = (arrays.get(name, np.empty(0)) for name in ("counts", "numbers"))
    sizes = (len(Counts._fields),), (len(Numbers._fields),)
    if (found.shape, others.shape) != sizes or (found.dtype.kind, others.dtype.kind) != ("i", "f"):
        raise ValueError(f"{path} is damaged: it has no counts of a run.")
    counts, numbers = Counts(*found.tolist()), Numbers(*others.tolist())
    sound = min(counts.failed, counts.began, counts.level, counts.limit) >= 0 and counts.began <= counts.evaluations
    sound = sound and numbers.repeats >= 1 and 0 < numbers.shrink <= WIDEST
    sound = sound and not np.isnan(numbers.value + numbers.condition)
    if not (sound and counts.population == len(arrays.get("points", ())) and counts.population > 1):
        raise ValueError(f"{path} is damaged: its counts are not those of a run.")
    if "runs" not in arrays or not 0 <= counts.best_run <= len(arrays["runs"]) <= counts.evaluations:
        raise ValueError(f"{path} is damaged: it has no runs.")
    return counts, numbers


def _read_run(row: list[float]) -> Run:
    population, shrink, large, limit, evaluations, best, rule = row
    return Run(int(population), shrink, bool(large), int(limit), int(evaluations), best, RULES[int(rule)])


def _check_state(path: Path, arrays: Arrays, search: Search, kept: bool) -> None:
    """Raise unless the arrays are those of a run of this search."""
    n = search.dimension
    expected: dict[str, tuple[tuple[int | None, ...], str]] = {
        "counts": ((len(Counts._fields),), "i"),
        "numbers": ((len(Numbers._fields),), "f"),
        "runs": ((None, len(Run._fields)), "f"),
        "history": ((None, len(History._fields)), "f"),
        "points": ((search.population, n), "f"),
    }
    vectors = ["x", "mean", "spread", "center", "factor", *(["best.center", "best.factor"] if kept else [])]
    expected |= dict.fromkeys(vectors, ((n,), "f"))
    for place, (shape, dtype) in enumerate(state_shapes(search)):
        for name in ("state", "best") if kept else ("state",):
            expected[f"{name}.{place}"] = (shape, np.dtype(dtype).kind)
    check_arrays(path, arrays, expected)
    for name, array in arrays.items():
        if name not in ("history", "runs", "numbers") and not np.isfinite(array).all():
            raise ValueError(f"{path} is damaged: {name} has entries that are not finite.")
    runs, history = arrays["runs"], History(*arrays["history"].T)
    finite = [runs[:, :5], history.evaluations, history.repeats, history.run]
    sound = all(np.isfinite(numbers).all() for numbers in finite) and not np.isnan(arrays["history"]).any()
    known = np.isin(runs[:, -1], np.arange(len(RULES))).all() and np.isin(history.run, np.arange(len(runs) + 1)).all()
    if not (sound and known):
        raise ValueError(f"{path} is damaged: its history is not that of a run.")
