"""The front door for points of {−1, +1}ⁿ."""

import operator
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

from kullback.search._loop import Loop
from kullback.search._objective import Objective
from kullback.search._settings import check_settings
from kullback.search.spins._archive import Archive
from kullback.search.spins._domain import SpinDomain, spin_search
from kullback.search.spins._pair_learning import PairLearning
from kullback.search.spins._spin_method import check_spins


def minimize_binary(
    f: Callable[..., Any],
    n: int,
    interactions: str | Iterable[tuple[int, int]] = "none",
    *,
    method: str = "natural-gradient",
    budget: int = 10_000,
    target: float | None = None,
    seed: int = 0,
    population: int | None = None,
    rate: float | None = None,
    vectorized: bool = False,
    map: Callable[..., Iterable[Any]] | None = None,
    restarts: str | int | None = "ipop",
    callback: Callable[[OptimizeResult], Any] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    verbose: bool = False,
) -> OptimizeResult:
    """Find a point of {−1, +1}ⁿ at which f is small, by moving a distribution to where it is smaller.

    - `f`: a function of a point, an array of n numbers that are −1 or +1; with `vectorized`, of a batch of them, one in
      each row. It may raise or return NaN: such points count as the worst. It is called once at most for each point.
    - `interactions`: which spins the distribution lets depend on each other: "none" for independent ones, "all", pairs
      such as [(0, 1), (1, 2)], or "auto", where pairs that matter are found from the values. If f is a sum of terms of
      single spins and of the pairs, the search goes to the minimum; with fewer pairs it may end in a local one.
    - `method`: "natural-gradient"; without interactions also "pbil" and "cross-entropy".
    - `budget`: evaluations at most, of different points. `target`: a value that is small enough. Without one, the
      budget is spent on restarts.
    - `population`: points at a time, for the first run; each other has twice as many, up to 16,384 points, or 2²³
      statistics of spins and pairs. `rate`: how far a step goes; see
      `kullback.search.IndependentSpins` and `MarkovSpins` for both.
    - `map`: evaluates f at many points, as `pool.map` or the `map` of a Dask client. It must keep their order: at the
      end f is asked once more at `x`, and a warning says so where it is not `fun`.
    - `restarts`: "ipop", None, or how many there may be.
    - `callback`: sees the best so far after each population; returns True, or raises `StopIteration`, to stop.
    - `checkpoint`: a file to which all points and values are written from time to time; `resume` goes the same way
      again, without calling f at those.
    - `verbose`: one line that says how far it has come.

    Returns a `scipy.optimize.OptimizeResult`: `x`, `fun`, `nfev`, `nit`, `success`, `message`, `status`, and

    - `stopped`: which rule has ended it; `restarts` and `runs`: how many, and each of them; `nfailed`: points without a
      value
    - `history`: a number for each population: `evaluations`, `best`, `median`, `spread` (the largest standard deviation
      of a spin) and `run`
    - `distribution`: the last distribution of the points: a `kullback.families.Ising` up to 20 spins, beyond that a
      `kullback.search.MarkovField`, which is the same without sums over all states.

    >>> def energy(x):  # a ring of 12 spins, in which neighbors are to differ
    ...     return float(sum(x[i] * x[i - 1] for i in range(12)))
    >>> result = minimize_binary(energy, 12, [(i, (i + 1) % 12) for i in range(12)], target=-12)
    >>> result.fun, result.stopped
    (-12.0, 'target')
    """
    spins = check_spins(n)
    given = _check_pairs(interactions, spins)
    learning = PairLearning(spins)
    pairs = learning.pairs if given is None else given
    first = spin_search(spins, method, pairs, population, rate)
    settings = check_settings(first.population, budget, target, seed, restarts, callback, checkpoint, resume, verbose)
    if settings.restarts == "bipop":
        raise ValueError("restarts is 'bipop': over spins it must be 'ipop', None, or how many there may be.")
    objective = Objective(f, vectorized, map)
    domain = SpinDomain(
        settings=settings,
        objective=objective,
        x0=np.ones(spins),
        method=method,
        pairs=pairs,
        population=first.population,
        rate=rate,
        archive=Archive(objective, spins),
        learning=learning if given is None else None,
    )
    return Loop(domain).run()


def _check_pairs(interactions: Any, n: int) -> NDArray[np.int64] | None:
    """Return the pairs of spins, None where they are to be learned; raise where they are bad."""
    if isinstance(interactions, str):
        if interactions == "auto":
            return None if n > 1 else np.empty((0, 2), np.int64)
        if interactions not in ("none", "all"):
            raise ValueError(
                f"interactions is {interactions!r}: it must be 'none', 'all', 'auto' or a list of pairs (i, j)."
            )
        return np.stack(np.triu_indices(n if interactions == "all" else 0, 1), axis=1).astype(np.int64)
    try:
        pairs = [tuple(operator.index(spin) for spin in pair) for pair in interactions]
    except TypeError:
        raise TypeError(
            f"interactions is {interactions!r}: it must be 'none', 'all', 'auto' or a list of pairs (i, j)."
        ) from None
    seen: set[frozenset[int]] = set()
    for place, pair in enumerate(pairs):
        if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= spin < n for spin in pair):
            raise ValueError(f"interactions[{place}] is {pair}: it must be two different spins in 0…{n - 1}.")
        if frozenset(pair) in seen:
            raise ValueError(f"interactions[{place}] is {pair}: the pair is listed twice.")
        seen.add(frozenset(pair))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
