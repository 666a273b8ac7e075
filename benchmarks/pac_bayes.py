"""PAC-Bayes bounds of the error rate on Fashion-MNIST, classes 0 to 4 against 5 to 9, by a perceptron 784-100-1.

One bound has a prior that has learned from half of the rows and is of the other half; the other has a prior that has
seen none. Pixels are divided by 255. The error rate on test rows, answered by networks that are drawn for each row,
must lie below the bound. Seconds are those of learning and counting errors, with compiling.
"""

import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from benchmarks._timing import Figure
from kullback.assess import PacBayesBound, pac_bayes_bound

FOLDER = Path("/usr/share/datasets/fashion-mnist")
DELTA = 0.035


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes of "train" or "t10k"."""
    with gzip.open(FOLDER / f"{name}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(FOLDER / f"{name}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / 255, (labels >= 5).astype(np.int32)


def figures(what: str, X: Any, y: Any, most: float, **settings: Any) -> Iterator[Figure]:
    """Yield a bound, what the test error leaves of it, and the seconds."""
    network = eqx.nn.MLP(784, 1, 100, 1, key=jax.random.key(0))
    began = time.perf_counter()
    found: PacBayesBound = pac_bayes_bound(network, X, y, delta=DELTA, **settings)
    seconds = time.perf_counter() - began
    told = f"errors {found.error:.4f}, KL {found.relative_entropy:.0f}, Pinsker {found.pinsker:.4f}"
    yield Figure(f"PAC-Bayes, {what}: {told}", "bound of the error rate", found.bound, most)
    yield Figure(
        f"PAC-Bayes, {what}: error rate on test rows", "of the bound", found.error_rate(*read("t10k")) / found.bound, 1
    )
    yield Figure(f"PAC-Bayes, {what}: {found.n:,} rows", "seconds", seconds, 180)


def run(full: bool = False) -> Iterator[Figure]:
    """Bound with a prior from half of the rows, and without."""
    if not FOLDER.is_dir():
        print("without Fashion-MNIST: apt-get install dataset-fashion-mnist")
        return
    X, y = read("train")
    half = len(X) // 2
    yield from figures("prior from half", X[half:], y[half:], 0.085, prior_rows=(X[:half], y[:half]))
    yield from figures("prior without rows", X, y, 0.18, prior_scale=0.1, learning_rate=5e-3)
