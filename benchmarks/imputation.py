"""Missing entries: how near means of a mixture come to the truth, and what they cost, against scikit-learn's imputer.

CPU seconds of fit and imputation are measured in fresh processes on one core, so that both sides have one thread: the
first time, with all that is compiled, and again.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (it makes the next import work)
from sklearn.impute import IterativeImputer

from benchmarks._timing import Figure, Row
from benchmarks.gaussian_mixture import PEER, quietly
from kullback import GaussianMixture, Imputer

#: The share of entries that are missing.
SHARE = 0.15

SCRIPT = """
import json, os, sys, time, warnings
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
from benchmarks.imputation import IMPUTERS, masked
warnings.simplefilter("ignore")
_, X, _ = masked("breast cancer", 0)
imputer = IMPUTERS[sys.argv[1]]
times = []
for _ in range(int(sys.argv[2])):
    start = time.process_time()
    imputer().fit_transform(X)
    times.append(time.process_time() - start)
print(json.dumps([times[0], min(times[1:])]))
"""

IMPUTERS: dict[str, Callable[[], Any]] = {
    "peer": lambda: IterativeImputer(random_state=0),
    "1": lambda: Imputer(GaussianMixture(1, random_state=0)),
    "3": lambda: Imputer(GaussianMixture(3, random_state=0)),
}


def masked(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a standardized table, the same with missing entries, and which they are."""
    table = {"wine": load_wine, "breast cancer": load_breast_cancer}[name]().data
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    missing = np.random.default_rng(seed).random(table.shape) < SHARE
    return table, np.where(missing, np.nan, table), missing


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare errors on three masks of two tables, and CPU seconds on the wider one."""
    for name in ("wine", "breast cancer"):
        errors = {kind: _errors(name, imputer) for kind, imputer in IMPUTERS.items()}
        for seed, (ours, theirs) in enumerate(zip(errors["1"], errors["peer"], strict=True)):
            what = f"{name}, mask {seed}, error of means: {ours:.3f}, of IterativeImputer {theirs:.3f}"
            yield Figure(what, "of the peer's", ours / theirs, 1.005)
        three = np.mean(errors["3"]) / np.mean(errors["peer"])
        yield Figure(f"{name}, error of means of 3 components, all masks", "of the peer's", float(three), 1.2)
    yield from _speed(5 if full else 3)


def _errors(name: str, imputer: Callable[[], Any]) -> list[float]:
    """Return the root mean square error of each mask."""
    found = []
    for seed in range(3):
        table, lacking, missing = masked(name, seed)
        filled = quietly(imputer().fit_transform, lacking)
        found.append(float(np.sqrt(np.mean((filled - table)[missing] ** 2))))
    return found


def _speed(rounds: int) -> Iterator[Row]:
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in IMPUTERS}
    for _ in range(rounds):
        for kind, found in times.items():
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT, kind, "2" if kind == "peer" else "3"],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "NPROC": "1"},
            )
            cold, warm = json.loads(done.stdout)
            found.append((cold, warm))
    for components in ("1", "3"):
        for place, when in enumerate(("cold", "warm")):
            theirs, ours = (statistics.median(pair[place] for pair in times[kind]) for kind in ("peer", components))
            what = f"CPU of fit and imputation, 569 × 30 × {components}, {SHARE:.0%} missing, {when}"
            yield Row(what, f"IterativeImputer of {PEER}", theirs, ours, 1.0)
