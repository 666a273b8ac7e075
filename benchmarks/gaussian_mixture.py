"""Seconds per iteration of EM for Gaussian mixtures: against scikit-learn's, and against bare matrix products."""

import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Theirs

from benchmarks._timing import Figure, Row, best_of, seconds
from kullback import GaussianMixture

PEER = f"scikit-learn {version('scikit-learn')}"
ROWS, COLUMNS, COMPONENTS = 200_000, 16, 10
BLOCK = 2_000

#: Threads of BLAS go on spinning for a while after their work is done: the other side waits until they sleep.
PAUSE = 0.05
#: A side is timed over as many iterations as fill this many seconds.
ENOUGH = 0.2
#: Columns and components of the grid; without `--full` some of them, at 10,000 rows.
GRID = tuple(product([2, 16, 64], [2, 10, 50]))
QUICK = ((2, 2), (2, 10), (16, 2), (16, 10), (64, 2), (64, 10))


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare at one size in both covariance types, with bare products, and over a grid of sizes."""
    rounds = 7 if full else 3
    yield _against_sklearn("full", ROWS, COLUMNS, COMPONENTS, 5.0, rounds)
    yield _against_sklearn("diag", ROWS, COLUMNS, COMPONENTS, 3.0, rounds)
    yield _against_products(rounds)
    yield from _grid(full, rounds)


def _grid(full: bool, rounds: int) -> Iterator[Row | Figure]:
    """Yield a line for each cell, then the geometric mean and the least ratio."""
    ratios = []
    for rows, (columns, components) in product([10**4, 10**6], GRID) if full else product([10**4], QUICK):
        cell = _against_sklearn("full", rows, columns, components, 1.0, rounds if rows < 10**6 else 2)
        assert cell.ratio is not None
        ratios.append(cell.ratio)
        yield cell
    yield Figure("full, geometric mean over the grid", f"times {PEER}", statistics.geometric_mean(ratios), 3.0, True)
    yield Figure("full, least ratio of the grid", f"times {PEER}", min(ratios), 1.0, True)


def _against_sklearn(kind: str, rows: int, columns: int, components: int, target: float, rounds: int) -> Row:
    X, start = problem(kind, rows, columns, components)

    def ours(iterations: int) -> Any:
        return GaussianMixture(components, covariance_type=kind, max_iter=iterations, tol=0, **start).fit(X)

    def theirs(iterations: int) -> Any:
        return Theirs(components, covariance_type=kind, max_iter=iterations, tol=0, **start).fit(X)

    np.testing.assert_allclose(quietly(ours, 1).means_, quietly(theirs, 1).means_, rtol=1e-6, atol=1e-6)
    mine, peer = ours_and_theirs(rounds, ours, theirs)
    what = f"EM iteration, {kind}, {rows:,} × {columns} × {components}"
    ratio = statistics.median(b / a for a, b in zip(mine, peer, strict=True))
    return Row(what, PEER, statistics.median(peer), statistics.median(mine), target, ratio)


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
    """Return seconds per iteration in each round: the difference of two fits, so that what comes before cancels."""
    many = []
    for fit in fits:
        quietly(fit, 1)
        many.append(1 + min(math.ceil(ENOUGH / max(_per_iteration(fit, 2), 1e-3)), 100))
    found: list[list[float]] = [[] for _ in fits]
    for _ in range(rounds):
        for fit, upto, times in zip(fits, many, found, strict=True):
            times.append(_per_iteration(fit, upto))
            time.sleep(PAUSE)
    return found


def _per_iteration(fit: Callable[[int], Any], upto: int) -> float:
    short, long = seconds(lambda: quietly(fit, 1)), seconds(lambda: quietly(fit, upto))
    return max(long - short, 1e-9) / (upto - 1)


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
