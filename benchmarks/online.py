"""Online EM: how fast `partial_fit` goes through rows, and how near one pass comes to batch EM."""

import statistics
from collections.abc import Iterator

import numpy as np

from benchmarks._timing import Figure, Row, seconds
from benchmarks.gaussian_mixture import ours_and_theirs, problem, quietly
from kullback import GaussianMixture

ROWS, COLUMNS, COMPONENTS = 100_000, 16, 10


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare rows per second with an iteration of `fit`, and average log-likelihoods with 50 iterations of it."""
    yield _speed(1_000, 0.3, 7 if full else 3)
    yield _speed(4_000, 0.5, 7 if full else 3)
    yield _gap(10 if full else 3)


def _speed(batch: int, target: float, rounds: int) -> Row:
    X, start = problem("full", ROWS, COLUMNS, COMPONENTS)
    batches = np.array_split(X, ROWS // batch)
    mixture = GaussianMixture(COMPONENTS, random_state=0, **start).partial_fit(batches[0])

    def iterate(count: int) -> GaussianMixture:
        return GaussianMixture(COMPONENTS, max_iter=count, tol=0, **start).fit(X)

    def stream() -> None:
        for each in batches:
            mixture.partial_fit(each)

    stream()
    pairs = [(ours_and_theirs(1, iterate)[0][0], seconds(stream)) for _ in range(rounds)]
    fit, online = (statistics.median(side) for side in zip(*pairs, strict=True))
    what = f"partial_fit in batches of {batch:,}, {ROWS:,} × {COLUMNS} × {COMPONENTS}"
    return Row(what, "an iteration of fit", fit, online, target, statistics.median(a / b for a, b in pairs))


def _gap(seeds: int) -> Figure:
    """Return the median of what one pass misses of 50 iterations from the same start: the first 1,000 points."""
    gaps = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = from_mixture(rng, 100_000, 8, 10)
        online = GaussianMixture(10, random_state=seed)
        for batch in np.array_split(X, 100):
            online.partial_fit(batch)
        start = GaussianMixture(10, random_state=seed, max_iter=0).fit(X[:1000])
        given = {"weights": start.weights_, "means": start.means_, "precisions": start.precisions_}
        batch = GaussianMixture(10, max_iter=50, tol=0, **{f"{name}_init": value for name, value in given.items()})
        gaps.append(quietly(batch.fit, X).score(X) - online.score(X))
    what = f"one pass of 100,000 × 8 × 10 against 50 iterations, median of {seeds} seeds"
    return Figure(what, "nats per point", statistics.median(gaps), 0.05)


def from_mixture(rng: np.random.Generator, rows: int, columns: int, components: int) -> np.ndarray:
    """Draw from a mixture of Gaussians that overlap a little, in random order."""
    weights = rng.dirichlet(np.full(components, 5.0))
    centers = rng.normal(0, 3, (components, columns))
    roots = rng.normal(size=(components, columns, columns)) / np.sqrt(columns) + 0.5 * np.eye(columns)
    labels = rng.choice(components, size=rows, p=weights)
    return centers[labels] + np.einsum("rij,rj->ri", roots[labels], rng.normal(size=(rows, columns)))
