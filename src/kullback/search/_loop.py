"""The loop of a minimization: populations, runs, and what is told to people and files on the way."""

import abc
import dataclasses
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult
from tqdm.auto import tqdm

from kullback.search._engine import Generation, start
from kullback.search._integers import Stretch
from kullback.search._objective import Objective
from kullback.search._restarts import RestartPlan, Run
from kullback.search._result import correct_value, make_result
from kullback.search._run_state import RunState
from kullback.search._search import Search
from kullback.search._settings import Settings

#: Seconds between two checkpoints.
PAUSE = 10.0


@dataclasses.dataclass(frozen=True)
class Domain(abc.ABC):
    """Where points lie: how runs begin there, how points are evaluated, when a run is over, and how it is saved."""

    settings: Settings
    objective: Objective
    x0: NDArray[np.float64]  # the result where no point has a value
    counts_empty_runs: ClassVar[bool]  # whether a last run without a population is one of the result's

    @abc.abstractmethod
    def next_plan(self, runs: list[Run]) -> RestartPlan:
        """Return how the next run begins, from the runs before."""

    @abc.abstractmethod
    def search(self, plan: RestartPlan, run: int) -> Search:
        """Return the search of a run."""

    @abc.abstractmethod
    def cost(self, state: RunState) -> int:
        """Return how many evaluations the next population takes."""

    @abc.abstractmethod
    def evaluate(self, state: RunState) -> str | None:
        """Evaluate a population, record it, and return the rule that ends the run, None if it goes on."""

    @abc.abstractmethod
    def distribution(self, state: RunState) -> Any:
        """Return the distribution of a result."""

    @abc.abstractmethod
    def load(self, path: Path) -> RunState | None:
        """Read a file, if it is to be read; return the state to go on from, None to begin."""

    @abc.abstractmethod
    def save(self, path: Path, state: RunState) -> None:
        """Write what is needed to go on."""

    def tell(self, state: RunState) -> None:  # noqa: B027, not every domain has to
        """Move the search of a run that goes on, if `evaluate` has not."""

    def settle(self, state: RunState) -> None:  # noqa: B027
        """Look once more at the best point of a run that ends."""

    def wider_plan(self, plan: RestartPlan) -> RestartPlan | None:
        """Return a wider start for a run that has found no value, None if there is none."""
        return None

    def best(self, state: RunState) -> tuple[NDArray[np.float64], float]:
        """Return the best point so far, and its value."""
        return state.x, state.value

    def is_exhausted(self) -> bool:
        """Say whether there is no other point."""
        return False


class Loop:
    """Evaluates f, tells the search, and keeps count, until a rule says stop."""

    def __init__(self, domain: Domain):
        self._domain, self._settings = domain, domain.settings
        path = self._settings.checkpoint
        found = domain.load(path) if path is not None and path.exists() else None
        self._state = found or RunState(domain.x0, *self._begin([]), Stretch.identity(len(domain.x0)))

    def run(self) -> OptimizeResult:
        """Go on until a rule says stop, and return what was found."""
        domain, state, settings = self._domain, self._state, self._settings
        written, before = time.monotonic(), len(state.history)
        with tqdm(total=settings.budget, unit=" evaluations", disable=not settings.verbose) as bar:
            try:
                while not self._is_over():
                    self._generation()
                    bar.set_description(f"run {len(state.runs) + 1}", refresh=False)
                    bar.set_postfix_str(f"best {domain.best(state)[1]:.6g}", refresh=False)
                    bar.update(state.evaluations - bar.n)
                    if time.monotonic() - written > PAUSE:
                        self._save()
                        written = time.monotonic()
                if len(state.history) > before:
                    domain.settle(state)
            finally:
                # also when f or a person has interrupted: the file has the last whole population
                self._save()
        runs = [*state.runs, *([state.current(state.stopped)] if state.best or domain.counts_empty_runs else [])]
        failure = domain.objective.last_failure
        result = make_result(state, runs, settings.target, domain.distribution(state), failure)
        if len(state.history) == before or settings.noisy:
            return result
        alone = domain.objective.another_value(result.x, result.fun, settings.tolerance)
        return result if alone is None else correct_value(result, alone)

    def _is_over(self) -> bool:
        """Say whether a rule has stopped it all; the budget must have room for a population."""
        state, settings = self._state, self._settings
        if not state.stopped:
            if state.value == -np.inf:
                state.stopped = "unbounded"
            elif state.value <= settings.target:
                state.stopped = "target"
            elif self._domain.is_exhausted():
                state.stopped = "exhausted"
            elif state.evaluations + self._domain.cost(state) > settings.budget:
                state.stopped = "budget"
        return bool(state.stopped)

    def _generation(self) -> None:
        """Evaluate a population, tell the search, and see whether the run is over."""
        state = self._state
        rule = self._domain.evaluate(state)
        if rule is not None and not state.value <= self._settings.target and not state.stopped:
            self._end_run(rule)
        if self._callback_stops() and not state.stopped:
            state.stopped = "callback"
        if rule is None and not state.stopped:
            self._domain.tell(state)

    def _begin(self, runs: list[Run]) -> tuple[RestartPlan, Search, Generation]:
        """Return the next run."""
        plan, number = self._domain.next_plan(runs), len(runs)
        search = self._domain.search(plan, number)
        return plan, search, start(search, self._settings.seed, number)

    def _end_run(self, rule: str) -> None:
        domain, state, number = self._domain, self._state, len(self._state.runs)
        blind = rule == "failed" and not state.value < np.inf
        plan = domain.wider_plan(state.plan) if blind else None
        if plan is not None:
            search, attempt = domain.search(plan, number), round(np.log2(plan.shrink))
            state.widen(plan, search, start(search, self._settings.seed, number, attempt))
        elif blind or number >= self._settings.most_restarts:
            state.stopped = rule
        else:
            domain.settle(state)
            state.end(rule)
            state.begin(*self._begin(state.runs))

    def _callback_stops(self) -> bool:
        """Show a person how far it is, and say whether that is enough: the answer is True, or StopIteration."""
        state, callback = self._state, self._settings.callback
        if callback is None:
            return False
        x, value = self._domain.best(state)
        seen = OptimizeResult(
            x=x.copy(), fun=value, nfev=state.evaluations, nit=len(state.history), restarts=len(state.runs)
        )
        try:
            return callback(seen) is True
        except StopIteration:
            return True

    def _save(self) -> None:
        if self._settings.checkpoint is not None and self._state.history:
            self._domain.save(self._settings.checkpoint, self._state)
