"""`SpikingNetwork` as it comes, on streams that it is for and that it is not for, beside a GRU and an HMM.

In one process of one thread. Each side has `SECONDS` of the processor on a stream that it reads once, with what is
compiled compiled before, and is then asked for 20,000 rows that it has not seen; the floor is the truth's own on these.
The GRU has as many units, and truncated backpropagation over 32 rows with Adam. Without `--full` only the size of the
state is measured.
"""

import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.metrics import roc_auc_score

import kullback
from benchmarks._timing import Figure, Row
from benchmarks.process import GRU_WINDOW, HELD_OUT, SEEDS, UNITS, gru_windows, in_one_thread, lagged, print_each
from kullback.models import FiniteProcess, even_process

SECONDS, PIECE, MOST = 6.0, 16_000, 1_500_000
#: Characters with a symbol of their own besides letters; digits share one, brackets another, the rest the last.
SIGNS = " \n_"


class Stream(NamedTuple):
    """Symbols, the last of which are held out, how many there are, and the nats of the truth on these, where known."""

    x: np.ndarray
    symbols: int
    floor: float


# --- streams ------------------------------------------------------------------------------------------


def copies(*lags: int) -> Stream:
    """Return a stream that copies itself at a lag, or has the parity at two."""
    x, floor = lagged(lags, MOST + HELD_OUT, 0)
    return Stream(x.astype(np.int64), 2, floor)


def drawn(truth: FiniteProcess) -> Stream:
    """Return what a process draws."""
    x = np.asarray(truth.sample(0, MOST + HELD_OUT))
    belief, nats = truth.stationary, 0.0
    for place, symbol in enumerate(x[-HELD_OUT - 100 :]):
        joint = belief @ truth.transition[:, symbol]
        belief = joint / joint.sum()
        nats -= np.log(joint.sum()) if place >= 100 else 0.0
    return Stream(x, 2, nats / HELD_OUT)


def two_coins() -> FiniteProcess:
    """Return a hidden Markov chain of two coins: it keeps one with .95, and that shows its side with .9."""
    sides = np.array([[0.9, 0.1], [0.1, 0.9]])  # of x and the next state
    return FiniteProcess(np.where(np.eye(2), 0.95, 0.05)[:, None, :] * sides)


def text() -> Stream:
    """Return Python's own source as 32 symbols."""
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    raw = np.frombuffer("".join(path.read_text("utf-8") for path in paths).lower().encode("ascii", "replace"), np.uint8)
    table = np.full(256, 31)
    table[ord("a") : ord("z") + 1] = np.arange(26)
    for symbol, some in enumerate((*SIGNS, "0123456789", "()[]{}'\""), 26):
        table[[ord(each) for each in some]] = symbol
    return Stream(table[raw][: MOST + HELD_OUT], 32, np.nan)


def periodic(seed: int, rows: int) -> np.ndarray:
    """Return a pattern of seven bits, again and again, a tenth of them flipped."""
    rng = np.random.default_rng(seed)
    pattern = np.array([0, 0, 1, 0, 1, 1, 1])
    return (np.resize(pattern, rows) + (rng.random(rows) < 0.1)) % 2


# --- sides --------------------------------------------------------------------------------------------


def read_for(seconds: float, learn: Callable[[np.ndarray], Any], x: np.ndarray, piece: int = PIECE) -> int:
    """Let a side learn from the stream in pieces, for some time of the processor; return how many rows it has read."""
    began, place = time.process_time(), 0
    while place + piece <= len(x) and time.process_time() - began < seconds:
        learn(x[place : place + piece])
        place += piece
    return place


def network_nats(stream: Stream, units: int, **options: Any) -> tuple[float, int]:
    """Return held-out nats of a network, and how many rows it has read."""
    x, held = stream.x[:-HELD_OUT, None], stream.x[-HELD_OUT - 100 :, None]

    def start() -> kullback.SpikingNetwork:
        return kullback.SpikingNetwork(units, n_categories=stream.symbols, random_state=0, **options)

    start().partial_fit(x[:PIECE], continues=True)
    network = start()
    rows = read_for(SECONDS, lambda piece: network.partial_fit(piece, continues=True), x)
    return -float(network.score_samples(held)[100:].mean()), rows


def markov_nats(stream: Stream, states: int) -> tuple[float, int]:
    """Return held-out nats of a hidden Markov model that learns online, and how many rows it has read."""
    x, held = stream.x[:-HELD_OUT, None], stream.x[-HELD_OUT - 100 :, None]

    def start() -> kullback.CategoricalHMM:
        return kullback.CategoricalHMM(states, n_features=stream.symbols, random_state=0)

    start().partial_fit(x[:2_000], continues=True).partial_fit(x[2_000:4_000], continues=True)
    model = start()
    rows = read_for(SECONDS, lambda piece: model.partial_fit(piece, continues=True), x, 2_000)
    return -(model.score(held) - model.score(held[:100])) / HELD_OUT, rows


class SymbolGru(eqx.Module):
    """A GRU with a linear read-out of the log odds of each symbol."""

    cell: eqx.nn.GRUCell
    out: eqx.nn.Linear

    def __init__(self, units: int, symbols: int):
        first, second = jax.random.split(jax.random.key(0))
        self.cell = eqx.nn.GRUCell(symbols, units, key=first, dtype=jnp.float32)
        self.out = eqx.nn.Linear(units, symbols, key=second, dtype=jnp.float32)

    def nats(self, state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the state after rows, and the nats of each that follows one of them."""
        seen = 2 * jax.nn.one_hot(x[:-1], self.cell.input_size, dtype=jnp.float32) - 1

        def step(state: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
            after = self.cell(row, state)
            return after, after

        state, states = jax.lax.scan(step, state, seen)
        odds = jax.vmap(self.out)(states)
        return state, jax.nn.logsumexp(odds, axis=1) - jnp.take_along_axis(odds, x[1:, None], axis=1)[:, 0]


ADAM = optax.adam(3e-3)


@eqx.filter_jit
def learn_gru(place: tuple[Any, ...], windows: jax.Array) -> tuple[Any, ...]:
    """Go on learning by truncated backpropagation."""
    arrays, fixed = eqx.partition(place[0], eqx.is_array)

    def loss(arrays: Any, state: jax.Array, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        state, nats = eqx.combine(arrays, fixed).nats(state, rows)
        return nats.mean(), state

    def body(carry: tuple[Any, ...], rows: jax.Array) -> tuple[tuple[Any, ...], None]:
        arrays, settled, state = carry
        slope, state = jax.grad(loss, has_aux=True)(arrays, state, rows)
        updates, settled = ADAM.update(slope, settled, arrays)
        return (optax.apply_updates(arrays, updates), settled, state), None

    (arrays, settled, state), _ = jax.lax.scan(body, (arrays, *place[1:]), windows)
    return eqx.combine(arrays, fixed), settled, state


def gru_nats(stream: Stream, units: int) -> tuple[float, int]:
    """Return held-out nats of a GRU, and how many rows it has read."""
    x = stream.x[:-HELD_OUT]
    model = SymbolGru(units, stream.symbols)
    begin = model, ADAM.init(eqx.filter(model, eqx.is_array)), jnp.zeros(units, jnp.float32)
    places = [begin]

    def learn(piece: np.ndarray) -> None:
        places[0] = jax.block_until_ready(learn_gru(places[0], gru_windows(piece)))

    learn(x[: PIECE + GRU_WINDOW])
    places[0] = begin
    rows = read_for(SECONDS, learn, x)
    model = places[0][0]
    _, nats = eqx.filter_jit(SymbolGru.nats)(
        model, jnp.zeros(units, jnp.float32), jnp.asarray(stream.x[-HELD_OUT - 100 :])
    )
    return float(nats[99:].mean()), rows


def pair_nats(stream: Stream, rows: int) -> float:
    """Return held-out nats of a table of pairs, of as many rows."""
    counts = np.full((stream.symbols, stream.symbols), 0.5)
    np.add.at(counts, (stream.x[: rows - 1], stream.x[1:rows]), 1)
    held = stream.x[-HELD_OUT - 1 :]
    return float(-np.log(counts / counts.sum(axis=1, keepdims=True))[held[:-1], held[1:]].mean())


def contest() -> Iterator[Figure]:
    """Yield the nats of each side on each stream; the target is the floor."""
    streams: list[tuple[str, Callable[[], Stream]]] = [
        *((f"copy of lag {lag}", lambda lag=lag: copies(lag)) for lag in (5, 8, 12)),
        ("parity", lambda: copies(2, 3)),
        ("even process", lambda: drawn(even_process())),
        ("two coins", lambda: drawn(two_coins())),
        ("text", text),
    ]
    for name, make in streams:
        stream = make()
        units, states = (64, 32) if name == "text" else (UNITS, 8)
        sides = {"network": network_nats(stream, units), "GRU": gru_nats(stream, units)}
        sides["HMM"] = markov_nats(stream, states)
        if name == "text":
            sides["table of pairs"] = pair_nats(stream, sides["network"][1]), sides["network"][1]
        for side, (nats, rows) in sides.items():
            yield Figure(f"{name}: {side} after {SECONDS:.0f} s, {rows:,} rows", "nats per row", nats, stream.floor)


# --- what it is for -----------------------------------------------------------------------------------


def novelty_area(seed: int) -> float:
    """Return the area under the curve of 40 random bits, ten times, in a copy of lag 5 that was learned before."""
    rng = np.random.default_rng(seed)
    x = lagged((5,), 220_000, seed)[0].astype(np.int64)
    network = kullback.SpikingNetwork(16, random_state=seed).partial_fit(x[:200_000, None], continues=True)
    news, burst = x[200_000:].copy(), np.zeros(20_000, bool)
    for begin in range(1_000, 20_000, 2_000):
        burst[begin : begin + 40] = True
    news[burst] = rng.random(burst.sum()) < 0.5
    novelty = np.convolve(network.novelty(news[:, None]), np.full(20, 1 / 20))[: len(news)]
    return float(roc_auc_score(burst, novelty))


def recovery(seed: int) -> float:
    """Return nats per row from 800 to 1,600 rows after the lag of a copy has changed from 5 to 3."""
    before, after = (lagged((lag,), rows, seed)[0] for lag, rows in ((5, 200_000), (3, 10_000)))
    network = kullback.SpikingNetwork(16, random_state=seed).partial_fit(before[:, None], continues=True)
    return float(network.novelty(after[:, None])[800:1_600].mean())


def clock(seed: int) -> float:
    """Return nats per row on the fourth 100,000 rows of a pattern with a little noise."""
    x = periodic(seed, 400_000)[:, None]
    network = kullback.SpikingNetwork(UNITS, random_state=seed).partial_fit(x[:300_000], continues=True)
    return float(network.novelty(x[300_000:]).mean())


def state_size(rows: int) -> int:
    """Return the bytes of everything that a network keeps after so many rows."""
    x = lagged((8,), rows, 0)[0]
    network = kullback.SpikingNetwork(UNITS, random_state=0).partial_fit(x[:, None], continues=True)
    kept = [value for name, value in vars(network).items() if name.endswith("_")]
    return sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(kept))


def measure(full: bool) -> Iterator[Row | Figure]:
    """Measure the size of the state, and in full what is learned."""
    early, late = state_size(10_000), state_size(1_000_000 if full else 100_000)
    yield Figure("state of a network after many rows, less that after 10,000", "bytes", late - early, 0)
    if not full:
        return
    area = min(map(novelty_area, SEEDS))
    yield Figure("bursts in a copy of lag 5, worst of 3", "area under the curve", area, 0.92, True)
    yield Figure("800 to 1,600 rows after a change of lag, worst of 3", "nats per row", max(map(recovery, SEEDS)), 0.40)
    yield Figure("pattern of 7, fourth 100,000 rows, worst of 3", "nats per row", max(map(clock, SEEDS)), 0.325)
    yield from contest()


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Measure in a process of one thread."""
    yield from in_one_thread("streams", full)


def print_rows(full: bool) -> None:
    """Print what is measured, for the process that asks."""
    print_each(measure(full))
