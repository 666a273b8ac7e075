"""What a minimization was asked to do, after it was checked."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kullback.search._bounds import Box
from kullback.search._method import Method
from kullback.search._restarts import Plan


class Settings(NamedTuple):
    """All but f itself. `box` are the bounds; `hull` is the box of the free coordinates, wider where they are whole."""

    x0: NDArray[np.float64]
    scale: NDArray[np.float64]
    box: Box | None
    hull: Box | None
    whole: NDArray[np.bool_]
    search: Method
    guesses: NDArray[np.float64] | None
    budget: int
    target: float
    seed: int
    noisy: bool
    restarts: str
    most_restarts: float
    tolerance: float

    def seen(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what f sees of free points: folded into the bounds, and rounded where they are whole."""
        x = points if self.hull is None else self.hull.fold(points)
        if self.whole.any():
            x = np.where(self.whole, np.rint(x), x)
            if self.box is not None:
                x = np.clip(x, np.where(self.whole, np.ceil(self.box.lower), self.box.lower), self.box.upper)
                x = np.where(self.whole, np.minimum(x, np.floor(self.box.upper)), x)
        return x

    def freed(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return free points that f sees as these."""
        return points if self.hull is None else self.hull.unfold(points)

    def search_of(self, plan: Plan, run: int) -> Method:
        """Return the search of a run: the first begins at x0, others around it, or anywhere in a box that is closed."""
        start, rng = self.x0, np.random.default_rng([self.seed, run])
        if run and self.box is not None and self.box.closed:
            start = rng.uniform(self.box.lower, self.box.upper)
        free = self.freed(start)
        if run and (self.box is None or not self.box.closed):
            free = free + self.scale * rng.standard_normal(len(free))
        return dataclasses.replace(self.search, mean=free, scale=self.scale * plan.shrink, population=plan.population)

    def fingerprint(self) -> dict[str, Any]:
        """Return what must be the same in a run that goes on from a file. Budget and target may change."""
        fields = dataclasses.fields(self.search)
        options = {f.name: getattr(self.search, f.name) for f in fields if f.name not in ("mean", "scale")}
        return {
            "x0": self.x0.tolist(),
            "sigma0": self.scale.tolist(),
            "bounds": None if self.box is None else [str(self.box.lower.tolist()), str(self.box.upper.tolist())],
            "integers": np.flatnonzero(self.whole).tolist(),
            "method": f"{type(self.search).__name__}({', '.join(f'{k}={v!r}' for k, v in options.items())})",
            "guesses": None if self.guesses is None else self.guesses.tolist(),
            "seed": self.seed,
            "noisy": self.noisy,
            "restarts": self.restarts,
            "tolerance": self.tolerance,
        }
