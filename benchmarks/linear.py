"""Linear conditionals: fits of counts at once, and updates of a stream, against other libraries."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks._timing import Figure, Row, best_of, seconds
from kullback import Regressor
from kullback.families import Batch, DiagonalGaussian, Poisson
from kullback.learning import Clock, FisherScoring, PointRate, fisher_scoring, step
from kullback.models import LinearConditional
from kullback.runtime import computing

ROWS, COLUMNS = 200_000, 20
#: Rows of a stream: how many there are at first, how many come with each update, and how many updates.
FIRST, EACH, UPDATES = 500, 10, 100


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare fits of 200,000 counts on 20 inputs, and updates of a Gaussian whose variance depends on inputs too."""
    yield from _batch(7 if full else 3)
    yield from _online(full)


def _batch(rounds: int) -> Iterator[Row | Figure]:
    import statsmodels.api as sm
    from sklearn.linear_model import PoissonRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, COLUMNS))
    y = rng.poisson(np.exp(0.5 + x @ (0.15 * rng.normal(size=COLUMNS))))
    constant = sm.add_constant(x)

    def ours() -> LinearConditional:
        member = Poisson(y.mean())
        return fisher_scoring(LinearConditional.start(member, COLUMNS, member=member), Batch(y, inputs=x), 100, 1e-6)[0]

    def scikit_learn() -> Any:
        return PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-6).fit(x, y)

    def statsmodels() -> Any:
        return sm.GLM(y, constant, family=sm.families.Poisson()).fit()

    best, peer = best_of(rounds, ours, scikit_learn)
    what = f"Poisson counts on inputs, {ROWS:,} × {COLUMNS}"
    yield Row(what, "PoissonRegressor(newton-chol.)", peer, best, 1.0)
    yield Row(what, "statsmodels GLM", seconds(statsmodels), best, 5.0)
    found, expected = ours().coefficients[0], statsmodels().params
    yield Figure(f"{what}, coefficients", "greatest difference", float(np.abs(found - expected).max()), 1e-6)


def _online(full: bool) -> Iterator[Row | Figure]:
    try:  # it is not among the bench extra, for it holds NumPy back
        from ondil.distributions import Normal
        from ondil.estimators import OnlineDistributionalRegression
    except ImportError:
        print("    online updates are compared where ondil is installed: pip install --no-deps ondil numba llvmlite")
        return

    rng = np.random.default_rng(0)
    updates = UPDATES if full else UPDATES // 4
    x = rng.normal(size=(FIRST + EACH * UPDATES, 5))
    y = x @ np.array([1.0, -0.5, 0.3, 0.0, 0.2]) + np.exp(0.4 * x[:, 0] - 0.2) * rng.normal(size=len(x))
    fresh, truth = rng.normal(size=(20_000, 5)), np.array([1.0, -0.5, 0.3, 0.0, 0.2])
    held = fresh @ truth + np.exp(0.4 * fresh[:, 0] - 0.2) * rng.normal(size=len(fresh))
    cuts = [slice(FIRST + EACH * place, FIRST + EACH * (place + 1)) for place in range(UPDATES)]
    like = DiagonalGaussian([0.0], [1.0])
    learner = FisherScoring(rate=PointRate(0.0))
    with computing():
        began = fisher_scoring(LinearConditional.start(like, 5), Batch(y[:FIRST], inputs=x[:FIRST]))[0]

    def ours(count: int = updates) -> LinearConditional:
        model = began
        with computing():
            for place, cut in enumerate(cuts[:count]):
                clock = Clock(np.int32(place), np.asarray(float(cut.start)))
                model = step(learner, model, None, None, (Batch(y[cut], inputs=x[cut]),), clock).model
        return model

    def theirs(count: int = updates) -> Any:
        model = OnlineDistributionalRegression(Normal(), {0: "all", 1: "all"}, method="ols")
        model.fit(x[:FIRST], y[:FIRST])
        return seconds(partial(_update, model, [(x[cut], y[cut]) for cut in cuts[:count]])), model

    def at_the_door(count: int = updates) -> tuple[float, Regressor]:
        model = Regressor(dispersion="linear").fit(x[:FIRST], y[:FIRST]).partial_fit(x[cuts[0]], y[cuts[0]])

        def update() -> None:
            for cut in cuts[1:count]:
                model.partial_fit(x[cut], y[cut])

        return seconds(update) * count / (count - 1), model

    best, _ = best_of(3, ours, lambda: None)
    theirs(3)  # it compiles too
    peer, _ = theirs()
    what = f"{updates} updates of {EACH} rows, Gaussian with a variance of inputs"
    yield Row(what, "ondil", peer, best, 20.0)
    at_the_door(3)
    yield Row(
        f"{updates} updates by Regressor.partial_fit", "ondil", peer, min(at_the_door()[0] for _ in range(3)), 20.0
    )
    _, other = theirs(UPDATES)
    mean, scale = np.asarray(other.predict_distribution_parameters(fresh)).T[:2]
    nll = np.mean(0.5 * np.square((held - mean) / scale) + np.log(scale) + 0.5 * np.log(2 * np.pi))
    with computing():
        own = -np.mean(ours(UPDATES).log_likelihood(Batch(held, inputs=fresh)))
    yield Figure(f"{UPDATES} updates, held-out nll above that of ondil", "nats per point", float(own - nll), 1e-3)
    own = -np.mean(at_the_door(UPDATES)[1].score_samples(fresh, held))
    yield Figure("the same by Regressor.partial_fit", "nats per point", float(own - nll), 1e-3)


def _update(model: Any, batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
    for x, y in batches:
        model.update(x, y)
