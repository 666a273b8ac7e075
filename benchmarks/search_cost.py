"""What a search costs besides f: CMA against pycma, one run at a time and a hundred at once; and 2,000 dimensions."""

import statistics
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._timing import Figure, Row, seconds
from kullback.search import CMA, LimitedMemoryCMA

#: Dimensions, and how many populations are drawn and told.
SIZES = ((10, 300), (40, 200), (200, 60))
RUNS, GENERATIONS, MEASURED = 100, 300, 2
HIGH = 2000


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare the time per evaluation of a trivial f, and that of a hundred runs on a function that JAX can trace."""
    try:
        import cma
    except ImportError:
        print("search_cost: cma is not installed, so there is nothing to compare with")
        return
    rounds = 7 if full else 3
    peer = f"pycma {version('cma')}"
    with jax.enable_x64(True):
        for n, generations in SIZES:
            ours, evaluations = _ask_and_tell(n, generations)
            theirs = _pycma(cma, n, generations, lambda points: np.sum(points**2, axis=1))
            yield _in_turn(f"CMA, time per 1,000 evaluations, {n} dimensions", peer, ours, theirs, evaluations, rounds)
        yield _hundred_runs(cma, peer, rounds)
        yield _high_dimension(rounds)


def _ask_and_tell(n: int, generations: int) -> tuple[Callable[[], Any], int]:
    search = CMA(np.ones(n), 0.3)
    ask, tell = jax.jit(lambda state: search.ask(state)), jax.jit(lambda *args: search.tell(*args))
    start = search.init(jax.random.key(0))

    def ours() -> Any:
        state = start
        for _ in range(generations):
            points, state = ask(state)
            state = tell(state, points, np.sum(np.asarray(points) ** 2, axis=1))
        return state

    return ours, generations * search.population


def _pycma(cma: Any, n: int, generations: int, f: Callable[[np.ndarray], np.ndarray]) -> Callable[[], Any]:
    def theirs() -> None:
        strategy = cma.CMAEvolutionStrategy(np.ones(n), 0.3, {"verbose": -9, "seed": 1})
        for _ in range(generations):
            points = strategy.ask()
            strategy.tell(points, f(np.asarray(points)))

    return theirs


def _in_turn(
    what: str, peer: str, ours: Callable[[], Any], theirs: Callable[[], Any], evaluations: int, rounds: int
) -> Row:
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    mine, other = (statistics.median(side) * 1000 / evaluations for side in zip(*pairs, strict=True))
    return Row(what, peer, other, mine, 1.0, statistics.median(b / a for a, b in pairs))


def rosenbrock(x: Any) -> Any:
    """Return Σ 100(xᵢ₊₁ − xᵢ²)² + (1 − xᵢ)², for NumPy and JAX."""
    return (100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2).sum(axis=-1)


def _hundred_runs(cma: Any, peer: str, rounds: int) -> Row:
    """Compare a hundred runs; of pycma two are measured and counted fifty times."""
    search = CMA(np.zeros(10), 0.3)

    def one(key: Any) -> Any:
        def generation(state: Any, _: None) -> tuple[Any, Any]:
            points, state = search.ask(state)
            values = rosenbrock(points)
            return search.tell(state, points, values), jnp.min(values)

        return jax.lax.scan(generation, search.init(key), None, length=GENERATIONS)[1]

    keys = jax.random.split(jax.random.key(0), RUNS)
    together = jax.jit(jax.vmap(one))
    single = _pycma(cma, 10, GENERATIONS, rosenbrock)

    def theirs() -> None:
        for _ in range(MEASURED):
            single()

    jax.block_until_ready(together(keys))
    single()
    pairs = [(seconds(lambda: together(keys)), seconds(theirs) * RUNS / MEASURED) for _ in range(rounds)]
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    what = f"CMA, {RUNS} runs of {GENERATIONS * search.population:,} evaluations at once, 10-D Rosenbrock"
    return Row(
        what,
        f"{peer}, {MEASURED} runs × {RUNS // MEASURED}",
        other,
        mine,
        20.0,
        statistics.median(b / a for a, b in pairs),
    )


def _high_dimension(rounds: int) -> Figure:
    search = LimitedMemoryCMA(np.ones(HIGH), 0.3)

    @jax.jit
    def generations(state: Any) -> Any:
        def generation(state: Any, _: None) -> tuple[Any, None]:
            points, state = search.ask(state)
            return search.tell(state, points, jnp.sum(jnp.square(points), axis=1)), None

        return jax.lax.scan(generation, state, None, length=20)[0]

    state = search.init(jax.random.key(0))
    jax.block_until_ready(generations(state))
    best = min(seconds(lambda: generations(state)) for _ in range(rounds))
    per_point = best / (20 * search.population)
    return Figure(f"LimitedMemoryCMA, one evaluation, {HIGH:,} dimensions", "ms", per_point * 1e3, 1.0)
