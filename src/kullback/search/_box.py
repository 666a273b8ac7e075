"""Real coordinates in a box, or free: whole numbers among them, guesses, and noise."""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kullback.search._bounds import Box
from kullback.search._checkpoint import check_same_settings, read_run, write_run
from kullback.search._engine import advance, distribution_of
from kullback.search._loop import Domain
from kullback.search._noise import next_repeats, rank_change, second_count
from kullback.search._restarts import WIDEST, RestartPlan, Run, next_plan
from kullback.search._run_state import RunState
from kullback.search._saved_run import RULES, read_state, state_arrays
from kullback.search._search import Search
from kullback.search._stopping import ending_rule
from kullback.search.methods._method import Method
from kullback.storage import sentence

#: How often the mean is evaluated at the end of a run with a noisy f, at least.
FINAL = 10


@dataclasses.dataclass(frozen=True)
class BoxDomain(Domain):
    """Points of real coordinates. `box` are the bounds; `hull` is the box of the free coordinates in which the search
    moves, wider where they are whole.
    """

    scale: NDArray[np.float64]
    box: Box | None
    hull: Box | None
    whole: NDArray[np.bool_]
    method: Method
    guesses: NDArray[np.float64] | None
    counts_empty_runs: ClassVar[bool] = False

    def next_plan(self, runs: list[Run]) -> RestartPlan:
        """Return how the next run begins."""
        rng = np.random.default_rng([self.settings.seed, len(runs), 1])
        return next_plan(self.settings.restarts, self.method.population, len(self.x0), runs, rng)

    def wider_plan(self, plan: RestartPlan) -> RestartPlan | None:
        """Return steps twice as long, if they may be as long."""
        shrink = 2 * plan.shrink
        too_wide = shrink > WIDEST or not np.isfinite(shrink * self.scale).all()
        return None if too_wide else plan._replace(shrink=shrink)

    def search(self, plan: RestartPlan, run: int) -> Search:
        """Return the search of a run: the first begins at x0, others around it, or anywhere in a box that is closed."""
        point, rng = self.x0, np.random.default_rng([self.settings.seed, run])
        closed = self.box is not None and self.box.closed
        if run and self.box is not None and closed:
            point = rng.uniform(self.box.lower, self.box.upper)
        free = self._unfold(point)
        if run and not closed:
            free = free + self.scale * rng.standard_normal(len(free))
        return dataclasses.replace(self.method, mean=free, scale=self.scale * plan.shrink, population=plan.population)

    def cost(self, state: RunState) -> int:
        """Return how many evaluations the next population takes, and the end of a run with a noisy f."""
        m, repeats = state.plan.population, int(state.repeats)
        points = m + len(self._first_guesses(state))
        return points * repeats + second_count(m) * repeats + FINAL if self.settings.noisy else points

    def evaluate(self, state: RunState) -> str | None:
        """Evaluate a population, tell the search, whose moments the rules look at, and return the rule that fires."""
        settings = self.settings
        points = np.concatenate([self._unfold(self._first_guesses(state)), state.generation.points])
        x = self._fold(state.stretch.apply(points))
        values, repeats = self._values(state, x)
        generation = state.generation = advance(state.search, state.generation, points, values)
        view = state.record(x, values, self.objective.evaluations, self.objective.failed, settings.noisy)
        if settings.noisy and view.median[-1] <= settings.target:
            state.stopped = "target"
        if self.whole.any():
            stretch, size = state.stretch, len(generation.points)
            state.stretch = stretch.widen(generation.mean, generation.spread, self.whole, size)
        state.repeats = repeats
        away = max(state.value - settings.target, 0.0)
        tolerance = min(settings.tolerance, 0.01 * away)  # values that differ by more may yet reach the target
        rule = ending_rule(view, self.scale * state.plan.shrink, self.whole, tolerance)
        spent = state.plan.limit and state.evaluations - state.began >= state.plan.limit
        return rule or ("limit" if spent else None)

    def settle(self, state: RunState) -> None:
        """With noise the best value is one that was lucky: take the mean of the distribution, and average there."""
        times = min(max(FINAL, int(state.repeats)), self.settings.budget - state.evaluations)
        if self.settings.noisy and times > 0:
            x = self._fold(state.stretch.apply(state.generation.mean[None]))
            value = float(self._average(x, times)[0])
            state.evaluations, state.failed = self.objective.evaluations, self.objective.failed
            state.find(x[0], value)

    def best(self, state: RunState) -> tuple[NDArray[np.float64], float]:
        """Return the best so far: with noise, the mean, and the median of the last values."""
        if self.settings.noisy and state.median:
            return self._fold(state.stretch.apply(state.generation.mean)), state.median[-1]
        return state.x, state.value

    def distribution(self, state: RunState) -> Any:
        """Return the distribution at the end of the run that has found the best point."""
        search, leaves, stretch = state.search, state.generation.leaves, state.stretch
        if state.best_run < len(state.runs) and state.best_end is not None:
            search = self.search(RestartPlan(*state.runs[state.best_run][:4]), state.best_run)
            leaves, stretch = state.best_end
        return stretch.distribution(distribution_of(search, leaves))

    def save(self, path: Path, state: RunState) -> None:
        """Write the state."""
        write_run(path, {"settings": self._fingerprint(), "stopped": state.stopped}, state_arrays(state))

    def load(self, path: Path) -> RunState | None:
        """Read a state to go on from; raise at a run that is not done, unless it is to go on."""
        header, arrays = read_run(path)
        stopped = header.get("stopped")
        if not self.settings.resume:
            if not stopped:
                raise ValueError(f"{path} holds a run that is not done: pass resume=True to go on, or remove the file.")
            return None
        check_same_settings(path, header, self._fingerprint(), "minimize")
        if stopped not in ("", *RULES):
            raise ValueError(f"{path} is damaged: it was stopped by {sentence(repr(stopped), 60)}, which is no rule.")
        state = read_state(path, arrays, self.search)
        # rules that depend on what may change between two calls are asked again
        state.stopped = "" if stopped in ("budget", "target", "callback") else stopped
        self.objective.evaluations, self.objective.failed = state.evaluations, state.failed
        return state

    def _fingerprint(self) -> dict[str, Any]:
        """Return what must be the same in a run that goes on from a file. Budget and target may change."""
        fields = dataclasses.fields(self.method)
        options = {f.name: getattr(self.method, f.name) for f in fields if f.name not in ("mean", "scale")}
        return {
            "x0": self.x0.tolist(),
            "sigma0": self.scale.tolist(),
            "bounds": None if self.box is None else [str(self.box.lower.tolist()), str(self.box.upper.tolist())],
            "integers": np.flatnonzero(self.whole).tolist(),
            "method": f"{type(self.method).__name__}({', '.join(f'{k}={v!r}' for k, v in options.items())})",
            "guesses": None if self.guesses is None else self.guesses.tolist(),
            "seed": self.settings.seed,
            "noisy": self.settings.noisy,
            "restarts": self.settings.restarts,
            "tolerance": self.settings.tolerance,
        }

    def _fold(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what f sees of free points: folded into the bounds, and rounded where they are whole."""
        x = points if self.hull is None else self.hull.fold(points)
        if self.whole.any():
            x = np.where(self.whole, np.rint(x), x)
            if self.box is not None:
                x = np.clip(x, np.where(self.whole, np.ceil(self.box.lower), self.box.lower), self.box.upper)
                x = np.where(self.whole, np.minimum(x, np.floor(self.box.upper)), x)
        return x

    def _unfold(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return free points that f sees as these."""
        return points if self.hull is None else self.hull.unfold(points)

    def _first_guesses(self, state: RunState) -> NDArray[np.float64]:
        return np.empty((0, len(self.x0))) if self.guesses is None or state.history else self.guesses

    def _values(self, state: RunState, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the values of points, and how often the next ones are to be evaluated."""
        if not self.settings.noisy:
            return self.objective.values(x), 1.0
        m, times = len(x), int(state.repeats)
        values = self._average(x, times)
        chosen = second_count(m)
        second = self._average(x[:chosen], times)
        ranks = [np.where(np.isnan(part), np.inf, part) for part in (values, second)]
        repeats = next_repeats(state.repeats, rank_change(*ranks), self.settings.budget / (20 * m))
        values[:chosen] = (values[:chosen] + second) / 2
        return values, repeats

    def _average(self, x: NDArray[np.float64], times: int) -> NDArray[np.float64]:
        values = self.objective.values(np.repeat(x, times, axis=0)).reshape(len(x), times)
        return np.mean(values, axis=1)
