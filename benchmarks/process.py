"""Online learning of memories: exact rates after a stream, streams with long lags, and speed against a GRU.

All in one process of one thread; times are of its processor, and what is compiled is compiled before. A GRU of as many
units learns by truncated backpropagation over 32 rows, with Adam; both sides have the same streams, the same schedule
(a fifth of the step for the last third) and one setting each. Held-out nats are on 20,000 rows that follow, beside the
floor: the truth's own on that sample. Without `--full` only the times of steps are measured.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks._timing import Figure, Row
from kullback.assess import rate
from kullback.core import Batch
from kullback.families import Categorical
from kullback.learning import Clock, Optimizer, ProcessGradient, decaying_adam, step_once
from kullback.models import FiniteProcess, SpikingMemory, TabularMemory, even_process, second_order
from kullback.runtime import computing

UNITS, CHAINS, WINDOW, GRU_WINDOW, HELD_OUT = 24, 8, 16, 32, 20_000
ONE_THREAD = {"NPROC": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SEEDS = (0, 1, 2)
#: Parity is of the second and the third row back: what is linear in units and in the last row cannot tell the parity of
#: that row and another.
LAGS = (("copy of lag 8", (8,)), ("temporal parity", (2, 3)))


def lagged(lags: tuple[int, ...], length: int, seed: int, flips: float = 0.1) -> tuple[np.ndarray, float]:
    """Return x' = the sum of x at these lags modulo 2, flipped now and then, and the truth's nats on the last rows."""
    rng = np.random.default_rng(seed)
    x, flipped = (rng.random(length) < 0.5).astype(np.int8), rng.random(length) < flips
    for t in range(max(lags), length):
        x[t] = (sum(int(x[t - lag]) for lag in lags) + flipped[t]) % 2
    share = flipped[-HELD_OUT:].mean()
    return x.astype(np.float32), float(-share * np.log(flips) - (1 - share) * np.log1p(-flips))


def two_thirds(learning_rate: Any, steps: Any) -> Any:
    """Return Adam whose step is a fifth for the last third."""
    return optax.flatten(optax.adam(lambda count: learning_rate * jnp.where(count > 2 * steps / 3, 0.2, 1.0)))


@eqx.filter_jit
def follow(learner: Any, model: Any, state: Any, memory: Any, windows: jax.Array, seed: Any) -> tuple[Any, jax.Array]:
    """Return model, state and memory after a stream, and the value of each window before it was learned from."""
    arrays, fixed = eqx.partition(model, eqx.is_array)

    def body(carry: tuple[Any, ...], rows: jax.Array) -> tuple[tuple[Any, ...], jax.Array]:
        arrays, state, memory, number = carry
        clock = Clock(number, 0.0, jax.random.fold_in(jax.random.key(seed), number))
        found = step_once(learner, eqx.combine(arrays, fixed), state, memory, [Batch(rows)], clock)
        return (eqx.filter(found.model, eqx.is_array), found.state, found.memory, number + 1), found.info.value

    (arrays, state, memory, _), values = jax.lax.scan(body, (arrays, state, memory, 0), windows)
    return (eqx.combine(arrays, fixed), state, memory), values


def begin(learner: Any, model: Any, seed: int) -> tuple[Any, Any, Any]:
    """Return model, state and memory to begin with."""
    model = jax.tree.map(lambda leaf: jnp.asarray(leaf) if eqx.is_array_like(leaf) else leaf, model)
    nothing: Callable[[], None] = lambda: None  # noqa: E731
    return model, learner.init(model, nothing), learner.memory(model, nothing, jax.random.key(seed))


def windows_of(x: np.ndarray, size: int) -> np.ndarray:
    """Return a stream as windows."""
    return x[: len(x) // size * size].reshape(-1, size, *x.shape[1:])


# --- memories -----------------------------------------------------------------------------------------


def learn_tables(truth: FiniteProcess, memories: int, rows: int, seed: int, replicas: int = 1) -> float:
    """Return the exact rate V after a stream, of the replica that has predicted best in its last tenth."""
    windows = windows_of(np.asarray(truth.sample(seed, rows), np.float64), WINDOW)
    delay = 20_000 / WINDOW
    learner = ProcessGradient(Optimizer(decaying_adam, learning_rate=0.02, delay=delay, power=0.6), 0.9, CHAINS)
    scale = 3.0 if replicas > 1 else 1.0
    several = [
        begin(learner, TabularMemory.random(memories, 2, 100 * seed + number, scale), number)
        for number in range(replicas)
    ]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *several)
    each = eqx.filter_vmap(follow, in_axes=(None, 0, 0, 0, None, 0))
    (models, _, _), values = each(learner, *stacked, windows, jnp.arange(replicas))
    best = int(jnp.argmax(values[:, -len(windows) // 10 :].mean(axis=1)))
    return rate(truth, jax.tree.map(lambda leaf: np.asarray(leaf[best]), models)).value


def learn_lags(
    lags: tuple[int, ...], rows: int, seed: int, units: int = UNITS, chains: int = CHAINS, discount: float = 0.9
) -> tuple[float, float]:
    """Return held-out nats above the floor, and the prequential nats of the last 50,000 rows."""
    x, floor = lagged(lags, rows + HELD_OUT, seed)
    windows = windows_of(x[:rows], WINDOW)
    optimizer = Optimizer(two_thirds, learning_rate=5e-3, steps=len(windows))
    learner = ProcessGradient(optimizer, discount, chains)
    start = SpikingMemory.random(Categorical([0.5, 0.5]), units, seed, dtype=np.float32)
    (model, _, _), values = follow(learner, *begin(learner, start, seed), windows, seed)
    held = model.predict_rows(Batch(x[rows - 100 :]), 1, chains)[100:]
    return float(-held.mean()) - floor, float(-values[-50_000 // WINDOW :].mean())


def numpy_rows_per_second(rows: int = 3_000, units: int = UNITS, chains: int = CHAINS) -> float:
    """Return the speed of the same rule as a loop over rows in NumPy."""
    rng, inputs = np.random.default_rng(0), units + 3
    q, p, b = (rng.normal(0, 1.5 / inputs**0.5, (inputs, columns)).astype(np.float32) for columns in (units, units, 1))
    x = lagged((8,), rows, 0)[0]
    z, trace = rng.integers(2, size=(chains, units)).astype(np.float32), np.zeros((chains, inputs, units), np.float32)
    began = time.process_time()
    for t in range(rows - 1):
        features = np.concatenate([2 * z - 1, np.tile([1 - 2 * x[t], 2 * x[t] - 1, 1.0], (chains, 1))], axis=1)
        does, expected, ahead = features @ q, features @ p, (features @ b)[:, 0]
        mean, hoped, chance = (1 / (1 + np.exp(-odds)) for odds in (does, expected, -ahead))
        kl = np.sum(mean * (does - expected) + np.log1p(np.exp(expected)) - np.log1p(np.exp(does)), axis=1)
        cost = kl + np.log1p(np.exp(ahead)) - (1 - x[t + 1]) * ahead
        gain = (cost - cost.mean()) * chains / (chains - 1)
        slope = features[:, :, None] * (mean * (1 - mean) * (does - expected))[:, None, :]
        direction = np.mean(slope + 0.9 * trace * gain[:, None, None], axis=0)
        after = (rng.random((chains, units)) < mean).astype(np.float32)
        trace = 0.9 * trace + features[:, :, None] * (after - mean)[:, None, :]
        q = q - 1e-4 * direction
        p = p - 1e-4 * features.T @ (hoped - mean) / chains
        b = b - 1e-4 * (features.T @ (x[t + 1] - chance))[:, None] / chains
        z = after
    return rows / (time.process_time() - began)


def rows_per_second(window: int, rows: int = 64_000) -> float:
    """Return the speed of the learner with windows of a size."""
    windows = windows_of(lagged((8,), rows, 0)[0], window)
    learner = ProcessGradient(Optimizer(learning_rate=5e-3), 0.9, CHAINS)
    start = begin(learner, SpikingMemory.random(Categorical([0.5, 0.5]), UNITS, 0, dtype=np.float32), 0)
    return _speed(lambda: follow(learner, *start, windows, 0), windows.size)


def _speed(run: Callable[[], Any], rows: int) -> float:
    jax.block_until_ready(jax.tree.leaves(eqx.filter(run(), eqx.is_array)))
    found = []
    for _ in range(3):
        began = time.process_time()
        jax.block_until_ready(jax.tree.leaves(eqx.filter(run(), eqx.is_array)))
        found.append(rows / (time.process_time() - began))
    return statistics.median(found)


# --- the peer -----------------------------------------------------------------------------------------


class Gru(eqx.Module):
    """A GRU with a linear read-out of the log odds of a 1."""

    cell: eqx.nn.GRUCell
    out: eqx.nn.Linear

    def __init__(self, units: int, seed: int):
        first, second = jax.random.split(jax.random.key(seed))
        self.cell = eqx.nn.GRUCell(2, units, key=first, dtype=jnp.float32)
        self.out = eqx.nn.Linear(units, 1, key=second, dtype=jnp.float32)

    def losses(self, state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the state after rows, and the nats of each that follows one of them."""

        def step(state: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
            after = self.cell(jnp.stack([1 - 2 * row, 2 * row - 1]), state)
            return after, self.out(after)[0]

        state, odds = jax.lax.scan(step, state, x[:-1])
        return state, jax.nn.softplus(odds) - x[1:] * odds


@eqx.filter_jit
def follow_gru(model: Gru, windows: jax.Array, learning_rate: jax.Array) -> tuple[Gru, jax.Array]:
    """Learn a stream of overlapping windows by truncated backpropagation."""
    optimizer = two_thirds(learning_rate, len(windows))
    arrays, fixed = eqx.partition(model, eqx.is_array)

    def loss(arrays: Any, state: jax.Array, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        state, nats = eqx.combine(arrays, fixed).losses(state, rows)
        return nats.mean(), state

    def body(carry: tuple[Any, ...], rows: jax.Array) -> tuple[tuple[Any, ...], None]:
        arrays, settled, state = carry
        slope, state = jax.grad(loss, has_aux=True)(arrays, state, rows)
        updates, settled = optimizer.update(slope, settled, arrays)
        return (optax.apply_updates(arrays, updates), settled, state), None

    begin = arrays, optimizer.init(arrays), jnp.zeros(model.cell.hidden_size, jnp.float32)
    (arrays, _, state), _ = jax.lax.scan(body, begin, windows)
    return eqx.combine(arrays, fixed), state


def gru_windows(x: np.ndarray) -> np.ndarray:
    """Return windows with the row that follows each."""
    starts = np.arange(0, len(x) - GRU_WINDOW, GRU_WINDOW)
    return x[starts[:, None] + np.arange(GRU_WINDOW + 1)]


def gru_rows_per_second(rows: int = 128_000) -> float:
    """Return the speed of the GRU."""
    windows, model = gru_windows(lagged((8,), rows, 0)[0]), Gru(UNITS, 0)
    return _speed(lambda: follow_gru(model, windows, np.float32(3e-3)), len(windows) * GRU_WINDOW)


def gru_excess(lags: tuple[int, ...], rows: int, seed: int) -> float:
    """Return held-out nats of the GRU above the floor."""
    x, floor = lagged(lags, rows + HELD_OUT, seed)
    model, state = follow_gru(Gru(UNITS, seed), gru_windows(x[:rows]), np.float32(5e-3))
    _, nats = eqx.filter_jit(Gru.losses)(model, state, jnp.asarray(x[rows - 1 :]))
    return float(nats.mean()) - floor


# --- figures ------------------------------------------------------------------------------------------


def measure(full: bool) -> Iterator[Row | Figure]:
    """Measure the times of steps, and in full what is learned."""
    each = {window: rows_per_second(window) for window in (16, 64)}
    gru, loop = gru_rows_per_second(), numpy_rows_per_second()
    what = f"online rule, {UNITS} units, {CHAINS} chains, 1,000 rows, windows of"
    yield Row(f"{what} 16", "NumPy loop", 1e3 / loop, 1e3 / each[16], 15.0)
    yield Row(f"{what} 16", f"GRU, {GRU_WINDOW} rows back", 1e3 / gru, 1e3 / each[16], 0.4)
    yield Row(f"{what} 64", f"GRU, {GRU_WINDOW} rows back", 1e3 / gru, 1e3 / each[64], 0.5)
    if not full:
        return
    second = second_order([0.9, 0.15, 0.25, 0.8])
    with computing():
        worst = max(learn_tables(second, 2, 1_000_000, seed) for seed in range(5))
        yield Figure("second order, 2 memories, exact V after 10⁶ rows, worst of 5", "nats", worst, 0.002)
        even = learn_tables(even_process(), 4, 300_000, 0, replicas=8)
        yield Figure("even process, 4 memories, best of 8, exact V after 300,000 rows", "nats", even, 0.01)
    for name, lags in LAGS:
        found = [learn_lags(lags, 300_000, seed)[0] for seed in SEEDS]
        yield Figure(f"{name}, {UNITS} units, 300,000 rows, above the floor, worst of 3", "nats", max(found), 0.005)
        apart = statistics.mean(ours - gru_excess(lags, 300_000, seed) for seed, ours in zip(SEEDS, found, strict=True))
        yield Figure(f"{name}, less the GRU's, mean of 3", "nats", apart, 0.003)
    lag_12 = learn_lags((12,), 600_000, 0, units=40, chains=16, discount=0.95)[1]
    yield Figure("copy of lag 12, 40 units, prequential at 600,000", "nats", lag_12, 0.34)


def in_one_thread(name: str, full: bool) -> Iterator[Row | Figure]:
    """Yield what a module prints in a process of one thread."""
    script = f"from benchmarks import {name}; {name}.print_rows({full})"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            kind, values = json.loads(line)
            yield {"Row": Row, "Figure": Figure}[kind](*values)


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Measure in a process of one thread."""
    yield from in_one_thread("process", full)


def print_rows(full: bool) -> None:
    """Print what is measured, for the process that asks."""
    print_each(measure(full))


def print_each(rows: Iterator[Row | Figure]) -> None:
    """Print rows as they come, for another process to read."""
    for row in rows:
        print(json.dumps([type(row).__name__, list(row)]), flush=True)
