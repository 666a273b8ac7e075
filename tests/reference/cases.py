"""Every estimator on fixed data and seeds, in each way that it learns: what the reference values were made from.

A case returns arrays: all numeric attributes_ of the learned estimator, and its score on fixed rows. There are few
sizes, so that few functions are compiled, and few iterations, so that rounding is not amplified.
"""

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import kullback.estimators as ke

Arrays = dict[str, np.ndarray]

#: Rows of a table that is fitted, and the sizes of the batches of a stream: all are padded to the same size.
ROWS, BATCHES = 240, (240, 200, 140)
#: Rows of the pieces of a series with a lag of 20: what waits and the next piece are as long as the first piece.
PIECES = (240, 220, 220)
#: Rows of a block: two are a table.
BLOCK = 120
K = 3

# --- tables -------------------------------------------------------------------------------------------------


def _rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng([13, *seed])


def _labels(seed: int, k: int = K) -> np.ndarray:
    return _rng(seed).integers(k, size=sum(BATCHES))


def _holes(X: np.ndarray, seed: int) -> np.ndarray:
    return np.where(_rng(seed, 1).random(X.shape) < 0.1, np.nan, X)


CENTERS = np.array([[-2.0, 0.0, 1.0], [1.0, 2.5, -1.0], [2.0, -2.0, 0.0]])
POINTS = CENTERS[_labels(0)] + _rng(0, 2).normal(size=(sum(BATCHES), 3)) @ np.array(
    [[1.0, 0.3, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.2]]
)
POINT_HOLES = _holes(POINTS, 0)
WEIGHTS = _rng(1).choice([0.0, 0.5, 1.0, 2.0], sum(BATCHES), p=[0.1, 0.3, 0.3, 0.3])
BITS = (_rng(2, 2).random((sum(BATCHES), 3)) < np.array([[0.8, 0.2, 0.7], [0.3, 0.7, 0.1]])[_labels(2, 2)]).astype(
    float
)
COUNTS = _rng(3, 2).poisson(np.array([[1.0, 7.0, 3.0], [6.0, 2.0, 3.0]])[_labels(3, 2)]).astype(float)
CATEGORIES = np.where(
    _rng(4, 2).random((sum(BATCHES), 3)) < 0.6,
    np.array([[0, 1, 3], [2, 3, 0]])[_labels(4, 2)],
    _rng(4, 3).integers(4, size=(sum(BATCHES), 3)),
).astype(float)
TALLIES = np.stack([
    _rng(5, row).multinomial(12, _rng(5, row, 1).dirichlet(6 * np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])[label]))
    for row, label in enumerate(_labels(5, 2))
]).astype(float)  # fmt: skip
SHARES = np.stack([_rng(6, row).dirichlet(9 * CENTERS[label] ** 2 + 2) for row, label in enumerate(_labels(6))])
POSITIVE = _rng(7, 2).gamma(3.0, np.array([[1.0, 4.0, 2.0], [3.0, 1.0, 2.0]])[_labels(7, 2)])
ANGLES = _rng(8, 2).vonmises(np.array([[-1.5, 0.0, 1.0], [1.5, 2.0, -1.0]])[_labels(8, 2)], 3.0)
MIXED = np.stack([POINTS[:, 0], POINTS[:, 1], COUNTS[:, 0], CATEGORIES[:, 0]], axis=1)
MIXED_FAMILIES = ["gaussian", "gaussian", "poisson", "categorical"]
FACTORS = _rng(9).normal(size=(sum(BATCHES), 2)) @ np.array(
    [[2.0, 1.0, 0.0, -1.0, 0.5], [0.0, 1.0, -1.5, 0.5, 1.0]]
) + _rng(9, 1).normal(0, [0.5, 0.7, 0.6, 0.8, 0.4], (sum(BATCHES), 5))

# --- sequences ----------------------------------------------------------------------------------------------

LENGTHS = [79, 1, 40, 120]
SEQUENCE_WEIGHTS = [1.0, 0.0, 0.5, 2.0]
START = np.array([0.5, 0.3, 0.2])
MOVES = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
SYMBOL_CHANCES = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.2, 0.4, 0.3, 0.1]])
RATES = np.array([[1.0, 4.0], [6.0, 2.0], [3.0, 9.0]])
MEANS = np.array([[0.0, 0.0], [2.5, -1.0], [-1.0, 2.5]])
COVARS = {
    "spherical": np.array([1.0, 0.5, 2.0]),
    "diag": np.array([[1.0, 0.5], [0.7, 2.0], [1.5, 1.0]]),
    "full": np.array([[[1.0, 0.3], [0.3, 1.0]], [[0.7, -0.2], [-0.2, 1.5]], [[2.0, 0.5], [0.5, 1.0]]]),
    "tied": np.array([[1.0, 0.3], [0.3, 1.2]]),
}


def _path(rows: int) -> np.ndarray:
    draws, edges = _rng(20).random(rows), MOVES.cumsum(axis=1)
    path = np.zeros(rows, dtype=int)
    for t in range(1, rows):
        path[t] = min(np.searchsorted(edges[path[t - 1]], draws[t]), K - 1)
    return path


PATH = _path(3 * ROWS)
SERIES = MEANS[PATH] + _rng(21).normal(size=(len(PATH), 2))
SERIES_HOLES = _holes(SERIES, 21)
SERIES_COUNTS = _rng(22).poisson(RATES[PATH]).astype(float)
SYMBOLS = np.array([[_rng(23, t).choice(4, p=SYMBOL_CHANCES[state])] for t, state in enumerate(PATH)], dtype=float)
SERIES_TALLIES = np.stack([_rng(24, t).multinomial(6, SYMBOL_CHANCES[state]) for t, state in enumerate(PATH)])
SERIES_MIXED = np.stack([SERIES[:, 0], SERIES_COUNTS[:, 1]], axis=1)
SERIES_FAMILIES = ["gaussian", "poisson"]

#: A system that turns slowly.
TURN = 0.9 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
OBSERVATION = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, 0.7]])
INPUTS = _rng(25).normal(size=(3 * ROWS, 1))


def _outputs() -> np.ndarray:
    rng, state, rows = _rng(26), np.zeros(2), []
    for known in INPUTS:
        state = TURN @ state + known * [0.8, -0.4] + rng.normal(0, 0.5, 2)
        rows.append(OBSERVATION @ state + rng.normal(0, [0.4, 0.6, 0.5]) + [3.0, -1.0, 0.0])
    return np.array(rows)


OUTPUTS = _outputs()
OUTPUT_HOLES = _holes(OUTPUTS, 26)
OUTPUT_HOLES[[30, 31, 200]] = np.nan

# --- ways to learn ------------------------------------------------------------------------------------------


def _parts(*tables: Any, sizes: Iterable[int] = BATCHES) -> list[Any]:
    """Return the batches of a table, or tuples of batches of several."""
    ends = np.cumsum(list(sizes))
    split = [np.split(table[: ends[-1]], ends[:-1]) for table in tables]
    return list(split[0]) if len(tables) == 1 else list(zip(*split, strict=True))


def _stream(estimator: Any, batches: Iterable[Any], names: tuple[str, ...] = (), **more: Any) -> Any:
    """Learn by `partial_fit`, from tables or from tuples of a table and what these names say."""
    for batch in batches:
        X, *rest = batch if isinstance(batch, tuple) else (batch,)
        estimator.partial_fit(X, **dict(zip(names, rest, strict=True)), **more)
    return estimator


def _dask(fit: Callable[..., Any], X: np.ndarray, chunks: Any, **arguments: Any) -> Any:
    """Fit to blocks, one after the other."""
    import dask
    import dask.array as da

    with dask.config.set(scheduler="synchronous"):
        return fit(da.from_array(X, chunks=chunks), **arguments)


def _started(estimator: Any, **attributes: Any) -> Any:
    """Set a start by hand; that of chains is always the same."""
    if "transition_" not in attributes:
        attributes |= {"startprob_": START.copy(), "transmat_": MOVES.copy()}
    for name, value in attributes.items():
        setattr(estimator, name, np.copy(value))
    return estimator


def _decaying(step: int) -> float:
    return (step + 2) ** -0.7


#: Attributes_ that are worked out when they are asked for, and that `dir` need not list.
DERIVED = ("precisions_", "precisions_cholesky_")


def told(estimator: Any, score: float) -> Arrays:
    """Return all that an estimator says in numbers."""
    found: Arrays = {"score": np.float64(score)}
    for name in (*dir(estimator), *DERIVED):
        if name.endswith("_") and not name.startswith("_") and hasattr(estimator, name):
            value = np.asarray(getattr(estimator, name))
            if value.dtype.kind in "biuf":
                found[name] = value
    if hasattr(estimator, "monitor_"):
        found["monitor_.history"] = np.array(list(estimator.monitor_.history), dtype=np.float64)
    return {name: np.array(value) for name, value in found.items()}


# --- cases --------------------------------------------------------------------------------------------------

CASES: dict[str, Callable[[], Arrays]] = {}
#: The cases that `make test` runs: each way to learn, and most estimators.
QUICK = {
    "GaussianMixture full, fit",
    "GaussianMixture full, partial_fit",
    "GaussianMixture full, partial_fit with weights",
    "GaussianMixture, fit with weights",
    "GaussianMixture, fit until it converges",
    "GaussianMixture, fit that goes on",
    "GaussianMixture, fit that goes on after a stream",
    "GaussianMixture, fit without an iteration",
    "GaussianMixture, fit from a start that is given",
    "GaussianMixture, partial_fit at a rate",
    "GaussianMixture, partial_fit at the rate of a function",
    "GaussianMixture, fit_stream",
    "GaussianMixture, fit_stream with weights",
    "GaussianMixture, fit_stream that begins with few rows",
    "GaussianMixture, combine as they are",
    "Mixture of mixed columns, fit",
    "Mixture of mixed columns, fit until it converges",
    "BernoulliMixture, fit",
    "PoissonMixture, fit",
    "CompoundDirichlet, fit",
    "ProbabilisticPCA, fit",
    "FactorAnalysis, partial_fit",
    "FactorAnalysis, fit_stream",
    "GaussianHMM diag, fit",
    "GaussianHMM diag, fit with priors",
    "GaussianHMM diag, partial_fit",
    "GaussianHMM diag, series that goes on",
    "GaussianHMM, fit of one sequence",
    "GaussianHMM, fit with weights",
    "GaussianHMM, fit until it converges",
    "GaussianHMM, fit from two starts",
    "GaussianHMM, partial_fit from a start of its own",
    "GaussianHMM, partial_fit with weights and priors",
    "GaussianHMM, series that goes on without a lag",
    "GaussianHMM, series that ends",
    "GaussianHMM, fit to blocks",
    "CategoricalHMM, fit with priors",
    "CategoricalHMM, fit until it converges",
    "HMM, fit",
    "LinearDynamicalSystem, fit with inputs, weights and missing entries",
}


def _case(name: str, learn: Callable[[], Any], score: Callable[[Any], float]) -> None:
    @functools.wraps(learn)
    def arrays() -> Arrays:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator = learn()
        return told(estimator, score(estimator))

    assert name not in CASES, name
    CASES[name] = arrays


def _table(name: str, X: np.ndarray, learn: Callable[[], Any]) -> None:
    """Add a case of rows that are independent."""
    _case(name, learn, lambda estimator: estimator.score(X[-ROWS:]))


def _sequence(name: str, X: np.ndarray, learn: Callable[[], Any]) -> None:
    """Add a case of a hidden Markov model."""
    _case(name, learn, lambda estimator: estimator.score(X[-ROWS:], LENGTHS))


def _system(name: str, X: np.ndarray, learn: Callable[[], Any]) -> None:
    """Add a case of a linear dynamical system."""

    def score(estimator: Any) -> float:
        known = INPUTS[-ROWS:] if hasattr(estimator, "input_transition_") else None
        return estimator.score(X[-ROWS:], LENGTHS, known)

    _case(name, learn, score)


def _gaussian_mixtures() -> None:
    X, holes, weights = POINTS[:ROWS], POINT_HOLES[:ROWS], WEIGHTS[:ROWS]

    def mixture(**parameters: Any) -> ke.GaussianMixture:
        return ke.GaussianMixture(K, **{"random_state": 0, "max_iter": 3, "tol": 0.0, **parameters})

    def warm(**parameters: Any) -> ke.GaussianMixture:
        first = mixture(warm_start=True, **parameters).fit(X)
        return first.fit(POINTS[ROWS : 2 * ROWS])

    for kind in ("full", "tied", "diag", "spherical"):
        make = functools.partial(mixture, covariance_type=kind)
        _table(f"GaussianMixture {kind}, fit", POINTS, lambda m=make: m().fit(X))
        _table(f"GaussianMixture {kind}, partial_fit", POINTS, lambda m=make: _stream(m(), _parts(POINTS)))
        _table(
            f"GaussianMixture {kind}, partial_fit with weights",
            POINTS,
            lambda m=make: _stream(m(), _parts(POINTS, WEIGHTS), ("sample_weight",)),
        )
    for kind in ("full", "diag"):
        _table(
            f"GaussianMixture {kind}, fit with missing entries",
            POINTS,
            lambda k=kind: mixture(covariance_type=k).fit(holes),
        )
        _table(
            f"GaussianMixture {kind}, partial_fit with missing entries",
            POINTS,
            lambda k=kind: _stream(mixture(covariance_type=k), _parts(POINT_HOLES)),
        )
    _table("GaussianMixture, fit with weights", POINTS, lambda: mixture().fit(X, sample_weight=weights))
    _table("GaussianMixture, fit until it converges", POINTS, lambda: mixture(max_iter=100, tol=1e-4).fit(X))
    _table("GaussianMixture, fit from two starts", POINTS, lambda: mixture(n_init=2, init_params="k-means++").fit(X))
    _table("GaussianMixture, fit without an iteration", POINTS, lambda: mixture(max_iter=0).fit(X))
    _table("GaussianMixture, fit that goes on", POINTS, warm)
    _table("GaussianMixture, fit that goes on until it converges", POINTS, lambda: warm(max_iter=100, tol=1e-4))
    _table("GaussianMixture, fit at temperature 0", POINTS, lambda: mixture(temperature=0.0).fit(X))
    _table("GaussianMixture, fit after a stream", POINTS, lambda: _stream(mixture(), _parts(POINTS)).fit(X))
    _table(
        "GaussianMixture, fit that goes on after a stream",
        POINTS,
        lambda: _stream(mixture(warm_start=True), _parts(POINTS)).fit(X),
    )
    for init in ("random", "random_from_data"):
        _table(f"GaussianMixture, fit from init_params={init!r}", POINTS, lambda i=init: mixture(init_params=i).fit(X))
    _table(
        "GaussianMixture, fit from a start that is given",
        POINTS,
        lambda: mixture(
            weights_init=START, means_init=0.5 * CENTERS, precisions_init=np.tile(np.eye(3), (K, 1, 1))
        ).fit(X),
    )
    _table("GaussianMixture, partial_fit at a rate", POINTS, lambda: _stream(mixture(rate=0.3), _parts(POINTS)))
    _table(
        "GaussianMixture, partial_fit at the rate of a function",
        POINTS,
        lambda: _stream(mixture(rate=_decaying), _parts(POINTS)),
    )
    _table("GaussianMixture, partial_fit after a fit", POINTS, lambda: _stream(mixture().fit(X), _parts(POINTS)[1:]))
    _table("GaussianMixture, fit_stream", POINTS, lambda: mixture().fit_stream(_parts(POINTS), passes=2))
    _table("GaussianMixture, fit_stream with weights", POINTS, lambda: mixture().fit_stream(_parts(POINTS, WEIGHTS)))
    _table(
        "GaussianMixture, fit_stream that begins with few rows",
        POINTS,
        lambda: mixture().fit_stream([POINTS[:1], POINTS[1:2], POINTS[2:ROWS], POINTS[ROWS : ROWS + 200]]),
    )
    _table(
        "GaussianMixture, fit to blocks",
        POINTS,
        lambda: _dask(mixture().fit, holes, (BLOCK, 3), sample_weight=weights),
    )

    def sites(**parameters: Any) -> list[ke.GaussianMixture]:
        start = {"weights_init": START, "means_init": CENTERS, "precisions_init": np.tile(np.eye(3), (K, 1, 1))}
        return [mixture(**start, **parameters).fit(X), mixture(**start, **parameters).fit(POINTS[ROWS : ROWS + 200])]

    def reduced() -> Any:
        other = ke.GaussianMixture(2, random_state=1, max_iter=3, tol=0.0).fit(POINTS[ROWS : ROWS + 200])
        return ke.combine([*sites(), other], n_components=K)

    _table("GaussianMixture, combine", POINTS, lambda: ke.combine(sites()))
    _table("GaussianMixture, combine as they are", POINTS, lambda: ke.combine(sites(), [1, 3], align=False))
    _table("GaussianMixture, combine into fewer components", POINTS, reduced)


#: For each family: the table, the number of columns and further parameters.
FAMILIES: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    "gaussian": (POINTS, {"tied": True}),
    "diagonal_gaussian": (POINTS, {}),
    "spherical_gaussian": (POINTS, {"tied": True, "equal_weights": True, "temperature": 0.0}),
    "bernoulli": (BITS, {}),
    "categorical": (CATEGORIES, {"n_categories": [4, 5, 4]}),
    "poisson": (COUNTS, {}),
    "exponential": (POSITIVE, {"equal_weights": True}),
    "gamma": (POSITIVE, {}),
    "von_mises": (ANGLES, {}),
    "dirichlet": (SHARES, {}),
    "multinomial": (TALLIES, {}),
    "compound_dirichlet": (TALLIES, {}),
    "ising": (2 * BITS - 1, {}),
}


def _family_mixtures() -> None:
    def mixture(family: Any, **parameters: Any) -> ke.Mixture:
        return ke.Mixture(2, family=family, **{"random_state": 0, "max_iter": 3, "tol": 0.0, **parameters})

    for family, (X, parameters) in FAMILIES.items():
        make = functools.partial(mixture, family, **parameters)
        _table(f"Mixture of {family}, fit", X, lambda m=make, X=X: m().fit(X[:ROWS]))
        if family in ("gaussian", "gamma"):
            _table(f"Mixture of {family}, partial_fit", X, lambda m=make, X=X: _stream(m(), _parts(X)))
        if family == "bernoulli":
            _table("Mixture of bool, fit", BITS, lambda: mixture("auto").fit(BITS[:ROWS].astype(bool)))
    mixed, holes = functools.partial(mixture, MIXED_FAMILIES), _holes(MIXED, 30)
    X = MIXED[:ROWS]
    _table("Mixture of mixed columns, fit", MIXED, lambda: mixed().fit(X))
    _table("Mixture of mixed columns, fit until it converges", MIXED, lambda: mixed(max_iter=200, tol=1e-3).fit(X))
    _table(
        "Mixture of mixed columns, fit with weights and missing entries",
        MIXED,
        lambda: mixed(n_init=2).fit(holes[:ROWS], sample_weight=WEIGHTS[:ROWS]),
    )
    _table("Mixture of mixed columns, partial_fit", MIXED, lambda: _stream(mixed(), _parts(MIXED)))
    _table(
        "Mixture of mixed columns, partial_fit with weights and missing entries",
        MIXED,
        lambda: _stream(mixed(rate=_decaying), _parts(holes, WEIGHTS), ("sample_weight",)),
    )
    _table("Mixture of mixed columns, fit_stream", MIXED, lambda: mixed(rate=0.4).fit_stream(_parts(MIXED)))
    _table("Mixture of mixed columns, fit to blocks", MIXED, lambda: _dask(mixed().fit, X, (BLOCK, 2)))
    _table(
        "Mixture of mixed columns, combine",
        MIXED,
        lambda: ke.combine([mixed().fit(X), mixed().fit(MIXED[ROWS : ROWS + 200])]),
    )


def _discrete_mixtures() -> None:
    kinds: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
        "BernoulliMixture": (BITS, {"smoothing": 0.5}),
        "PoissonMixture": (COUNTS, {}),
        "CategoricalMixture": (CATEGORIES, {"smoothing": 1.0, "n_categories": 4}),
    }
    for name, (table, more) in kinds.items():

        def mixture(name: str = name, **parameters: Any) -> Any:
            return getattr(ke, name)(2, **{"random_state": 0, "max_iter": 3, "tol": 0.0, **parameters})

        X, holes, smooth = table[:ROWS], _holes(table, 31), functools.partial(mixture, **more)
        _table(f"{name}, fit", table, lambda m=mixture, X=X: m().fit(X))
        _table(f"{name}, fit until it converges", table, lambda m=mixture, X=X: m(max_iter=200, tol=2e-4).fit(X))
        _table(
            f"{name}, fit with weights and missing entries",
            table,
            lambda m=smooth, X=holes[:ROWS]: m(n_init=2).fit(X, sample_weight=WEIGHTS[:ROWS]),
        )
        _table(f"{name}, partial_fit", table, lambda m=mixture, X=table: _stream(m(rate=0.3), _parts(X)))
        _table(
            f"{name}, partial_fit with weights and missing entries",
            table,
            lambda m=smooth, X=holes: _stream(m(), _parts(X, WEIGHTS), ("sample_weight",)),
        )
        _table(f"{name}, fit_stream", table, lambda m=smooth, X=table: m(rate=_decaying).fit_stream(_parts(X)))
        if name != "BernoulliMixture":
            _table(f"{name}, fit to blocks", table, lambda m=smooth, X=X: _dask(m().fit, X, BLOCK))
        _table(
            f"{name}, combine",
            table,
            lambda m=mixture, X=table: ke.combine([m().fit(X[:ROWS]), m().fit(X[ROWS : ROWS + 200])]),
        )


def _factor_models() -> None:
    def counts(**parameters: Any) -> ke.CompoundDirichlet:
        return ke.CompoundDirichlet(**{"max_iter": 3, "tol": 0.0, **parameters})

    kinds: dict[str, tuple[np.ndarray, Callable[..., Any], float]] = {
        "CompoundDirichlet": (TALLIES, counts, 1e-5),
    }
    for name in ("ProbabilisticPCA", "FactorAnalysis"):

        def factors(name: str = name, **parameters: Any) -> Any:
            return getattr(ke, name)(2, **{"random_state": 0, "max_iter": 3, "tol": 0.0, **parameters})

        kinds[name] = (FACTORS, factors, 1e-3)
    for name, (table, make, tol) in kinds.items():
        X = table[:ROWS]
        # of counts a row is there or missing as a whole
        some = _rng(32).random(len(table)) < 0.1
        holes = np.where(some[:, None], np.nan, table) if table is TALLIES else _holes(table, 32)
        _table(f"{name}, fit", table, lambda m=make, X=X: m().fit(X))
        _table(
            f"{name}, fit with missing entries until it converges",
            table,
            lambda m=make, X=holes[:ROWS], tol=tol: m(max_iter=500, tol=tol).fit(X),
        )
        _table(
            f"{name}, fit with weights and missing entries",
            table,
            lambda m=make, X=holes[:ROWS]: m().fit(X, sample_weight=WEIGHTS[:ROWS]),
        )
        _table(f"{name}, partial_fit", table, lambda m=make, X=table: _stream(m(), _parts(X)))
        _table(
            f"{name}, partial_fit with weights{'' if name == 'CompoundDirichlet' else ' and missing entries'}",
            table,
            lambda m=make, X=table if name == "CompoundDirichlet" else holes: _stream(
                m(rate=0.3), _parts(X, WEIGHTS), ("sample_weight",)
            ),
        )
        _table(f"{name}, fit_stream", table, lambda m=make, X=table: m(rate=_decaying).fit_stream(_parts(X), 2))
        if name != "FactorAnalysis":
            _table(f"{name}, fit to blocks", table, lambda m=make, X=X: _dask(m().fit, X, (BLOCK, 2)))
        _table(
            f"{name}, combine",
            table,
            lambda m=make, X=table: ke.combine([m().fit(X[:ROWS]), m().fit(X[ROWS : ROWS + 200])]),
        )


def _gaussian_hmms() -> None:
    X, holes = SERIES[:ROWS], SERIES_HOLES[:ROWS]

    def chain(kind: str = "diag", **parameters: Any) -> ke.GaussianHMM:
        return ke.GaussianHMM(K, kind, **{"random_state": 0, "n_iter": 3, "tol": -np.inf, **parameters})

    def given(kind: str = "diag", **parameters: Any) -> ke.GaussianHMM:
        return _started(chain(kind, init_params="", **parameters), means_=MEANS, covars_=COVARS[kind])

    batches, pieces = _parts(SERIES, sizes=[ROWS] * 3), _parts(SERIES, sizes=PIECES)
    _sequence("GaussianHMM diag, fit", SERIES, lambda: chain().fit(X, LENGTHS))
    _sequence("GaussianHMM diag, partial_fit", SERIES, lambda: _stream(given(), batches))
    _sequence("GaussianHMM diag, series that goes on", SERIES, lambda: _stream(given(), pieces, continues=True))
    _sequence("GaussianHMM, fit of one sequence", SERIES, lambda: chain().fit(X))
    _sequence("GaussianHMM, fit with weights", SERIES, lambda: chain().fit(X, LENGTHS, sample_weight=SEQUENCE_WEIGHTS))
    _sequence("GaussianHMM, fit until it converges", SERIES, lambda: chain(n_iter=100, tol=0.5).fit(X, LENGTHS))
    _sequence("GaussianHMM, fit from two starts", SERIES, lambda: chain(n_init=2).fit(X, LENGTHS))
    priors = {"means_prior": [1.0, -1.0], "means_weight": 3.0, "covars_prior": 0.5, "covars_weight": 4.0}
    priors |= {"startprob_prior": 2.0, "transmat_prior": 1.0 + MOVES}
    _sequence("GaussianHMM diag, fit with priors", SERIES, lambda: given(**priors).fit(X, LENGTHS))
    _sequence("GaussianHMM, fit that starts 'st'", SERIES, lambda: given().set_params(init_params="st").fit(X, LENGTHS))
    _sequence(
        "GaussianHMM, partial_fit from a start of its own",
        SERIES,
        lambda: _stream(chain(rate=_decaying), batches, lengths=LENGTHS),
    )
    _sequence(
        "GaussianHMM, partial_fit with weights and priors",
        SERIES,
        lambda: _stream(
            given(means_prior=1.0, means_weight=2.0),
            batches,
            lengths=LENGTHS,
            sample_weight=SEQUENCE_WEIGHTS,
        ),
    )
    _sequence(
        "GaussianHMM, series that goes on with missing entries",
        SERIES,
        lambda: _stream(given(), _parts(SERIES_HOLES, sizes=PIECES), continues=True),
    )
    _sequence(
        "GaussianHMM, series that goes on in short pieces",
        SERIES,
        lambda: _stream(given(rate=0.3), _parts(SERIES, sizes=[35] * 20), continues=True),
    )
    _sequence(
        "GaussianHMM, series that goes on without a lag",
        SERIES,
        lambda: _stream(given(lag=0), batches, continues=True),
    )
    _sequence(
        "GaussianHMM, series that ends",
        SERIES,
        lambda: _stream(given(), pieces, continues=True).partial_fit(SERIES[:220]),
    )
    _sequence(
        "GaussianHMM, sequences of which the last goes on",
        SERIES,
        lambda: _stream(
            given(lag=500),
            [(SERIES[:ROWS], [160, 80]), (SERIES[ROWS : ROWS + 160], None)],
            ("lengths",),
            continues=True,
        ),
    )
    _sequence("GaussianHMM, fit_stream", SERIES, lambda: chain().fit_stream(pieces))
    _sequence("GaussianHMM, fit_stream in two passes", SERIES, lambda: given().fit_stream(pieces, 2))
    _sequence("GaussianHMM, fit to blocks", SERIES, lambda: _dask(chain().fit, X, BLOCK, lengths=LENGTHS))
    for kind, params in (("full", "stm"), ("tied", "tm"), ("spherical", "stmc")):
        _sequence(f"GaussianHMM {kind}, fit", SERIES, lambda k=kind: chain(k).fit(X, LENGTHS))
        _sequence(
            f"GaussianHMM {kind}, fit of {params!r} with priors",
            SERIES,
            lambda k=kind, p=params: given(k, params=p, **priors).fit(X, LENGTHS),
        )
    _sequence(
        "GaussianHMM full, partial_fit of 'stm'",
        SERIES,
        lambda: _stream(given("full", params="stm", rate=0.3), batches),
    )
    _sequence("GaussianHMM full, fit with missing entries", SERIES, lambda: given("full").fit(holes, LENGTHS))
    _sequence(
        "GaussianHMM full, fit to blocks with weights and missing entries",
        SERIES,
        lambda: _dask(given("full").fit, holes, BLOCK, lengths=LENGTHS, sample_weight=SEQUENCE_WEIGHTS),
    )
    _sequence(
        "GaussianHMM, combine", SERIES, lambda: ke.combine([given().fit(X, LENGTHS), given().fit(batches[1], LENGTHS)])
    )


def _other_hmms() -> None:
    kinds: dict[str, tuple[np.ndarray, dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
        # the series, the start of the emissions, parameters, priors, and letters to learn
        "CategoricalHMM": (
            SYMBOLS,
            {"emissionprob_": SYMBOL_CHANCES},
            {"n_features": 4},
            {"emissionprob_prior": 1.5, "transmat_prior": 2.0},
            "te",
        ),
        "PoissonHMM": (
            SERIES_COUNTS,
            {"lambdas_": RATES},
            {},
            {"lambdas_prior": 2.0, "lambdas_weight": [1.0, 0.5]},
            "",
        ),
        "MultinomialHMM": (
            SERIES_TALLIES.astype(float),
            {"emissionprob_": SYMBOL_CHANCES, "totals_": np.full(K, 6.0)},
            {"n_trials": 6},
            {"startprob_prior": 1.5, "transmat_prior": 2.0},
            "",
        ),
        "HMM": (
            SERIES_MIXED,
            {},
            {"family": SERIES_FAMILIES},
            {"startprob_prior": 1.5, "transmat_prior": 2.0},
            "",
        ),
    }
    for name, (series, emissions, parameters, priors, letters) in kinds.items():
        X, pieces = series[:ROWS], _parts(series, sizes=PIECES)
        batches = _parts(series, sizes=[ROWS] * 3)
        holes = np.where(_rng(33).random((len(series), 1)) < 0.1, np.nan, series)

        def chain(name: str = name, parameters: dict[str, Any] = parameters, **more: Any) -> Any:
            return getattr(ke, name)(K, **{"random_state": 0, "n_iter": 3, "tol": -np.inf, **parameters, **more})

        def given(
            emissions: dict[str, Any] = emissions, chain: Callable[..., Any] = chain, X: np.ndarray = X, **more: Any
        ) -> Any:
            if emissions:
                return _started(chain(init_params="", **more), **emissions)
            start = chain(n_iter=1).fit(X, LENGTHS).to_model()
            return ke.HMM.from_model(
                start, **{"n_iter": 3, "tol": -np.inf, "init_params": "", "n_categories": 4, **more}
            )

        _sequence(f"{name}, fit", series, lambda c=chain, X=X: c().fit(X, LENGTHS))
        _sequence(
            f"{name}, fit until it converges", series, lambda g=given, X=X: g(n_iter=100, tol=0.5).fit(X, LENGTHS)
        )
        some = holes if name == "CategoricalHMM" else series
        _sequence(
            f"{name}, fit with weights{' and missing rows' if some is holes else ''}",
            series,
            lambda g=given, X=some[:ROWS]: g().fit(X, LENGTHS, sample_weight=SEQUENCE_WEIGHTS),
        )
        _sequence(f"{name}, fit with priors", series, lambda g=given, X=X, p=priors: g(**p).fit(X, LENGTHS))
        if letters:
            _sequence(
                f"{name}, fit of {letters!r}", series, lambda g=given, X=X, p=letters: g(params=p).fit(X, LENGTHS)
            )
        _sequence(f"{name}, partial_fit", series, lambda g=given, b=batches: _stream(g(), b))
        _sequence(
            f"{name}, partial_fit with weights and priors",
            series,
            lambda g=given, b=batches, p=priors: _stream(
                g(rate=_decaying, **p), b, lengths=LENGTHS, sample_weight=SEQUENCE_WEIGHTS
            ),
        )
        _sequence(
            f"{name}, series that goes on",
            series,
            lambda g=given, p=pieces: _stream(g(rate=0.3), p, continues=True),
        )
        _sequence(f"{name}, fit_stream", series, lambda g=given, b=batches: g(lag=0).fit_stream(b))
        if name == "CategoricalHMM":
            _sequence(f"{name}, fit to blocks", series, lambda g=given, X=X: _dask(g().fit, X, BLOCK, lengths=LENGTHS))
        _sequence(
            f"{name}, combine",
            series,
            lambda g=given, a=X, b=batches[1]: ke.combine([g().fit(a, LENGTHS), g().fit(b, LENGTHS)]),
        )


def _systems() -> None:
    X, holes, known = OUTPUTS[:ROWS], OUTPUT_HOLES[:ROWS], INPUTS[:ROWS]
    start = {
        "transition_": 0.8 * TURN,
        "observation_": OBSERVATION + 0.2,
        "transition_noise_": 0.5 * np.eye(2),
        "observation_noise_": np.eye(3),
        "initial_mean_": np.zeros(2),
        "initial_covariance_": np.eye(2),
        "offset_": X.mean(axis=0),
    }
    with_inputs = {"input_transition_": np.array([[0.5], [0.0]]), "input_observation_": np.zeros((3, 1))}

    def system(**parameters: Any) -> ke.LinearDynamicalSystem:
        return ke.LinearDynamicalSystem(2, **{"random_state": 0, "max_iter": 3, "tol": 0.0, **parameters})

    def given(inputs: bool = False, **parameters: Any) -> ke.LinearDynamicalSystem:
        return _started(system(warm_start=True, **parameters), **start, **(with_inputs if inputs else {}))

    _system("LinearDynamicalSystem, fit", OUTPUTS, lambda: system().fit(X, LENGTHS))
    _system("LinearDynamicalSystem, fit of one sequence", OUTPUTS, lambda: system().fit(X))
    _system(
        "LinearDynamicalSystem, fit with inputs and no offset",
        OUTPUTS,
        lambda: system(offset=False).fit(X, LENGTHS, known),
    )
    _system(
        "LinearDynamicalSystem, fit with inputs, weights and missing entries",
        OUTPUTS,
        lambda: given(True).fit(holes, LENGTHS, known, SEQUENCE_WEIGHTS),
    )
    _system(
        "LinearDynamicalSystem, fit until it converges", OUTPUTS, lambda: given(max_iter=100, tol=1e-2).fit(X, LENGTHS)
    )
    _system("LinearDynamicalSystem, fit from two starts", OUTPUTS, lambda: system(n_init=2).fit(X, LENGTHS))
    _system("LinearDynamicalSystem, fit that goes on", OUTPUTS, lambda: given().fit(X, LENGTHS).fit(holes, LENGTHS))
    _system(
        "LinearDynamicalSystem, fit with parameters that are fixed",
        OUTPUTS,
        lambda: given(fixed=("transition", "observation_noise")).fit(X, LENGTHS),
    )
    batches = _parts(OUTPUTS, sizes=[ROWS] * 3)
    _system("LinearDynamicalSystem, partial_fit", OUTPUTS, lambda: _stream(given(), batches))
    _system(
        "LinearDynamicalSystem, partial_fit with weights",
        OUTPUTS,
        lambda: _stream(given(rate=0.3), batches, lengths=LENGTHS, sample_weight=SEQUENCE_WEIGHTS),
    )
    _system(
        "LinearDynamicalSystem, partial_fit with inputs and missing entries",
        OUTPUTS,
        lambda: _stream(given(True, rate=_decaying), _parts(OUTPUT_HOLES, INPUTS, sizes=[ROWS] * 3), ("inputs",)),
    )
    _system("LinearDynamicalSystem, partial_fit from a start of its own", OUTPUTS, lambda: _stream(system(), batches))
    pieces = _parts(OUTPUT_HOLES, INPUTS, sizes=PIECES)
    _system(
        "LinearDynamicalSystem, series that goes on with inputs and missing entries",
        OUTPUTS,
        lambda: _stream(given(True), pieces, ("inputs",), continues=True),
    )
    _system(
        "LinearDynamicalSystem, fit_stream with inputs and missing entries",
        OUTPUTS,
        lambda: given(True).fit_stream(pieces),
    )
    _system(
        "LinearDynamicalSystem, fit to blocks with inputs",
        OUTPUTS,
        lambda: _dask(given(True).fit, X, (BLOCK, 3), lengths=LENGTHS, inputs=known),
    )
    _system(
        "LinearDynamicalSystem, combine",
        OUTPUTS,
        lambda: ke.combine([given().fit(X, LENGTHS), given().fit(batches[1], LENGTHS)]),
    )


_gaussian_mixtures()
_family_mixtures()
_discrete_mixtures()
_factor_models()
_gaussian_hmms()
_other_hmms()
_systems()
assert set(CASES) >= QUICK, QUICK - set(CASES)
