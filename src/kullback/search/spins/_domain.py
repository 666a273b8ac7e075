"""Points of −1 and +1: no point is evaluated twice, and interactions may be learned on the way."""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kullback.families import Ising
from kullback.runtime import computing, in_float64
from kullback.search._checkpoint import check_arrays, check_same_settings, read_run, write_run
from kullback.search._engine import advance, pack_state, unpack_state
from kullback.search._loop import Domain
from kullback.search._restarts import RestartPlan, Run, double_population
from kullback.search._run_state import RunState
from kullback.search._stopping import StoppingView, has_failed
from kullback.search.spins._archive import Archive
from kullback.search.spins._independent import UPDATES, IndependentSpins
from kullback.search.spins._markov import MarkovSpins
from kullback.search.spins._markov_field import MarkovField
from kullback.search.spins._pair_learning import PairLearning, carry_over

#: So many populations in turn that are level, or without a new point, end a run.
LEVEL, STALE = 2, 10


@dataclasses.dataclass(frozen=True)
class SpinDomain(Domain):
    """Points of {−1, +1}ⁿ. `pairs` are the interactions; where they are learned, those of the first run."""

    method: str
    pairs: NDArray[np.int64]
    population: int
    rate: float | None
    archive: Archive
    learning: PairLearning | None
    counts_empty_runs: ClassVar[bool] = True

    def next_plan(self, runs: list[Run]) -> RestartPlan:
        """Return twice the population of the run before, up to a bound; a point has a number for each spin and pair."""
        return RestartPlan(double_population(self.population, len(runs), len(self.x0) + len(self.pairs)))

    def search(self, plan: RestartPlan, run: int) -> IndependentSpins | MarkovSpins:
        """Return the search of a run, with the pairs found so far."""
        pairs = self.pairs if self.learning is None else self.learning.pairs
        return spin_search(len(self.x0), self.method, pairs, plan.population, self.rate)

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
        if self.learning is not None and self.learning.is_due(self.archive):
            self.learning.learn(self.archive)
            old, new = state.search, self.search(state.plan, len(state.runs))
            assert isinstance(old, MarkovSpins)
            assert isinstance(new, MarkovSpins)
            if not np.array_equal(old.pairs, new.pairs):
                with computing():
                    carried = carry_over(old, unpack_state(old, state.generation.leaves), new)
                    state.generation = state.generation._replace(leaves=pack_state(carried))
                state.search = new

    @in_float64
    def distribution(self, state: RunState) -> Ising | MarkovField:
        """Return the last distribution."""
        return state.search.distribution(unpack_state(state.search, state.generation.leaves))

    def save(self, path: Path, state: RunState) -> None:
        """Write all points and values that are known, with which the same run is gone through again."""
        points, values = self.archive.table(known=True)
        write_run(path, {"settings": self._fingerprint()}, {"points": points, "values": values})

    def load(self, path: Path) -> RunState | None:
        """Read what is known of f; raise at the file of another run."""
        if not self.settings.resume:
            return None
        header, arrays = read_run(path)
        check_same_settings(path, header, self._fingerprint(), "minimize_binary")
        check_arrays(path, arrays, {"points": ((None, len(self.x0)), "i"), "values": ((None,), "f")})
        points, values = arrays["points"], arrays["values"]
        if len(points) != len(values) or not np.isin(points, (-1, 1)).all():
            raise ValueError(f"{path} is damaged: its points are not those of a run.")
        kept = values != -np.inf  # a run ends at −∞: f has to say so itself, not a file that may be damaged
        self.archive.remember(points[kept], values[kept])
        return None

    def _fingerprint(self) -> dict[str, Any]:
        """Return what must be the same in a run that goes on from a file. Budget and target may change."""
        return {
            "n": len(self.x0),
            "interactions": self.pairs.tolist() if self.learning is None else "auto",
            "method": self.method,
            "seed": self.settings.seed,
            "population": self.population,
            "rate": self.rate,
        }


def _is_flat(view: StoppingView, state: RunState) -> bool:
    """Say whether the values are level, or for long there was no new point."""
    long = len(view.best) >= STALE and len(state.history) > STALE
    return view.level >= LEVEL or (long and state.history[-STALE - 1][0] == state.evaluations)


def spin_search(
    n: int, method: Any, pairs: NDArray[np.int64], population: int | None, rate: float | None
) -> IndependentSpins | MarkovSpins:
    """Return the search that a method and pairs ask for; raise where they do not go together."""
    if method not in UPDATES:
        raise ValueError(f"method is {method!r}: it must be one of {', '.join(map(repr, UPDATES))}.")
    if len(pairs) == 0:
        return IndependentSpins(n, method, population, rate)
    if method != "natural-gradient":
        raise ValueError(
            f"method is {method!r}, whose step is for independent spins: "
            f"leave interactions at 'none', or take 'natural-gradient'."
        )
    return MarkovSpins(n, pairs, population, rate)
