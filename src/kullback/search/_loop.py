"""The loop of a minimization: populations, runs, and what is told to people and files on the way."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult
from tqdm.auto import tqdm

from kullback.search._checkpoint import read_run, write_run
from kullback.search._engine import advanced, begun, distribution_of
from kullback.search._ledger import RULES, Ledger, restored
from kullback.search._noise import again, next_repeats, rank_change
from kullback.search._objective import Objective
from kullback.search._restarts import WIDEST, Plan, next_plan
from kullback.search._result import called_off, disputed, made_result
from kullback.search._settings import Settings
from kullback.search._stopping import run_over
from kullback.storage import sentence

#: Seconds between two checkpoints.
PAUSE = 10.0
#: How often the mean is evaluated at the end of a run with a noisy f, at least.
FINAL = 10


class Loop:
    """Asks f, tells the search, and keeps a ledger, until a rule says stop."""

    def __init__(
        self,
        settings: Settings,
        objective: Objective,
        callback: Callable[[OptimizeResult], Any] | None,
        checkpoint: Path | None,
        verbose: bool,
    ):
        self._settings, self._objective, self._callback, self._path = settings, objective, callback, checkpoint
        self._verbose = verbose
        self._ledger = Ledger(x=settings.x0)

    def run(self, resume: bool) -> OptimizeResult:
        """Go on until a rule says stop, and return what was found."""
        if self._path is not None and self._path.exists():
            self._read(self._path, resume)
        if self._ledger.turn is None:
            self._begin()
        written, before = time.monotonic(), len(self._ledger.history)
        bar = tqdm(total=self._settings.budget, unit=" evaluations", disable=not self._verbose)
        with bar:
            try:
                while not self._over():
                    self._generation()
                    bar.set_description(f"run {len(self._ledger.runs) + 1}", refresh=False)
                    bar.set_postfix_str(f"best {self._best()[1]:.6g}", refresh=False)
                    bar.update(self._ledger.evaluations - bar.n)
                    if self._path is not None and time.monotonic() - written > PAUSE:
                        self._write()
                        written = time.monotonic()
                if len(self._ledger.history) > before:
                    self._settle()
            finally:
                # also when f or a person has interrupted: the file has the last whole population
                if self._ledger.history:
                    self._write()
        result = self._result()
        if len(self._ledger.history) == before or self._settings.noisy:
            return result
        alone = self._objective.another_value(result.x, result.fun, self._settings.tolerance)
        return result if alone is None else disputed(result, alone)

    def _over(self) -> bool:
        """Say whether a rule has stopped it all; the budget must have room for a population."""
        ledger, settings = self._ledger, self._settings
        if not ledger.stopped:
            if ledger.value == -np.inf:
                ledger.stopped = "unbounded"
            elif ledger.value <= settings.target:
                ledger.stopped = "target"
            elif ledger.evaluations + self._cost() > settings.budget:
                ledger.stopped = "budget"
        return bool(ledger.stopped)

    def _cost(self) -> int:
        """Return how many evaluations the next population takes."""
        ledger, settings = self._ledger, self._settings
        m = ledger.plan.population
        if not settings.noisy:
            return m + len(self._first_guesses())
        return (m + len(self._first_guesses())) * int(ledger.repeats) + again(m) * int(ledger.repeats) + FINAL

    def _first_guesses(self) -> NDArray[np.float64]:
        settings = self._settings
        if settings.guesses is None or self._ledger.history:
            return np.empty((0, len(settings.x0)))
        return settings.guesses

    def _begin(self) -> None:
        """Begin the next run."""
        ledger, settings = self._ledger, self._settings
        number = len(ledger.runs)
        rng = np.random.default_rng([settings.seed, number, 1])
        plan = next_plan(settings.restarts, settings.search.population, len(settings.x0), ledger.runs, rng)
        search = settings.search_of(plan, number)
        ledger.begin(plan, search, begun(search, settings.seed, number))

    def _generation(self) -> None:
        """Evaluate a population, tell the search, and see whether the run is over."""
        ledger, settings, turn = self._ledger, self._settings, self._ledger.turn
        assert turn is not None
        assert ledger.search is not None
        points = np.concatenate([settings.freed(self._first_guesses()), turn.points])
        x = settings.seen(ledger.stretch.applied(points))
        values, repeats = self._values(x)
        turn = advanced(ledger.search, turn, points, values)
        ordered = np.sort(np.where(np.isnan(values), np.inf, values))
        if settings.noisy:
            if ordered[len(ordered) // 2] <= settings.target:
                ledger.stopped = "target"
        elif ordered[0] < ledger.value:
            place = int(np.nanargmin(values))
            ledger.find(x[place], float(values[place]))
        look = ledger.note(turn, ordered, self._objective.evaluations)
        if settings.whole.any():
            ledger.stretch = ledger.stretch.kept_alive(turn.mean, turn.spread, settings.whole, len(turn.points))
        ledger.failed, ledger.repeats = self._objective.failed, repeats
        away = max(ledger.value - settings.target, 0.0)
        tolerance = min(settings.tolerance, 0.01 * away)  # values that differ by more may yet reach the target
        rule = run_over(look, settings.scale * ledger.plan.shrink, settings.whole, tolerance)
        if ledger.plan.limit and ledger.evaluations - ledger.began >= ledger.plan.limit:
            rule = rule or "limit"
        if rule is not None and not ledger.value <= settings.target and not ledger.stopped:
            self._end_run(rule)
        if self._called_off() and not ledger.stopped:
            ledger.stopped = "callback"

    def _values(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the values of points, and how often the next ones are to be evaluated."""
        ledger, m = self._ledger, len(x)
        if not self._settings.noisy:
            return self._objective.values(x), 1.0
        times = int(ledger.repeats)
        values = self._average(x, times)
        chosen = again(m)
        second = self._average(x[:chosen], times)
        ranks = [np.where(np.isnan(part), np.inf, part) for part in (values, second)]
        repeats = next_repeats(ledger.repeats, rank_change(*ranks), self._settings.budget / (20 * m))
        values[:chosen] = (values[:chosen] + second) / 2
        return values, repeats

    def _average(self, x: NDArray[np.float64], times: int) -> NDArray[np.float64]:
        values = self._objective.values(np.repeat(x, times, axis=0)).reshape(len(x), times)
        return np.mean(values, axis=1)

    def _end_run(self, rule: str) -> None:
        ledger, settings = self._ledger, self._settings
        if rule == "failed" and not ledger.value < np.inf and self._widen():
            return
        if len(ledger.runs) >= settings.most_restarts or (rule == "failed" and not ledger.value < np.inf):
            ledger.stopped = rule
            return
        self._settle()
        ledger.end(rule)
        self._begin()

    def _widen(self) -> bool:
        """Begin the run again with steps twice as long, as f has no value so far; say whether they may be as long."""
        ledger, settings = self._ledger, self._settings
        plan, number = ledger.plan._replace(shrink=2 * ledger.plan.shrink), len(ledger.runs)
        if plan.shrink > WIDEST or not np.isfinite(plan.shrink * settings.scale).all():
            return False
        search = settings.search_of(plan, number)
        ledger.widen(plan, search, begun(search, settings.seed, number, round(np.log2(plan.shrink))))
        return True

    def _settle(self) -> None:
        """With noise the best value is one that was lucky: take the mean of the distribution, and average there."""
        ledger, settings = self._ledger, self._settings
        times = min(max(FINAL, int(ledger.repeats)), settings.budget - ledger.evaluations)
        if settings.noisy and ledger.turn is not None and times > 0:
            x = settings.seen(ledger.stretch.applied(ledger.turn.mean[None]))
            value = float(self._average(x, times)[0])
            ledger.evaluations, ledger.failed = self._objective.evaluations, self._objective.failed
            ledger.find(x[0], value)

    def _best(self) -> tuple[NDArray[np.float64], float]:
        """Return the best so far: with noise, the mean, and the median of the last values."""
        ledger, settings = self._ledger, self._settings
        if settings.noisy and ledger.turn is not None and ledger.median:
            return settings.seen(ledger.stretch.applied(ledger.turn.mean)), ledger.median[-1]
        return ledger.x, ledger.value

    def _called_off(self) -> bool:
        if self._callback is None:
            return False
        ledger = self._ledger
        x, value = self._best()
        return called_off(self._callback, x, value, ledger.evaluations, len(ledger.history), len(ledger.runs))

    def _write(self) -> None:
        if self._path is not None:
            header = {"settings": self._settings.fingerprint(), "stopped": self._ledger.stopped}
            write_run(self._path, header, self._ledger.arrays())

    def _read(self, path: Path, resume: bool) -> None:
        header, arrays = read_run(path)
        if not resume:
            if not header.get("stopped"):
                raise ValueError(f"{path} holds a run that is not done: pass resume=True to go on, or remove the file.")
            return
        mine, theirs = self._settings.fingerprint(), header.get("settings")
        if not isinstance(theirs, dict):
            raise ValueError(f"{path} is not a saved run: it does not say which.")
        for name, value in mine.items():
            if theirs.get(name) != value:
                raise ValueError(f"{path} holds a run with another {name}: call minimize as that run was called.")
        stopped = header.get("stopped")
        if stopped not in ("", *RULES):
            raise ValueError(f"{path} is damaged: it was stopped by {sentence(repr(stopped), 60)}, which is no rule.")
        # what depends on what may change, is asked again
        again_asked = stopped in ("budget", "target", "callback")
        self._ledger = restored(path, "" if again_asked else stopped, arrays, self._settings)
        self._objective.evaluations, self._objective.failed = self._ledger.evaluations, self._ledger.failed

    def _result(self) -> OptimizeResult:
        ledger, objective = self._ledger, self._objective
        assert ledger.search is not None
        assert ledger.turn is not None
        search, leaves, stretch = ledger.search, ledger.turn.leaves, ledger.stretch
        if ledger.best_run < len(ledger.runs) and ledger.best_end is not None:
            search = self._settings.search_of(Plan(*ledger.runs[ledger.best_run][:4]), ledger.best_run)
            leaves, stretch = ledger.best_end
        return made_result(
            x=ledger.x,
            value=ledger.value,
            stopped=ledger.stopped,
            history=ledger.table(),
            runs=[*ledger.runs, *([ledger.current(ledger.stopped)] if ledger.best else [])],
            target=self._settings.target,
            distribution=distribution_of(search, leaves, stretch),
            evaluations=ledger.evaluations,
            failed=ledger.failed,
            reason=objective.last_failure,
        )
