"""Networks on digits: natural gradient against a tuned Adam, epochs of Adam against scikit-learn's, compiling.

Both networks of a comparison have one hidden layer of 100, centered inputs, and one validation part. Adam is tuned
for each split by that part, over rates and decays; its CPU is that of its best run alone. With `--full` there are 10
splits and the whole grid of Adam.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from benchmarks._timing import Figure, Row
from kullback.core import Batch
from kullback.families import Categorical, DiagonalGaussian
from kullback.learning import (
    AllAtOnce,
    Epochs,
    Gradient,
    Minibatches,
    NaturalGradient,
    Optimizer,
    adam,
    adaptive_jit,
    begin,
    fit,
    negative_log_likelihood,
)
from kullback.models import Conditional, Network
from kullback.runtime import computing

RATES, DECAYS = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2), (0.0, 1e-2, 1e-1)
WIDTHS, BATCH_ROWS = (100,), 200


class Table(NamedTuple):
    """Inputs and targets, in 32 bits."""

    x: np.ndarray
    y: np.ndarray

    def batch(self, rows: Any) -> Batch:
        """Return some rows as a batch."""
        return Batch(self.y[rows], np.ones(len(self.y[rows]), np.float32), inputs=self.x[rows])


class Fitted(NamedTuple):
    """Log-likelihoods per row after a fit, CPU seconds and steps of it."""

    validation: float
    test: float
    seconds: float
    steps: int


def digits() -> Table:
    x, y = load_digits(return_X_y=True)
    return Table((x / 16).astype(np.float32), y.astype(np.float32))


def regression(rows: int) -> Table:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 20))
    y = np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.3 * rng.normal(size=(rows, 1))
    return Table(x.astype(np.float32), y.astype(np.float32))


@adaptive_jit
def _scores(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)


def _train(table: Table, learner: Any, data: Any, rule: Epochs, parts: Any, seed: int) -> Fitted:
    train, held, test = parts
    member: Any = Categorical.fit(table.y[train], categories=10)
    network = Network.start(member, table.x.shape[1], WIDTHS, seed=seed, center=table.x[train].mean(axis=0))
    model = Conditional(network, member.kind)
    held_rows, test_rows = table.batch(held), table.batch(test)

    def score(model: Any, rows: Batch) -> float:
        return float(np.mean(np.asarray(_scores(model, rows), np.float64)))

    start = time.process_time()
    place, _ = fit(
        learner, begin(learner, model, data, rule, seed), data, rule, validate=lambda model: score(model, held_rows)
    )
    seconds = time.process_time() - start
    return Fitted(score(place.found, held_rows), score(place.found, test_rows), seconds, place.step)


def _split(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order, part = np.random.default_rng(seed).permutation(rows), rows // 5
    return order[2 * part :], order[part : 2 * part], order[:part]


def _natural(table: Table, seed: int) -> Fitted:
    parts = _split(len(table.y), seed)
    return _train(table, NaturalGradient(), AllAtOnce(table.batch(parts[0])), Epochs(60, 8), parts, seed)


def _adam(table: Table, seed: int, rate: float, decay: float) -> Fitted:
    parts = _split(len(table.y), seed)
    train = parts[0]
    learner: Any = Gradient(negative_log_likelihood, Optimizer(adam, learning_rate=rate, weight_decay=decay))
    data = Minibatches(lambda rows: table.batch(train[rows]), len(train), BATCH_ROWS, seed)
    return _train(table, learner, data, Epochs(400, 15), parts, seed)


def compare_on_digits(splits: int, decays: tuple[float, ...]) -> Iterator[Figure]:
    """Yield what the two have on the test part of each split, and in the median."""
    table = digits()
    with computing(32):
        _natural(table, 0), _adam(table, 0, 1e-3, 0.0)  # to compile
        found = []
        for seed in range(splits):
            natural = _natural(table, seed)
            tuned = max((_adam(table, seed, rate, decay) for rate in RATES for decay in decays), key=lambda f: f[0])
            found.append((natural, tuned))
            what = f"digits, split {seed}: natural gradient, {natural.steps} steps, {natural.seconds:.2f} s of CPU"
            yield Figure(what, f"test NLL; Adam {tuned.steps}, {tuned.seconds:.2f} s", -natural.test, -tuned.test)
    ours, peers = (np.array([[-one.test, one.seconds] for one in side]) for side in zip(*found, strict=True))
    medians = np.median(ours, axis=0), np.median(peers, axis=0)
    yield Figure("digits, median: natural gradient; at most tuned Adam's", "test NLL", medians[0][0], medians[1][0])
    yield Figure("digits, median: natural gradient; at most tuned Adam's", "CPU seconds", medians[0][1], medians[1][1])


def _epochs(table: Table, member: Any, epochs: int) -> float:
    learner: Any = Gradient(negative_log_likelihood, Optimizer(learning_rate=1e-3))
    model = Conditional(Network.start(member, table.x.shape[1], WIDTHS), member.kind)
    data, rule = Minibatches(table.batch, len(table.y), BATCH_ROWS), Epochs(epochs)
    start = time.process_time()
    fit(learner, begin(learner, model, data, rule), data, rule)
    return (time.process_time() - start) / epochs


def _peer_epochs(peer: Any, table: Table, epochs: int) -> float:
    network = peer(hidden_layer_sizes=WIDTHS, max_iter=epochs, tol=0, n_iter_no_change=10 * epochs, random_state=0)
    x, y = table.x.astype(np.float64), table.y.ravel().astype(np.float64)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(x, y)
    return (time.process_time() - start) / epochs


def compare_epochs(rounds: int) -> Iterator[Row]:
    """Yield the CPU of an epoch of Adam, as a user has it: scikit-learn in 64 bits, ours in 32."""
    cases = (
        ("1,797 × 64, 10 classes", digits(), MLPClassifier, 40),
        ("20,000 × 20, Gaussian with its variance", regression(20_000), MLPRegressor, 5),
    )
    with computing(32):
        for what, table, peer, epochs in cases:
            member: Any = (
                Categorical.fit(table.y, categories=10) if table.y.ndim == 1 else DiagonalGaussian.fit(table.y)
            )
            _epochs(table, member, 1)
            both = [(_peer_epochs(peer, table, epochs), _epochs(table, member, epochs)) for _ in range(rounds)]
            theirs, ours = np.min(both, axis=0)
            yield Row(f"an epoch of Adam, {what}", peer.__name__, theirs, ours, 3.0)


_COLD = """
import time
from benchmarks.networks import *
from benchmarks.networks import _epochs
import jax, optax
from jax import monitoring
compiled = []
monitoring.register_event_duration_secs_listener(lambda name, seconds, **_: compiled.append((name, seconds)))
table = digits()
with computing(32):
    member = Categorical.fit(table.y, categories=10)
    model = Conditional(Network.start(member, 64, WIDTHS), member.kind)
    learner = {learner}
    data = {data}
    rule = Epochs(1)
    start = time.process_time()
    fit(learner, begin(learner, model, data, rule), data, rule)
    first = time.process_time() - start
    compiled.clear()
    model = Conditional(Network.start(member, 64, WIDTHS, seed=1), member.kind)
    fit(learner, begin(learner, model, data, rule, 7), data, rule)
    print(first, len(compiled))
"""


def measure_compiling() -> Iterator[Figure]:
    """Yield the CPU of a first fit of one epoch in a new process, and how much a second one compiles."""
    cases = {
        "Adam": (
            "Gradient(negative_log_likelihood, Optimizer(learning_rate=1e-3))",
            "Minibatches(table.batch, 1797, 200)",
        ),
        "natural gradient": ("NaturalGradient()", "AllAtOnce(table.batch(slice(None)))"),
    }
    for name, (learner, data) in cases.items():
        script = _COLD.format(learner=learner, data=data)
        words = [sys.executable, "-c", script]
        runs = [subprocess.run(words, check=True, capture_output=True, text=True).stdout.split() for _ in range(2)]
        yield Figure(f"{name}: first fit of digits, compiling", "CPU seconds", min(float(run[0]) for run in runs), 1.0)
        yield Figure(f"{name}: traced and compiled by a second fit", "functions", max(int(run[1]) for run in runs), 0)


def run(full: bool) -> Iterator[Row | Figure]:
    yield from compare_epochs(5 if full else 3)
    yield from measure_compiling()
    yield from compare_on_digits(10 if full else 2, DECAYS if full else DECAYS[:1])
