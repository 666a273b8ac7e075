"""Tuning on tabulated objectives: regret after 30 evaluations, against random search and optuna's TPE.

Two tables are computed once for a process, in about two minutes of one core: the cross-validated loss of a Gaussian
mixture on the wine data (10 numbers of components, 4 kinds of covariance, 8 values of `reg_covar`), and the
cross-validated error of a support vector machine on the digits (18 values of C, 18 of gamma). Every search then looks
values up, so that many seeds are cheap: 12 of them are not enough to tell searches apart.

The priors of our surrogate and its sharpness were chosen on these two tables, with other seeds. `--full` adds two that
nothing was chosen on: a mixture on the iris data, and a support vector regression on the diabetes data.
"""

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks._timing import Figure
from kullback.assess import Tuner

#: Evaluations of a search, and seeds that are paired: the same ones for all searches.
BUDGET, SEEDS = 30, 100


class Table(NamedTuple):
    """An objective: its values above the least one, for each place on each axis; axes without an order are named."""

    name: str
    regrets: NDArray[np.float64]
    unordered: tuple[int, ...]


@functools.cache
def wine() -> Table:
    """Return the loss of a Gaussian mixture in nats per row, by 5 folds."""
    from sklearn.datasets import load_wine

    return _mixtures("wine, Gaussian mixture 10 × 4 × 8", load_wine().data)


@functools.cache
def iris() -> Table:
    """Return the same of the iris data."""
    from sklearn.datasets import load_iris

    return _mixtures("iris, Gaussian mixture 10 × 4 × 8", load_iris().data)


def _mixtures(name: str, data: NDArray[np.float64]) -> Table:
    from sklearn.mixture import GaussianMixture
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import StandardScaler

    X = StandardScaler().fit_transform(data)
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    axes = range(1, 11), ("full", "tied", "diag", "spherical"), np.logspace(-6, 1, 8)

    def loss(k: int, kind: str, reg: float) -> float:
        model = GaussianMixture(k, covariance_type=kind, reg_covar=reg, random_state=0)
        return -float(np.mean([model.fit(X[learn]).score(X[held]) for learn, held in folds]))

    return _table(name, axes, loss, unordered=(1,))


@functools.cache
def digits() -> Table:
    """Return the error of a support vector machine, by 3 folds."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    X, y = load_digits(return_X_y=True)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))

    def error(c: float, gamma: float) -> float:
        model = SVC(C=c, gamma=gamma)
        return float(np.mean([1 - model.fit(X[learn], y[learn]).score(X[held], y[held]) for learn, held in folds]))

    return _table("digits, support vectors 18 × 18", (np.logspace(-3, 4, 18), np.logspace(-6, 1, 18)), error)


@functools.cache
def diabetes() -> Table:
    """Return the squared error of a support vector regression, by 3 folds."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    X, y = load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))

    def error(c: float, gamma: float, kernel: str) -> float:
        model = SVR(C=c, gamma=gamma, kernel=kernel)
        found = [np.mean((model.fit(X[learn], y[learn]).predict(X[held]) - y[held]) ** 2) for learn, held in folds]
        return float(np.mean(found))

    axes = np.logspace(-3, 3, 12), np.logspace(-5, 1, 12), ("rbf", "sigmoid")
    return _table("diabetes, support vectors 12 × 12 × 2", axes, error, unordered=(2,))


def _table(name: str, axes: Any, f: Callable[..., float], unordered: tuple[int, ...] = ()) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that have not converged
        values = np.array([f(*setting) for setting in itertools.product(*axes)])
    return Table(name, (values - values.min()).reshape([len(axis) for axis in axes]), unordered)


def ours(table: Table, seed: int, method: str = "expected-improvement") -> float:
    """Return the regret of a `Tuner`; places on an axis are its values."""
    space: dict[str, Any] = {}
    for axis, levels in enumerate(table.regrets.shape):
        # text has no order
        space[str(axis)] = [str(level) for level in range(levels)] if axis in table.unordered else range(levels)
    tuner = Tuner(space, method, seed=seed)
    for _ in range(BUDGET):
        setting = tuner.ask()
        tuner.tell(setting, float(table.regrets[tuple(map(int, setting.values()))]))
    return min(tuner.risks)


def tpe(table: Table, seed: int) -> float:
    """Return the regret of optuna's default search."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        places = [
            trial.suggest_categorical(str(axis), list(range(levels)))
            if axis in table.unordered
            else trial.suggest_int(str(axis), 0, levels - 1)
            for axis, levels in enumerate(table.regrets.shape)
        ]
        return float(table.regrets[tuple(places)])

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=BUDGET)
    return float(study.best_value)


def run(full: bool = False) -> Iterator[Figure | str]:
    """Yield mean regrets as shares of those of the peers, with standard errors, over 100 seeds in any case."""
    try:
        import optuna  # noqa: F401

        peers: dict[str, Callable[[Table, int], float]] = {"optuna's TPE": tpe}
    except ImportError:
        yield "    optuna is not installed: its search is left out (pip install 'kullback[bench]')."
        peers = {}
    peers["random search"] = functools.partial(ours, method="random")
    for table in (wine(), digits(), *((iris(), diabetes()) if full else ())):
        mine = np.array([ours(table, seed) for seed in range(SEEDS)])
        yield f"    {table.name}: regret {_written(mine)}"
        for name, peer in peers.items():
            theirs = np.array([peer(table, seed) for seed in range(SEEDS)])
            yield f"    {table.name}: regret of {name} {_written(theirs)}"
            what = f"{table.name}, {BUDGET} evaluations (± {_error(mine, theirs):.2f})"
            yield Figure(what, f"of the regret of {name}", float(mine.mean() / theirs.mean()), 1.0)


def _written(regrets: NDArray[np.float64]) -> str:
    error = regrets.std(ddof=1) / np.sqrt(len(regrets))
    return f"{regrets.mean():.5f} ± {error:.5f}, none in {np.mean(regrets == 0):.0%}"


def _error(mine: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """Return the standard error of the ratio of two means, paired by seed."""
    ratio = mine.mean() / theirs.mean()
    return float(np.std(mine - ratio * theirs, ddof=1) / theirs.mean() / np.sqrt(len(mine)))
