"""Helmholtz machines on Fashion-MNIST: natural reweighted wake-sleep against Adam's, and Adam's against pyro's.

Images of Debian's package `dataset-fashion-mnist`, where a pixel above 127 is 1; layers of 784, 200, 100 and 50 units,
32 rows a step. Learned from are the first 50,000 images of the training set; settings are chosen on rows after those,
and what is reported is of the first 1,000 images of the test set: −log p(v) in nats by 100 draws of what is hidden,
which is an upper bound on average. All runs in one process of one thread, and times are of its processor; what is
compiled is compiled before, and models are looked at outside of the clock. The time of a fit begins with its start, so
the one large inverse of the natural step counts. The natural steps are those of the estimator: averaged. Without
`--full` only the times of steps are measured.
"""

import gzip
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks._timing import Figure, Row
from kullback.core import Batch
from kullback.learning import (
    AveragedIterates,
    Epochs,
    Gradient,
    Learner,
    Minibatches,
    NaturalWakeSleep,
    Optimizer,
    ReweightedWakeSleep,
    begin,
    decaying_adam,
    fit,
)
from kullback.models import HelmholtzMachine
from kullback.runtime import computing, jit

FOLDER = Path("/usr/share/datasets/fashion-mnist")
HIDDEN, BATCH_ROWS = (200, 100, 50), 32
LEARNED, CHOSEN_ON, TESTED, DRAWS = 50_000, 500, 1_000, 100
#: Models are kept every so many steps.
EVERY = 20
#: The best of many that were tried: a learning rate, and its decay (1 + t / delay)^−power.
ADAMS: dict[str, dict[str, float]] = {
    "1e-2": {"learning_rate": 1e-2, "delay": 1e9, "power": 0.7, "b2": 0.999},
    "2e-2(1+t/400)^-.7, b2 .99": {"learning_rate": 2e-2, "delay": 400, "power": 0.7, "b2": 0.99},
    "3e-2(1+t/100)^-.7": {"learning_rate": 3e-2, "delay": 100, "power": 0.7, "b2": 0.999},
}
#: Limits of the length of a step among which the one of the natural step was chosen, in nats.
RADII = (4.0, 8.0, 16.0, np.inf)
RATES, DAMPINGS, SEEDS = (0.1, 0.2, 0.3), (0.2, 0.3, 0.4), (0, 1, 2)
ONE_THREAD = {"NPROC": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Images(NamedTuple):
    """Rows to learn from, as booleans, rows to choose settings on, and rows to report on."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    def batch(self, rows: np.ndarray) -> Batch:
        """Return some rows to learn from as a batch."""
        return Batch(self.train[rows].astype(np.float32), np.ones(len(rows), np.float32))

    def start(self, seed: int) -> HelmholtzMachine:
        """Return a machine that has learned nothing."""
        return HelmholtzMachine.start(self.train.mean(axis=0), HIDDEN, key=seed, dtype=np.float32)


def read_images() -> Images | None:
    """Return the images, or None where the package is absent."""
    if not FOLDER.is_dir():
        return None

    def read(name: str) -> np.ndarray:
        with gzip.open(FOLDER / f"{name}-images-idx3-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784) > 127

    train, test = read("train"), read("t10k")
    held = train[LEARNED : LEARNED + CHOSEN_ON]
    return Images(train[:LEARNED], held.astype(np.float32), test[:TESTED].astype(np.float32))


@jit
def _log_likelihoods(model: Any, v: Any, key: Any) -> Any:
    return model.estimate_log_likelihood(Batch(v), key, draws=DRAWS).value


def nll(model: Any, rows: np.ndarray) -> float:
    """Return −log p of rows on average, in nats, with the same key for all models."""
    return -float(np.mean(np.asarray(_log_likelihoods(model, rows, jax.random.key(99)), np.float64)))


class Kept(NamedTuple):
    """A model on the way: its step, and the seconds until then."""

    step: int
    seconds: float
    model: Any


def learn(images: Images, learner: Learner[Any, Any, Any, Any], seed: int, steps: int) -> list[Kept]:
    """Learn by so many steps, and return the models on the way."""
    data, rule = Minibatches(images.batch, LEARNED, BATCH_ROWS, seed), Epochs(1_000)
    kept: list[Kept] = []
    model = images.start(seed)
    began = time.process_time()

    def keep(place: Any) -> str | None:
        kept.append(Kept(place.step, time.process_time() - began, learner.result(place.model, place.state)))
        return "enough" if place.step >= steps else None

    fit(learner, begin(learner, model, data, rule, seed), data, rule, callback=keep, chunk=EVERY, seed=seed)
    return [one for one in kept if one.step <= steps]


class Run:
    """The models that a learner goes through, and their losses on test rows, of those that are asked for."""

    def __init__(self, images: Images, learner: Learner[Any, Any, Any, Any], seed: int, steps: int):
        self._rows, self.kept = images.test, learn(images, learner, seed, steps)
        self._losses: dict[int, float] = {}

    def at(self, steps: int) -> Kept:
        """Return the model after so many steps."""
        return self.kept[steps // EVERY - 1]

    def loss(self, steps: int) -> float:
        """Return the loss after so many steps."""
        if steps not in self._losses:
            self._losses[steps] = nll(self.at(steps).model, self._rows)
        return self._losses[steps]

    def way_to(self, target: float) -> tuple[float, float]:
        """Return the steps and the seconds to a loss: models on the way are bisected, and interpolated between."""
        low, high = 0, self.kept[-1].step
        if self.loss(high) > target:
            return np.inf, np.inf
        while high - low > EVERY:
            middle = (low + high) // 2 // EVERY * EVERY
            low, high = (low, middle) if self.loss(middle) <= target else (middle, high)
        if low == 0:
            return high, self.at(high).seconds
        part = (self.loss(low) - target) / (self.loss(low) - self.loss(high))
        before, after = self.at(low).seconds, self.at(high).seconds
        return low + part * (high - low), before + part * (after - before)


def adam(name: str, draws: int) -> Learner[Any, Any, Any, Any]:
    return Gradient(ReweightedWakeSleep(draws), Optimizer(decaying_adam, **ADAMS[name]))


def natural(rate: float = 0.3, draws: int = 5, **settings: Any) -> Learner[Any, Any, Any, Any]:
    return AveragedIterates(NaturalWakeSleep(rate, power=0.7, draws=draws, **settings))


# --- the comparisons ------------------------------------------------------------------------------------------


def compare_steps(images: Images, rounds: int) -> Iterator[Figure]:
    """Yield what a natural step costs, over one of Adam: the median of rounds that take turns."""
    best = "2e-2(1+t/400)^-.7, b2 .99"
    for draws, target in ((10, 1.35), (5, 1.5)):
        learners = adam(best, draws), natural(draws=draws)
        times = []
        for learner in learners:
            before = time.process_time()
            learn(images, learner, 0, EVERY)
            times.append(time.process_time() - before)
        yield Figure(f"first {EVERY} steps with compiling, K={draws}: Adam {times[0]:.1f} s", "natural, s", times[1], 9)
        both = [[_step_seconds(learn(images, learner, 0, 100)) for learner in learners] for _ in range(rounds)]
        ratio = statistics.median(ours / plain for plain, ours in both)
        plain, ours = np.median(both, axis=0) * 1e3
        what = f"a natural step over one of Adam, K={draws}: {ours:.2f} / {plain:.2f} ms"
        yield Figure(what, "of Adam's CPU", ratio, target)


def _step_seconds(kept: list[Kept]) -> float:
    """Return the time of a step, after the first that make their inverses anew each."""
    return (kept[-1].seconds - kept[0].seconds) / (kept[-1].step - kept[0].step)


def compare_learning(images: Images) -> Iterator[Figure]:
    """Yield the time to losses of Adam, then losses after given steps, then those of other settings; all with K=5."""
    learners = {fisher: natural(fisher=fisher) for fisher in ("data", "model")}
    for learner in (adam("1e-2", 5), *learners.values()):
        learn(images, learner, 0, EVERY)  # to compile
    plain: dict[str, list[Run]] = {name: [] for name in ADAMS}
    ours: dict[str, list[Run]] = {fisher: [] for fisher in learners}
    for seed in SEEDS:  # in turn: other work on the machine slows all of them
        for name, runs in plain.items():
            runs.append(Run(images, adam(name, 5), seed, 1_600))
        for fisher, runs in ours.items():
            runs.append(Run(images, learners[fisher], seed, 640))
    for fisher, runs in ours.items():
        losses = {name: statistics.median(run.loss(800) for run in others) for name, others in plain.items()}
        told = ", ".join(f"{loss:.1f}" for loss in losses.values())
        error = _error(runs[0].at(200).model, images.test)
        loss = statistics.median(run.loss(200) for run in runs)
        what = f"200 natural steps, {fisher!r}: {loss:.1f} ± {error:.1f}; Adams, 800 steps: {told}"
        yield Figure(what, "nats above the best Adam", loss - min(losses.values()), 0.5)
    for steps, target in ((800, 0.36), (1_600, 0.5)):
        chosen = min(ADAMS, key=lambda name: _median_on_validation(images, plain[name], steps))
        for fisher, runs in ours.items():
            pairs = list(zip(runs, plain[chosen], strict=True))
            ways = [run.way_to(other.loss(steps)) for run, other in pairs]
            ratios = [way[1] / other.at(steps).seconds for way, (_, other) in zip(ways, pairs, strict=True)]
            loss = statistics.median(other.loss(steps) for _, other in pairs)
            count = statistics.median(way[0] for way in ways)
            what = f"{fisher!r}: {count:.0f} steps to {loss:.1f} nats, Adam's at {steps:,}, {chosen}"
            yield Figure(what, "of Adam's CPU", statistics.median(ratios), target)
    yield from _compare_settings(images, min(others[0].loss(400) for others in plain.values()))


def _median_on_validation(images: Images, runs: list[Run], steps: int) -> float:
    return statistics.median(nll(run.at(steps).model, images.validation) for run in runs)


def _error(model: Any, rows: np.ndarray) -> float:
    """Return the standard error of a loss over rows."""
    found = np.asarray(_log_likelihoods(model, rows, jax.random.key(99)), np.float64)
    return float(np.std(found, ddof=1) / len(found) ** 0.5)


def _compare_settings(images: Images, best: float) -> Iterator[Figure]:
    """Yield the loss of a grid of settings after 400 steps, and that of a rate that is too high, of one seed."""

    def loss(rows: np.ndarray, *numbers: float, **settings: float) -> float:
        return nll(learn(images, natural(*numbers, **settings), 0, 400)[-1].model, rows)

    grid = {(rate, damping): loss(images.test, rate, damping=damping) for rate in RATES for damping in DAMPINGS}
    for (rate, damping), found in grid.items():
        what = f"400 natural steps, rate {rate}, damping {damping}: {found:.1f}; Adam {best:.1f}"
        yield Figure(what, "nats above the best Adam", found - best, 0)
    limits = {radius: loss(images.validation, 0.6, radius=radius) for radius in RADII}
    told = ", ".join(f"{radius:g}: {loss:.1f}" for radius, loss in limits.items())
    what = f"rate 0.6, radius {float(NaturalWakeSleep().radius):g}; on validation rows {told}"
    yield Figure(what, "nats above rate 0.3", loss(images.test, 0.6) - grid[0.3, 0.3], 2)


def compare_pyro(images: Images, rounds: int) -> Iterator[Row]:
    """Yield the time of a step of Adam beside pyro's, of as many draws; pyro's does not dream."""
    for draws in (10, 5):
        ours = adam("2e-2(1+t/400)^-.7, b2 .99", draws)
        theirs = _pyro_step(images, draws)
        both = []
        for _ in range(rounds + 1):
            before = time.process_time()
            for _ in range(60):
                theirs()
            both.append(((time.process_time() - before) / 60, _step_seconds(learn(images, ours, 0, 80))))
        peer, own = np.median(both[1:], axis=0)
        what = f"a step of reweighted wake-sleep by Adam, K={draws}"
        yield Row(what, "pyro's ReweightedWakeSleep", peer, own, 1 / 0.7)


def _pyro_step(images: Images, draws: int) -> Callable[[], Any]:
    """Return a function that takes a step of pyro's: the same machine, whose guide learns from data alone."""
    import pyro
    import torch
    from pyro import distributions
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    pyro.clear_param_store()
    sizes = (784, *HIDDEN)
    down = nn.ModuleList([nn.Linear(above, below) for below, above in itertools.pairwise(sizes)])
    up = nn.ModuleList([nn.Linear(below, above) for below, above in itertools.pairwise(sizes)])
    top = nn.Parameter(torch.zeros(sizes[-1]))
    rows = torch.tensor(images.train[:2_000].astype(np.float32))

    def units(name: str, log_odds: Any, seen: Any = None) -> Any:
        return pyro.sample(name, distributions.Bernoulli(logits=log_odds).to_event(1), obs=seen)

    def model(observations: Any) -> None:
        pyro.module("down", down)
        with pyro.plate("rows", BATCH_ROWS):
            above = units("h3", pyro.param("top", top).expand(BATCH_ROWS, -1))
            for layer in (2, 1):
                above = units(f"h{layer}", down[layer](above))
            units("x", down[0](above), observations["x"])

    def guide(observations: Any) -> None:
        pyro.module("up", up)
        with pyro.plate("rows", BATCH_ROWS):
            below = observations["x"]
            for layer in (1, 2, 3):
                below = units(f"h{layer}", up[layer - 1](below))

    loss = pyro.infer.ReweightedWakeSleep(
        num_particles=draws, insomnia=1.0, vectorize_particles=True, max_plate_nesting=1
    )
    inference = pyro.infer.SVI(model, guide, pyro.optim.Adam({"lr": 1e-2}), loss)
    return lambda: inference.step({"x": rows[torch.randint(len(rows), (BATCH_ROWS,))]})


# --- one process, one thread ------------------------------------------------------------------------------------


def _measure(full: bool) -> Iterator[Row | Figure]:
    images = read_images()
    assert images is not None
    with computing(32):
        yield from compare_steps(images, 5)
        if _has_pyro():
            yield from compare_pyro(images, 3)
        if full:
            yield from compare_learning(images)


def _has_pyro() -> bool:
    try:
        import pyro  # noqa: F401
    except ImportError:
        print("without pyro: pip install torch pyro-ppl", flush=True)
        return False
    return True


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Measure in a process of one thread."""
    if read_images() is None:
        print("without Fashion-MNIST: apt-get install dataset-fashion-mnist")
        return
    script = f"from benchmarks.helmholtz import write_rows; write_rows({full})"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("["):
                kind, values = json.loads(line)
                yield {"Row": Row, "Figure": Figure}[kind](*values)
            else:
                print(line, end="", flush=True)
    if process.returncode:
        raise RuntimeError("the process of one thread has failed.")


def write_rows(full: bool) -> None:
    """Print rows for the process that has started this one."""
    for row in _measure(full):
        print(json.dumps([type(row).__name__, list(row)]), flush=True)
