"""Spins: random pairwise energies whose minimum is known, a planar glass and cuts of graphs, against annealing.

Each evaluation is one value of f, of a whole point; for simulated annealing that is one flip. It has the best of
several geometric schedules, chosen for the very energies it is compared on. `minimize_binary` is told the pairs, and
with "auto" it is not.
"""

import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks._timing import Figure, Row, clock
from kullback import minimize_binary
from kullback.search import MarkovSpins

BUDGET = 5_000
SCHEDULES = tuple(itertools.product((0.5, 1.0, 2.0, 4.0), (0.05, 0.2, 0.5)))


class Energy(NamedTuple):
    """Σ h_i x_i + Σ J_ij x_i x_j, and its minimum where it is known."""

    biases: np.ndarray
    pairs: np.ndarray
    couplings: np.ndarray
    least: float = -np.inf

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the energies of the rows."""
        return x @ self.biases + (x[:, self.pairs[:, 0]] * x[:, self.pairs[:, 1]]) @ self.couplings


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Count how often the minimum is found, and compare with annealing at equal evaluations."""
    yield from _complete(200 if full else 10)
    some = 20 if full else 2
    for kind in ("±1", "Gaussian"):
        glasses = [glass(seed, kind) for seed in range(some)]
        yield from _against_annealing(f"10 × 10 glass, {kind} couplings, {some} of them", glasses, full)
    sizes = ((60, 0.5), (60, 0.1), (100, 0.05), (100, 0.1)) if full else ((60, 0.1),)
    for n, density in sizes:
        graphs = [cut(seed, n, density) for seed in range(some)]
        yield from _against_annealing(f"MaxCut of {n} vertices, density {density}, {some} of them", graphs, False)
    yield _generation()


def complete(seed: int, n: int = 16) -> Energy:
    """Return a random energy in which all spins interact, with its minimum by enumeration."""
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    energy = Energy(rng.normal(size=n), pairs, rng.normal(size=len(pairs)))
    states = 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
    return energy._replace(least=float(energy(states).min()))


def glass(seed: int, kind: str, side: int = 10) -> Energy:
    """Return a planar glass, with its minimum by dynamic programming."""
    rng = np.random.default_rng(seed)
    place = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1),
            np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1),
        ]
    )
    couplings = rng.choice([-1.0, 1.0], len(pairs)) if kind == "±1" else rng.normal(size=len(pairs))
    energy = Energy(np.zeros(side * side), pairs, couplings)
    return energy._replace(least=_planar_minimum(energy, side))


def _planar_minimum(energy: Energy, side: int) -> float:
    """Return the minimum, spin by spin: what the last `side` spins are is all that the others need to know."""
    coupling = {(i, j): float(c) for (i, j), c in zip(energy.pairs.tolist(), energy.couplings, strict=True)}
    states = np.arange(2**side)
    least = np.zeros(2**side)
    for spin in range(side * side):
        row, column = divmod(spin, side)
        following = np.full(2**side, np.inf)
        for bit in (0, 1):
            value = 2 * bit - 1
            added = np.full(2**side, float(energy.biases[spin]) * value)
            if column:
                added += coupling[spin - 1, spin] * value * (2 * ((states >> (column - 1)) & 1) - 1)
            if row:
                added += coupling[spin - side, spin] * value * (2 * ((states >> column) & 1) - 1)
            np.minimum.at(following, states & ~(1 << column) | (bit << column), least + added)
        least = following
    return float(least.min())


def cut(seed: int, n: int, density: float) -> Energy:
    """Return minus the edges that are cut, up to a constant, of a random graph."""
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    pairs = pairs[rng.random(len(pairs)) < density]
    return Energy(np.zeros(n), pairs, np.ones(len(pairs)))


def annealed(energy: Energy, seed: int, hot: float, cold: float) -> float:
    """Return the least value of one run of single flips at temperatures that fall from `hot` to `cold`."""
    rng = np.random.default_rng([seed, 1])
    n = len(energy.biases)
    matrix = np.zeros((n, n))
    matrix[energy.pairs[:, 0], energy.pairs[:, 1]] = energy.couplings
    matrix += matrix.T
    x = rng.choice([-1.0, 1.0], n)
    value = float(energy(x[None])[0])
    least, field = value, matrix @ x + energy.biases
    steps = BUDGET - 1
    temperatures = hot * (cold / hot) ** (np.arange(steps) / steps)
    for spin, level, temperature in zip(rng.integers(n, size=steps), rng.random(steps), temperatures, strict=True):
        change = -2 * x[spin] * field[spin]
        if change <= 0 or level < np.exp(-change / temperature):
            x[spin] = -x[spin]
            field += 2 * matrix[spin] * x[spin]
            value += change
            least = min(least, value)
    return least


def ours(energy: Energy, seed: int, interactions: Any) -> Any:
    return minimize_binary(
        energy,
        len(energy.biases),
        interactions,
        budget=BUDGET,
        target=energy.least + 1e-9 if np.isfinite(energy.least) else None,
        seed=seed,
        vectorized=True,
    )


def _complete(runs: int) -> Iterator[Figure]:
    energies = [complete(seed) for seed in range(runs)]
    shares = {}
    for interactions in ("all", "none", "auto"):
        found = [ours(energy, seed, interactions) for seed, energy in enumerate(energies)]
        shares[interactions] = float(np.mean([result.stopped == "target" for result in found]))
        needed = statistics.median(result.nfev for result in found)
        print(
            f"    interactions={interactions!r}: {shares[interactions]:.3f} of {runs}, median {needed:.0f} evaluations"
        )
    what = f"16 spins, all interact: the minimum in {BUDGET:,} evaluations, of {runs} runs"
    yield Figure(what, "share", shares["all"], 0.95, at_least=True)
    yield Figure(what, "more than independent spins", shares["all"] - shares["none"], 0.0, at_least=True)


def _against_annealing(what: str, energies: list[Energy], learn: bool) -> Iterator[Figure]:
    def values(side: Callable[[Energy, int], float]) -> np.ndarray:
        return np.array([side(energy, seed) for seed, energy in enumerate(energies)])

    schedule, theirs = min(
        ((each, values(lambda energy, seed: annealed(energy, seed, *each))) for each in SCHEDULES),  # noqa: B023
        key=lambda found: float(found[1].mean()),
    )
    mine = {"pairs": values(lambda energy, seed: ours(energy, seed, energy.pairs.tolist()).fun)}
    if learn:
        mine["auto"] = values(lambda energy, seed: ours(energy, seed, "auto").fun)
    known = np.array([energy.least for energy in energies])
    for name, found in {**mine, f"annealing {schedule}": theirs}.items():
        share = f", {np.mean(found <= known + 1e-6):.2f} at the minimum" if np.isfinite(known).all() else ""
        print(f"    {what}: {name} {found.mean():.2f}{share}")
    unit = "of annealing's mean energy"
    yield Figure(what, unit, float(mine["pairs"].mean() / theirs.mean()), 1.0, at_least=True)


def _generation() -> Figure:
    """Return the time from one population to the next, at 100 spins with 180 pairs."""
    energy = glass(0, "±1")
    search = MarkovSpins(100, energy.pairs)
    with jax.enable_x64(True):
        step = jax.jit(lambda search, state, points, values: search.ask(search.tell(state, points, values)))
        points, state = search.ask(search.init(jax.random.key(0)))
        times = []
        for _ in range(40):
            values = energy(np.asarray(points))
            begin = clock()
            points, state = jax.block_until_ready(step(search, state, points, values))
            times.append(clock() - begin)
    return Figure("a population of 50, 100 spins with 180 pairs", "ms", 1e3 * statistics.median(times[1:]), 10.0)
