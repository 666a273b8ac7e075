"""The loop of a minimization over spins: populations, runs, and what is told to people and files on the way."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult
from tqdm.auto import tqdm

from kullback.runtime import computing, quick_jit
from kullback.search._binary_archive import Archive
from kullback.search._binary_learning import Learning
from kullback.search._binary_markov import MarkovSpins
from kullback.search._binary_method import BinaryMethod
from kullback.search._restarts import Run, doubled
from kullback.search._result import History, called_off, disputed, made_result
from kullback.search._stopping import CONVERGED, FAILURES, SENTENCES, is_level

#: Seconds between two checkpoints.
PAUSE = 10.0
#: So many populations in turn that are level, or without a new point, end a run.
LEVEL, STALE = 2, 10
#: What ends a search only where points can be counted.
EXHAUSTED = "exhausted"


class BinarySettings(NamedTuple):
    """What a minimization was asked to do, once checked. `search` makes the search of a run by its population;
    `statistics` is how many numbers a point has, spins and pairs.
    """

    n: int
    search: Callable[[int], BinaryMethod]
    population: int
    statistics: int
    learning: bool
    budget: int
    target: float
    seed: int
    most_restarts: float
    fingerprint: dict[str, Any]


class BinaryLoop:
    """Asks f, tells the search, and keeps count, until a rule says stop."""

    def __init__(
        self,
        settings: BinarySettings,
        archive: Archive,
        callback: Callable[[OptimizeResult], Any] | None,
        checkpoint: Path | None,
        verbose: bool,
    ):
        self._settings, self._archive, self._callback, self._path = settings, archive, callback, checkpoint
        self._verbose = verbose
        self._x, self._value = np.ones(settings.n), np.inf
        self._history: list[tuple[float, ...]] = []
        self._runs: list[Run] = []
        self._learning = Learning(settings.n) if settings.learning else None
        self._stopped = ""

    def run(self) -> OptimizeResult:
        """Go on until a rule says stop, and return what was found."""
        written = time.monotonic()
        bar = tqdm(total=self._settings.budget, unit=" evaluations", disable=not self._verbose)
        with bar:
            try:
                self._begin()
                while not self._over():
                    self._generation()
                    bar.set_description(f"run {len(self._runs) + 1}", refresh=False)
                    bar.set_postfix_str(f"best {self._value:.6g}", refresh=False)
                    bar.update(self._archive.evaluations - bar.n)
                    if time.monotonic() - written > PAUSE:
                        self._write()
                        written = time.monotonic()
            finally:
                # also when f or a person has interrupted
                self._write()
        result = self._result()
        alone = self._archive.another_value(result.x, result.fun)
        return result if alone is None else disputed(result, alone)

    def _begin(self) -> None:
        """Begin the next run, with twice the population of the one before, up to a bound."""
        settings, number = self._settings, len(self._runs)
        self._search = settings.search(doubled(settings.population, number, settings.statistics))
        self._began, self._best = self._archive.evaluations, np.inf
        self._level = self._stale = self._blank = 0
        if self._learning is not None:
            assert isinstance(self._search, MarkovSpins)
            self._search = self._learning.begun(self._search)
        self._points, self._state, self._spread = _begun(self._search, settings.seed, number)

    def _over(self) -> bool:
        """Say whether a rule has stopped it all; the budget must have room for the next population."""
        if not self._stopped:
            if self._value == -np.inf:
                self._stopped = "unbounded"
            elif self._value <= self._settings.target:
                self._stopped = "target"
            elif self._archive.complete:
                self._stopped = EXHAUSTED
            elif self._archive.evaluations + len(self._archive.new(self._points)) > self._settings.budget:
                self._stopped = "budget"
        return bool(self._stopped)

    def _generation(self) -> None:
        """Evaluate a population, tell the search, and see whether the run is over."""
        archive, points = self._archive, self._points
        before = archive.evaluations
        values = archive.ask(points)
        ordered = np.sort(np.where(np.isnan(values), np.inf, values))
        if ordered[0] < self._value:
            place = int(np.nanargmin(values))
            self._x, self._value = points[place].copy(), float(values[place])
        self._best = min(self._best, float(ordered[0]))
        self._stale = self._stale + 1 if archive.evaluations == before else 0
        self._level = self._level + 1 if is_level(ordered) else 0
        self._blank = self._blank + 1 if ordered[0] == np.inf else 0
        self._note(ordered)
        if self._called_off():
            self._stopped = "callback"
        elif self._blank >= FAILURES:
            self._end_run("failed")
        elif self._level >= LEVEL or self._stale >= STALE:
            self._end_run("flat")
        else:
            self._points, self._state, self._spread = _advanced(self._search, self._state, points, values)
            self._learn()

    def _learn(self) -> None:
        """Look again for the pairs that matter, when there is more to find them in."""
        if self._learning is not None and self._learning.due(self._archive):
            assert isinstance(self._search, MarkovSpins)
            self._search, self._state = self._learning.learned(self._archive, self._search, self._state)

    def _note(self, ordered: NDArray[np.float64]) -> None:
        middle = float(ordered[len(ordered) // 2])
        widest = float(np.max(self._spread))
        row = (self._archive.evaluations, float(ordered[0]), middle, widest, 1.0, 1.0, len(self._runs))
        self._history.append(row)

    def _end_run(self, rule: str) -> None:
        if self._value <= self._settings.target:
            return
        if len(self._runs) >= self._settings.most_restarts or (rule == "failed" and not self._value < np.inf):
            self._stopped = rule
            return
        self._runs.append(self._current(rule))
        self._begin()

    def _current(self, stopped: str) -> Run:
        """Return the run that goes on as one that ends now."""
        evaluations = self._archive.evaluations - self._began
        return Run(self._search.population, 1.0, True, 0, evaluations, self._best, stopped)

    def _called_off(self) -> bool:
        if self._callback is None:
            return False
        evaluations = self._archive.evaluations
        return called_off(self._callback, self._x, self._value, evaluations, len(self._history), len(self._runs))

    def _write(self) -> None:
        if self._path is not None:
            self._archive.write(self._path, self._settings.fingerprint)

    def _result(self) -> OptimizeResult:
        columns = np.array(self._history, dtype=float).reshape(-1, 7).T
        evaluations, best, median, spread, condition, repeats, run = columns
        history = History(
            evaluations.astype(np.int64),
            best,
            median,
            spread,
            condition,
            repeats.astype(np.int64),
            run.astype(np.int64),
        )
        rule = CONVERGED[0] if self._stopped == EXHAUSTED else self._stopped
        with computing():
            distribution = self._search.distribution(self._state)
        result = made_result(
            x=self._x,
            value=self._value,
            stopped=rule,
            target=self._settings.target,
            history=history,
            runs=[*self._runs, self._current(self._stopped)],
            distribution=distribution,
            evaluations=self._archive.evaluations,
            failed=self._archive.failed,
            reason=self._archive.last_failure,
        )
        if self._stopped == EXHAUSTED:
            told = "Every point has been evaluated."
            result.update(stopped=EXHAUSTED, message=told, status=len(SENTENCES), success=self._value < np.inf)
        return result


Population = tuple[NDArray[np.float64], Any, NDArray[np.float64]]


def _begun(search: BinaryMethod, seed: int, run: int) -> Population:
    """Return the first population of a run, the state, and the spread."""
    with computing():
        key = jax.random.key(0)
        for part in (seed & 0xFFFFFFFF, seed >> 32, run):
            key = jax.random.fold_in(key, np.uint32(part))
        return _population(search, search.init(key))


def _advanced(search: BinaryMethod, state: Any, points: NDArray[np.float64], values: NDArray[np.float64]) -> Population:
    """Tell the values of points, and return the next population, the state, and the spread."""
    with computing():
        return _population(search, _told(search, state, points, values))


def _population(search: BinaryMethod, state: Any) -> Population:
    points, state, spread = _asked(search, state)
    return np.asarray(points), state, np.asarray(spread)


@quick_jit
def _told(search: BinaryMethod, state: Any, points: Any, values: Any) -> Any:
    return search.tell(state, points, values)


@quick_jit
def _asked(search: BinaryMethod, state: Any) -> Any:
    points, state = search.ask(state)
    return points, state, search.spread(state)
