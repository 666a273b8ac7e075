"""Time of an iteration of EM for Gaussian mixtures: against scikit-learn's, and against bare matrix products.

The named grid has both clocks: what passes on the wall, and what all threads of the process use together. Ratios are
medians over rounds (7 with `--full`, 3 without), in each of which the two sides take turns; both have all threads.
"""

import math
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Theirs

from benchmarks._timing import BUSY, Figure, Row, best_of
from kullback import GaussianMixture

PEER = f"scikit-learn {version('scikit-learn')}"
ROWS, COLUMNS, COMPONENTS = 200_000, 16, 10
BLOCK = 2_000

#: Threads of BLAS go on spinning for a while after their work is done: the other side waits until they sleep.
PAUSE = 0.05
#: A side is timed over as many iterations as fill this many seconds, and at most so many.
ENOUGH, MOST = 0.2, 300
#: Rows, columns and components of the grid that has targets: twice scikit-learn in every cell, four times on average.
NAMED = (*product([10_000], [2, 16, 64], [2, 10]), (200_000, 16, 10), (20_000, 64, 10))
#: What else `--full` looks at.
MORE = (*product([10_000], [2, 16, 64], [50]), *product([1_000_000], [2, 16, 64], [2, 10, 50]))


class Times(NamedTuple):
    """Seconds of the clock, and of the processor in all threads."""

    wall: float
    cpu: float


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare over the named grid, in another covariance type, and with bare products."""
    rounds = 7 if full else 3
    yield from _grid(rounds)
    yield _row("diag", (ROWS, COLUMNS, COMPONENTS), 3.0, _against_sklearn("diag", ROWS, COLUMNS, COMPONENTS, rounds))
    yield _against_products(rounds)
    if full:
        for cell in MORE:
            yield _row("full", cell, 1.0, _against_sklearn("full", *cell, rounds if cell[0] < 10**6 else 2))


def _grid(rounds: int) -> Iterator[Row | Figure]:
    """Yield two lines for each cell, then the least ratio and the geometric mean by both clocks."""
    ratios: dict[str, list[float]] = {clock: [] for clock in Times._fields}
    for cell in NAMED:
        found = _against_sklearn("full", *cell, rounds)
        for clock in Times._fields:
            row = _row("full", cell, 2.0, found, clock)
            assert row.ratio is not None
            ratios[clock].append(row.ratio)
            yield row
    for clock, several in ratios.items():
        yield Figure(f"named grid, least ratio, {clock}", f"times {PEER}", min(several), 2.0, True)
        yield Figure(
            f"named grid, geometric mean, {clock}", f"times {PEER}", statistics.geometric_mean(several), 4.0, True
        )


def _row(kind: str, cell: tuple[int, int, int], target: float, found: list[list[Times]], clock: str = "wall") -> Row:
    mine, peer = ([getattr(times, clock) for times in side] for side in found)
    what = f"EM iteration, {kind}, {cell[0]:,} × {cell[1]} × {cell[2]}, {clock}"
    ratio = statistics.median(b / a for a, b in zip(mine, peer, strict=True))
    return Row(what, PEER, statistics.median(peer), statistics.median(mine), target, ratio)


def _against_sklearn(kind: str, rows: int, columns: int, components: int, rounds: int) -> list[list[Times]]:
    """Return the times of our iterations and of theirs, round by round."""
    X, start = problem(kind, rows, columns, components)

    def ours(iterations: int) -> Any:
        return GaussianMixture(components, covariance_type=kind, max_iter=iterations, tol=0, **start).fit(X)

    def theirs(iterations: int) -> Any:
        return Theirs(components, covariance_type=kind, max_iter=iterations, tol=0, **start).fit(X)

    np.testing.assert_allclose(quietly(ours, 1).means_, quietly(theirs, 1).means_, rtol=1e-6, atol=1e-6)
    return iteration_times(rounds, ours, theirs)


def problem(kind: str, rows: int, columns: int, components: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return points from a mixture, and a start for both sides."""
    rng = np.random.default_rng(rows + columns + components)
    centers = rng.normal(0, 2, (components, columns))
    X = rng.normal(size=(rows, columns))
    X += centers[rng.integers(components, size=rows)]
    precisions = {"full": np.tile(np.eye(columns) / 2, (components, 1, 1)), "diag": np.full(centers.shape, 0.5)}
    start = {
        "weights_init": np.full(components, 1 / components),
        "means_init": centers + rng.normal(size=centers.shape),
        "precisions_init": precisions[kind],
    }
    return X, start


def ours_and_theirs(rounds: int, *fits: Callable[[int], Any]) -> list[list[float]]:
    """Return seconds per iteration in each round, by the clock that is asked for."""
    clock = "cpu" if BUSY in os.environ else "wall"
    return [[getattr(times, clock) for times in side] for side in iteration_times(rounds, *fits)]


def iteration_times(rounds: int, *fits: Callable[[int], Any]) -> list[list[Times]]:
    """Return the times of an iteration in each round: the difference of two fits, so that what comes before cancels."""
    many = []
    for fit in fits:
        quietly(fit, 1)
        many.append(1 + min(math.ceil(ENOUGH / max(_per_iteration(fit, 3).wall, 1e-4)), MOST))
    found: list[list[Times]] = [[] for _ in fits]
    for _ in range(rounds):
        for fit, upto, times in zip(fits, many, found, strict=True):
            times.append(_per_iteration(fit, upto))
            time.sleep(PAUSE)
    return found


def _per_iteration(fit: Callable[[int], Any], upto: int) -> Times:
    short, long = _times(fit, 1), _times(fit, upto)
    return Times(*(max(b - a, 1e-9) / (upto - 1) for a, b in zip(short, long, strict=True)))


def _times(fit: Callable[[int], Any], iterations: int) -> Times:
    wall, cpu = time.perf_counter(), time.process_time()
    quietly(fit, iterations)
    return Times(time.perf_counter() - wall, time.process_time() - cpu)


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Call without a word about fits that were not meant to converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*args)


def _against_products(rounds: int) -> Row:
    """Compare with what cannot be left out: features times parameters, and responsibilities times features."""
    X, start = problem("full", ROWS, COLUMNS, COMPONENTS)

    def ours(iterations: int) -> Any:
        return GaussianMixture(COMPONENTS, max_iter=iterations, tol=0, **start).fit(X)

    with jax.enable_x64(True):
        i, j = np.triu_indices(COLUMNS)
        blocks = X.reshape(-1, BLOCK, COLUMNS)
        features = jnp.asarray(
            np.concatenate([np.ones((*blocks.shape[:2], 1)), blocks, blocks[..., i] * blocks[..., j]], -1)
        )
        theta = jnp.asarray(np.random.default_rng(0).normal(size=(features.shape[-1], COMPONENTS)))

        @jax.jit
        def products(features: Any, theta: Any) -> Any:
            def one(total: Any, block: Any) -> Any:
                return total + (block @ theta).T @ block, None

            return jax.lax.scan(one, jnp.zeros(theta.T.shape), features)[0]

        ratios, pairs = [], []
        for _ in range(rounds):
            (mine,) = ours_and_theirs(1, ours)
            (bare,) = best_of(3, lambda: products(features, theta))
            pairs.append((bare, mine[0]))
            ratios.append(bare / mine[0])
    what = f"EM iteration, full, {ROWS:,} × {COLUMNS} × {COMPONENTS}"
    bare, mine = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Row(what, "two bare products in JAX", bare, mine, 0.4, statistics.median(ratios))
