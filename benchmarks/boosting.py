"""Boosted distributions against NGBoost: one thread, rate 0.1 and depth 3 each.

What is learned is Friedman's first function of 5 of 10 inputs, with noise of scale 1, and counts whose log rate it is.
The time is that of a fit with all rounds, on the processor. Scores are those of the round that was best on held-out
rows, for both: what early stopping could reach at most, as a mean over seeds. NGBoost is looked at every fifth round.
Its steps, by line search, are the longer ones: it is best after 70 rounds of 2,000 rows and 175 of 12,000, and ours
after 100 and 290, of which 250 are run.
"""

import statistics
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks._timing import Figure, Row
from kullback.families import DiagonalGaussian, Kind, Poisson
from kullback.learning import boost

HELD = 4_000
KINDS: dict[str, Kind] = {"gaussian": DiagonalGaussian([0.0], [1.0]).kind, "poisson": Poisson(1.0).kind}
#: What is learned, from how many rows, our rounds, and how much less time is asked for.
CASES = (("gaussian", 2_000, 200, 8.0), ("gaussian", 12_000, 250, 20.0), ("poisson", 2_000, 200, 8.0))
#: NGBoost's rounds.
ROUNDS = 200


class Case(NamedTuple):
    """Rows to learn from, and rows to look at."""

    X: np.ndarray
    y: np.ndarray
    held: tuple[np.ndarray, np.ndarray]


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare processor time and the best held-out −log p(y)."""
    for family, rows, rounds, target in CASES:
        _ours(family, friedman(family, rows, 99), rounds)  # imports, and compiles
        found = [_compare(friedman(family, rows, seed), family, rounds) for seed in range(5 if full else 1)]
        peer, ours, peer_best, best, constant = np.array(found).T
        what = f"boosting, {family}, {rows:,} rows × 10, {rounds} rounds"
        print(f"    {what}: best {best.mean():.4f}, NGBoost {peer_best.mean():.4f}, constant {constant.mean():.4f}")
        yield Row(what, "NGBoost", min(peer), min(ours), target, statistics.median(peer / ours))
        yield Figure(what, "nats above NGBoost's, mean", float((best - peer_best).mean()), 0.0)


def friedman(family: str, rows: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    X = rng.random((rows + HELD, 10))
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y = mean + rng.normal(size=len(X)) if family == "gaussian" else rng.poisson(np.exp(mean / 10 - 1)).astype(float)
    return Case(X[:rows], y[:rows], (X[rows:], y[rows:]))


def _compare(case: Case, family: str, rounds: int) -> tuple[float, float, float, float, float]:
    """Return the times of both, their best scores, and the score of the marginal."""
    seconds = _ours(family, case, rounds)
    peer, peer_best = _ngboost(family, case)
    along: Any = boost(KINDS[family], case.X, case.y, validation=case.held, rounds=rounds, patience=rounds).validation
    return peer, seconds, peer_best, along.min(), along[0]


def _ours(family: str, case: Case, rounds: int) -> float:
    begin = time.process_time()
    boost(KINDS[family], case.X, case.y, rounds=rounds, threads=1)
    return time.process_time() - begin


def _ngboost(family: str, case: Case) -> tuple[float, float]:
    from ngboost import NGBRegressor, distns

    of = {"gaussian": distns.Normal, "poisson": distns.Poisson}[family]
    model = NGBRegressor(Dist=of, n_estimators=ROUNDS, learning_rate=0.1, verbose=False, random_state=0)
    X, y = case.held
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        model.fit(case.X, case.y if family == "gaussian" else case.y.astype(int))
        seconds = time.process_time() - begin
        along = [model.pred_dist(X, max_iter=count) for count in range(5, ROUNDS + 1, 5)]
    log_prob = [each.logpdf(y) if family == "gaussian" else each.dist.logpmf(y) for each in along]
    return seconds, min(-float(np.mean(each)) for each in log_prob)
