"""Restricted Boltzmann machines on Fashion-MNIST: epochs against scikit-learn, PyTorch and bare products; likelihoods.

All of it in one thread, by time of the processor. Images are those of Debian's `dataset-fashion-mnist`, 1 above 127;
without it, and without PyTorch, lines are left out with a message. With `--full` machines are trained for 1,600 steps
of 100 rows, and scored by annealed importance sampling.
"""

import gzip
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import BernoulliRBM as Theirs

from benchmarks._timing import Figure, Row
from kullback import BernoulliRBM
from kullback.core import Batch
from kullback.learning import AveragedIterates, ContrastiveDivergence, Epochs, Minibatches, begin, fit
from kullback.models import RestrictedBoltzmannMachine
from kullback.runtime import computing

WHERE = Path("/usr/share/datasets/fashion-mnist")
HIDDEN, ROUNDS = 256, 6
QUALITY_STEPS, SEEDS = 1600, 5


def images(name: str, count: int | None = None) -> np.ndarray:
    """Return binary images, a row for each."""
    raw = np.frombuffer(gzip.decompress((WHERE / f"{name}-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    return (raw.reshape(-1, 784)[:count] > 127).astype(np.float32)


def cpu(function: Callable[[], Any]) -> float:
    """Return the processor's time of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def in_turn(*functions: Callable[[], Any]) -> list[float]:
    """Return the least time of each function, each called once before."""
    for function in functions:
        function()
    best = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        best = [min(old, cpu(function)) for old, function in zip(best, functions, strict=True)]
    return best


class Ours:
    """Epochs of a machine through the loop that all learning goes through."""

    def __init__(self, X: np.ndarray, rows: int, **numbers: Any):
        self._data = Minibatches(lambda places: Batch(X[places]), len(X), rows, 0)
        self._learner = AveragedIterates(ContrastiveDivergence(**{"chains": rows, **numbers}))
        self._rule = Epochs(1)
        with computing(32):
            model = RestrictedBoltzmannMachine.start(X.mean(axis=0), HIDDEN, 0, dtype=np.float32)
            self._place = begin(self._learner, model, self._data, self._rule)

    def __call__(self) -> None:
        """Train for an epoch."""
        with computing(32):
            fit(self._learner, self._place, self._data, self._rule)


def bare_products(X: np.ndarray, rows: int) -> Callable[[], None]:
    """Return a function that computes the five products of every step, in 32 bits, and nothing else."""
    W = np.random.default_rng(0).normal(size=(784, HIDDEN)).astype(np.float32)
    h = np.random.default_rng(1).random((rows, HIDDEN)).astype(np.float32)

    def run() -> None:
        for first in range(0, len(X) - rows + 1, rows):
            v = X[first : first + rows]
            v @ W, h @ W.T, v @ W, v.T @ h, v.T @ h

    return run


def torch_loop(X: np.ndarray, rows: int) -> Callable[[], None] | None:
    """Return an epoch of persistent contrastive divergence as one writes it in PyTorch; None where it is not there."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    torch.set_num_threads(1)
    data = torch.from_numpy(X)
    W = 0.01 * torch.randn(784, HIDDEN)
    b, c, h = torch.zeros(784), torch.zeros(HIDDEN), torch.bernoulli(torch.full((rows, HIDDEN), 0.5))

    def run() -> None:
        nonlocal W, b, c, h
        with torch.no_grad():
            for batch in data[torch.randperm(len(data))].split(rows):
                up = torch.sigmoid(batch @ W + c)
                v = torch.bernoulli(torch.sigmoid(h @ W.T + b))
                down = torch.sigmoid(v @ W + c)
                h = torch.bernoulli(down)
                W = W + 0.1 * (batch.T @ up / len(batch) - v.T @ down / rows)
                b = b + 0.1 * (batch.mean(0) - v.mean(0))
                c = c + 0.1 * (up.mean(0) - down.mean(0))

    run.weights = lambda: [part.numpy() for part in (W, b, c)]  # type: ignore[attr-defined]
    return run


def scikit_learn(X: np.ndarray, rows: int) -> Callable[[], Any]:
    """Return an epoch of scikit-learn's class, in 64 bits as it computes by default."""
    wide = X.astype(np.float64)
    return lambda: Theirs(HIDDEN, learning_rate=0.1, batch_size=rows, n_iter=1, random_state=0).fit(wide)


def speed(rows: int, count: int, targets: tuple[float, float, float, float]) -> Iterator[Row]:
    """Compare epochs of so many rows, in batches of so many."""
    X = images("train", count)
    plain, centered = Ours(X, rows, centered=False), Ours(X, rows)
    functions: list[Callable[[], Any]] = [plain, centered, scikit_learn(X, rows), bare_products(X, rows)]
    torch = torch_loop(X, rows)
    if torch is None:
        print("(torch is not installed: its lines are left out)", file=sys.stderr)
    times = in_turn(*functions, *([torch] if torch else []))
    ours, ours_centered, theirs, products = times[:4]
    what = f"RBM 784 × {HIDDEN}, {count:,} rows in batches of {rows}"
    yield Row(f"{what}, plain PCD", "scikit-learn, 64 bits", theirs, ours, targets[0])
    yield Row(f"{what}, centered PCD", "scikit-learn, 64 bits", theirs, ours_centered, targets[1])
    yield Row(f"{what}, plain PCD", "bare products", products, ours, targets[2])
    yield Row(f"{what}, centered PCD", "bare products", products, ours_centered, targets[3])
    if torch:
        yield Row(f"{what}, plain PCD", "PyTorch loop", times[4], ours, 1.3 if rows == 100 else 1.0)


def _annealed(weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray, X: np.ndarray) -> tuple[float, float]:
    """Return the mean log-probability of rows, and the spread of the log weights behind it."""
    with computing(32):
        machine = RestrictedBoltzmannMachine(*(np.asarray(part, np.float32) for part in (weights, visible, hidden)))
        found = jax.jit(lambda model, key: model.anneal_log_partition(key, 100, 1000))(machine, jax.random.key(0))
        free = float(np.mean(np.asarray(machine.energy(X), np.float64)))
    return -free - float(found.value), float(found.spread)


def quality() -> Iterator[Figure]:
    """Train for 1,600 steps of 100 rows, and score held-out images."""
    X, test = images("train", 40_000), images("t10k")
    epochs = QUALITY_STEPS * 100 // len(X)

    def ours(seed: int) -> BernoulliRBM:
        return BernoulliRBM(HIDDEN, n_iter=epochs, random_state=seed).fit(X)

    def score_of(machine: BernoulliRBM) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return float(machine.score(test))

    machines = [ours(seed) for seed in range(SEEDS)]
    start = time.process_time()
    ours(0)  # compiled by now
    seconds = time.process_time() - start
    scores = sorted(map(score_of, machines))
    what = f"RBM, {QUALITY_STEPS} steps of 100 rows, test images:"
    among = f"median of {SEEDS} seeds, {scores[0]:.1f} to {scores[-1]:.1f}"
    yield Figure(f"{what} ours, {among}", "nats, by annealing", float(np.median(scores)), -140, at_least=True)
    yield Figure(f"{what} ours", "CPU s", seconds, np.inf)
    theirs = Theirs(HIDDEN, learning_rate=0.1, batch_size=100, n_iter=epochs, random_state=0)
    seconds = cpu(lambda: theirs.fit(X.astype(np.float64)))
    parts = theirs.components_.T, theirs.intercept_visible_, theirs.intercept_hidden_
    score, spread = _annealed(*parts, test)
    yield Figure(f"{what} scikit-learn (sd of log w {spread:.1f})", "nats, by annealing", score, -np.inf, at_least=True)
    yield Figure(f"{what} scikit-learn", "CPU s", seconds, np.inf)
    torch: Any = torch_loop(X, 100)
    if torch:
        seconds = cpu(lambda: [torch() for _ in range(epochs)])
        score, spread = _annealed(*torch.weights(), test)
        yield Figure(f"{what} PyTorch loop (sd of log w {spread:.1f})", "nats", score, -np.inf, at_least=True)
        yield Figure(f"{what} PyTorch loop", "CPU s", seconds, np.inf)


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Return the lines of the table."""
    if not WHERE.is_dir():
        print("(dataset-fashion-mnist is not installed: Boltzmann machines are left out)", file=sys.stderr)
        return
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        print("(set OPENBLAS_NUM_THREADS=1 and one core, so that all have one thread)", file=sys.stderr)
    yield from speed(100, 20_000, (2.5, 2.0, 0.75, 0.6))
    yield from speed(10, 4000, (5.0, 4.0, 0.75, 0.6))
    if full:
        yield from quality()
