"""Points of −1 and +1: no point is evaluated twice, and interactions may be learned on the way."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kullback.families import Ising
from kullback.runtime import computing
from kullback.search._checkpoint import check_arrays, check_same_settings, read_run, write_run
from kullback.search._engine import advance, unpack_state
from kullback.search._loop import Domain
from kullback.search._objective import Objective
from kullback.search._restarts import RestartPlan, Run, double_population
from kullback.search._run_state import RunState
from kullback.search._settings import Settings
from kullback.search._stopping import StoppingView, has_failed
from kullback.search.spins._archive import Archive
from kullback.search.spins._markov import MarkovSpins
from kullback.search.spins._markov_field import MarkovField
from kullback.search.spins._pair_learning import PairLearning
from kullback.search.spins._spin_method import SpinMethod

#: So many populations in turn that are level, or without a new point, end a run.
LEVEL, STALE = 2, 10


@dataclasses.dataclass(frozen=True)
class SpinDomain(Domain):
    """Points of {−1, +1}ⁿ. `make_search` makes the search of a run by its population; `statistics` is how many numbers
    a point has, spins and pairs; `fingerprint` is what must be the same in a run that goes on from a file.
    """

    settings: Settings
    objective: Objective
    x0: NDArray[np.float64]
    make_search: Callable[[int], SpinMethod]
    population: int
    statistics: int
    archive: Archive
    learning: PairLearning | None
    fingerprint: dict[str, Any]
    counts_empty_runs: ClassVar[bool] = True

    def next_plan(self, runs: list[Run]) -> RestartPlan:
        """Return twice the population of the run before, up to a bound."""
        return RestartPlan(double_population(self.population, len(runs), self.statistics))

    def search(self, plan: RestartPlan, run: int) -> SpinMethod:
        """Return the search of a run, with the pairs found so far."""
        search = self.make_search(plan.population)
        return self.learning.extend(search) if self.learning and isinstance(search, MarkovSpins) else search

    def cost(self, state: RunState) -> int:
        """Return how many points of the next population are new."""
        return len(self.archive.new_rows(state.generation.points))

    def is_exhausted(self) -> bool:
        """Say whether there is no other point."""
        return self.archive.is_complete()

    def evaluate(self, state: RunState) -> str | None:
        """Evaluate a population, and return the rule that ends the run."""
        points = state.generation.points
        values = self.archive.values(points)
        view = state.record(points, values, self.archive.evaluations, self.archive.failed)
        return "failed" if has_failed(view) else "flat" if _is_flat(view, state) else None

    def tell(self, state: RunState) -> None:
        """Move the search, and look again for the pairs that matter when there is more to find them in."""
        points = state.generation.points
        state.generation = advance(state.search, state.generation, points, self.archive.values(points))
        if self.learning and isinstance(state.search, MarkovSpins) and self.learning.is_due(self.archive):
            state.search, leaves = self.learning.learn(self.archive, state.search, state.generation.leaves)
            state.generation = state.generation._replace(leaves=leaves)

    def distribution(self, state: RunState) -> Ising | MarkovField:
        """Return the last distribution."""
        with computing():
            return state.search.distribution(unpack_state(state.search, state.generation.leaves))

    def save(self, path: Path, state: RunState) -> None:
        """Write all points and values, with which the same run is gone through again."""
        points, values = self.archive.table()
        write_run(path, {"settings": self.fingerprint}, {"points": points, "values": values})

    def load(self, path: Path) -> RunState | None:
        """Read what is known of f; raise at the file of another run."""
        if not self.settings.resume:
            return None
        header, arrays = read_run(path)
        check_same_settings(path, header, self.fingerprint, "minimize_binary")
        check_arrays(path, arrays, {"points": ((None, len(self.x0)), "i"), "values": ((None,), "f")})
        points, values = arrays["points"], arrays["values"]
        if len(points) != len(values) or not np.isin(points, (-1, 1)).all():
            raise ValueError(f"{path} is damaged: its points are not those of a run.")
        self.archive.remember(points, values)
        return None


def _is_flat(view: StoppingView, state: RunState) -> bool:
    """Say whether the values are level, or for long there was no new point."""
    long = len(view.best) >= STALE and len(state.history) > STALE
    return view.level >= LEVEL or (long and state.history[-STALE - 1][0] == state.evaluations)
