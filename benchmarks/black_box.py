"""Black boxes: the 24 noiseless functions of BBOB, and Rosenbrock's, against pycma.

Of each run all runtimes are kept: after how many evaluations the best value was within 10² … 10⁻⁸ of the optimum, at
51 precisions. Their distribution, over log₁₀(evaluations / dimension), is the curve that is compared, by the area under
it.
"""

import statistics
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._timing import Figure, Row, clock
from kullback import minimize
from kullback.plots import panels, save

TARGETS = np.logspace(2, -8, 51)
BUDGET = 2_000
FUNCTIONS = tuple(range(1, 25))
PICTURE = Path("build/benchmarks/black_box")


class Recorder:
    """f of a batch or a point, and the evaluations at which each target was first reached."""

    def __init__(self, function: int, instance: int, dimension: int):
        from cma import bbobbenchmarks

        self._f, self._least = bbobbenchmarks.instantiate(function, instance)
        self._f(np.zeros(dimension))  # makes its rotation, from its own random numbers
        self._dimension = dimension
        self.count = 0
        self.runtimes = np.full(len(TARGETS), np.inf)

    def __call__(self, x: Any) -> Any:
        """Return the values, and keep the runtimes."""
        values = np.asarray(self._f(x), dtype=float)
        for excess in np.atleast_1d(values) - self._least:
            self.count += 1
            if self.count <= BUDGET * self._dimension:
                reached = (excess <= TARGETS) & np.isinf(self.runtimes)
                if reached.any():
                    self.runtimes[reached] = self.count
        return values if values.ndim else float(values)

    @property
    def last_target(self) -> float:
        """The value within the last precision of the optimum."""
        return float(self._least + TARGETS[-1])


def ours(f: Recorder, start: np.ndarray, seed: int) -> None:
    """With the method and the restarts that are the default."""
    minimize(f, start, 2.0, budget=BUDGET * len(start), target=f.last_target, seed=seed, vectorized=True)


def theirs(f: Recorder, start: np.ndarray, seed: int) -> None:
    """With restarts that begin anywhere, as the documentation of pycma recommends."""
    import cma

    rng = np.random.default_rng([seed, 7])
    options = {
        "maxfevals": BUDGET * len(start),
        "ftarget": f.last_target,
        "seed": seed + 1,
        "verbose": -9,
        "verb_log": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about flat values and large conditions, which some of the functions have
        cma.fmin2(
            None,
            lambda: rng.uniform(-4, 4, len(start)) if f.count else start,
            2.0,
            options,
            restarts=9,
            parallel_objective=lambda points: f(np.asarray(points)).tolist(),
        )


def runtimes(side: Any, dimensions: tuple[int, ...], instances: tuple[int, ...], seed: int) -> np.ndarray:
    """Return evaluations over dimension, [functions, dimensions, instances, targets]."""
    found = np.full((len(FUNCTIONS), len(dimensions), len(instances), len(TARGETS)), np.inf)
    for place in np.ndindex(found.shape[:-1]):
        function, dimension, instance = FUNCTIONS[place[0]], dimensions[place[1]], instances[place[2]]
        start = np.random.default_rng([seed, function, dimension, instance]).uniform(-4, 4, dimension)
        recorder = Recorder(function, instance, dimension)
        side(recorder, start, seed)
        found[place] = recorder.runtimes / dimension
    return found


def area(found: np.ndarray) -> float:
    """Return the area under the distribution of log₁₀(evaluations / dimension), as a share of what it could be."""
    return float(np.mean(1 - np.clip(np.log10(found) / np.log10(BUDGET), 0, 1)))


def _error(pairs: list[Any]) -> float:
    """Return the standard error of the ratio of areas, from how it differs between problems."""
    mine, other = (
        np.array([area(one) for found in side for one in found.reshape(-1, len(TARGETS))])
        for side in zip(*pairs, strict=True)
    )
    off = mine / other.mean() - other * (mine.mean() / other.mean() ** 2)
    return float(np.std(off) / np.sqrt(len(off)))


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare areas, and how fast Rosenbrock's function is minimized."""
    dimensions, instances = ((2, 5, 10), (1, 2, 3)) if full else ((2, 5), (1,))
    seeds = 3 if full else 1
    pairs = [tuple(runtimes(side, dimensions, instances, seed) for side in (ours, theirs)) for seed in range(seeds)]
    _report(dimensions, pairs)
    ratio = statistics.median(area(a) / area(b) for a, b in pairs)
    where = ", ".join(map(str, dimensions))
    what = f"24 functions of BBOB, dimensions {where}, {seeds} seed{'s' * full}: area (± {_error(pairs):.2f})"
    yield Figure(what, "of that of pycma with restarts", ratio, 0.97, at_least=True)
    yield from _rosenbrock(15 if full else 5)


def _report(dimensions: tuple[int, ...], pairs: list[Any]) -> None:
    """Write areas for each function and dimension, all runtimes, and the curves."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    mine, other = (np.stack(side) for side in zip(*pairs, strict=True))
    np.savez(PICTURE.with_suffix(".npz"), ours=mine, pycma=other, functions=FUNCTIONS, dimensions=dimensions)
    for row, function in enumerate(FUNCTIONS):
        cells = [
            f"{area(mine[:, row, column]):.3f} / {area(other[:, row, column]):.3f}" for column in range(len(dimensions))
        ]
        print(f"    F{function:<3} area, ours / pycma, in dimensions {dimensions}:  {'   '.join(cells)}")
    print(f"    curves: {_draw(mine, other, dimensions)}")


def _draw(mine: np.ndarray, other: np.ndarray, dimensions: tuple[int, ...]) -> Path:
    figure, axes = panels(columns=len(dimensions))
    for column, (dimension, ax) in enumerate(zip(dimensions, np.atleast_1d(axes), strict=True)):
        for found, name in ((mine, "kullback"), (other, "pycma")):
            ordered = np.sort(found[:, :, column].ravel())
            ordered = ordered[np.isfinite(ordered)]
            share = np.arange(1, len(ordered) + 1) / found[:, :, column].size
            ax.step(ordered, share, where="post", label=name)
        ax.set(xscale="log", xlim=(0.5, BUDGET), ylim=(0, 1), title=f"{dimension} dimensions")
        ax.set(xlabel="evaluations / dimension", ylabel="share of targets reached")
        ax.legend()
    return save(figure, PICTURE)[0]


def _rosenbrock(seeds: int) -> Iterator[Row | Figure]:
    def f(x: np.ndarray) -> float:
        return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))

    import cma

    counts, times, peer = [], [], []
    for seed in range(seeds + 1):
        begin = clock()
        result = minimize(f, np.zeros(10), 0.3, budget=100_000, target=1e-12, seed=seed)
        middle = clock()
        options = {"ftarget": 1e-12, "seed": seed + 1, "verbose": -9, "verb_log": 0}
        evaluations = cma.fmin2(f, np.zeros(10), 0.3, options)[1].result.evaluations
        end = clock()
        if seed:  # the first one compiles
            counts.append(result.nfev)
            times.append((middle - begin) / result.nfev)
            peer.append((end - middle) / evaluations)
    what = f"Rosenbrock in 10 dimensions to 1e-12, median of {seeds} seeds"
    yield Figure(what, "evaluations", statistics.median(counts), 8_000)
    yield Row(
        "the same: one evaluation, all in", "pycma's fmin2", statistics.median(peer), statistics.median(times), 1.0
    )
