"""Four machines with a quarter of the data each: what the combination of their models is worth."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from benchmarks._timing import Figure
from benchmarks.gaussian_mixture import quietly
from benchmarks.online import from_mixture
from kullback import GaussianMixture, combine

ROWS, COLUMNS, COMPONENTS, MACHINES = 20_000, 4, 6, 4
DEMANDS = (
    "not below the best input by more than 0.02",
    "not below averaged parameters by more than 1e-4",
    "more than 1 nat above no alignment",
)


def run(full: bool = False) -> Iterator[Figure]:
    """Count in how many seeds the combination is good: from a common start, and from a start of each machine's own."""
    seeds = 10 if full else 3
    most = int(np.ceil(0.9 * seeds))
    apart, counts = [], np.zeros(3, int)
    for seed in range(seeds):
        X = from_mixture(np.random.default_rng(seed), ROWS, COLUMNS, COMPONENTS)
        shards = np.array_split(X, MACHINES)
        apart.append(_common_start(X, shards, seed))
        counts += _own_starts(X, shards, seed)
    what = f"four machines, common start: below the fit of everything, worst of {seeds}"
    yield Figure(what, "nats per point", max(apart), 0.02)
    for name, count in zip(DEMANDS, counts, strict=True):
        yield Figure(f"own starts: {name}", f"of {seeds} seeds", count, most, True)


def _common_start(X: np.ndarray, shards: list[np.ndarray], seed: int) -> float:
    """Return how much less likely the combination makes the data than the fit of all of it."""
    start = GaussianMixture(COMPONENTS, random_state=seed, max_iter=0).fit(X[:1000])
    given = {f"{name}_init": getattr(start, f"{name}_") for name in ("weights", "means", "precisions")}

    def fit(data: np.ndarray) -> Any:
        return quietly(GaussianMixture(COMPONENTS, max_iter=200, tol=1e-6, **given).fit, data)

    return fit(X).score(X) - combine([fit(shard) for shard in shards]).score(X)


def _own_starts(X: np.ndarray, shards: list[np.ndarray], seed: int) -> np.ndarray:
    """Return which of the three demands hold."""
    fits = []
    for place, shard in enumerate(shards):
        own = {"init_params": "random_from_data", "random_state": MACHINES * seed + place}
        fits.append(quietly(GaussianMixture(COMPONENTS, max_iter=200, **own).fit, shard))
    together = combine(fits).score(X)
    best = max(fit.score(X) for fit in fits)
    return np.array(
        [
            together >= best - 0.02,
            together >= _averaged(fits).score(X) - 1e-4,
            together > combine(fits, align=False).score(X) + 1,
        ]
    )


def _averaged(fits: list[Any]) -> Any:
    """Return the mixture with the plain averages of the parameters, its components lined up with the first."""
    with jax.enable_x64(True):
        models = [fit.to_model() for fit in fits]
        lined_up = [model.aligned_to(models[0]) for model in models]
        mean = jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *lined_up)
    return GaussianMixture.from_model(mean)
