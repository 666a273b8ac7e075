"""The Kalman smoother and an iteration of EM: against statsmodels' smoother, and against pykalman."""

import statistics
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from benchmarks._timing import Figure, Row, seconds
from kullback.estimators import LinearDynamicalSystem
from kullback.models import LinearDynamicalSystem as Model

STEPS, SIZES = 20_000, ((4, 2), (10, 5))
MISSING = 0.05


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare smoothing and EM, with nothing missing and with a twentieth of the entries missing."""
    try:
        from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother
    except ImportError:
        print("kalman: statsmodels is not installed, so there is nothing to compare with")
        return
    rounds = 7 if full else 3
    for q, n in SIZES:
        model, X = problem(q, n)
        holes = np.where(np.random.default_rng(1).random(X.shape) < MISSING, np.nan, X)
        for name, data, target in (("", X, 5.0), (", 5 % missing", holes, 1.0)):
            smoother = _statsmodels(KalmanSmoother, model, data)
            system = LinearDynamicalSystem.from_model(model)
            mean = smoother.smooth().smoothed_state.T
            np.testing.assert_allclose(system.smooth(data)[0], mean, rtol=1e-6, atol=1e-6)
            size = f"{STEPS:,} steps, {q} states, {n} outputs{name}"
            peer = f"statsmodels {version('statsmodels')}, smoother"
            yield _in_turn(
                f"smoothing, {size}", peer, lambda s=system, d=data: s.smooth(d), smoother.smooth, target, rounds
            )
            yield _in_turn(f"EM iteration, {size}", peer, _iteration(system, data), smoother.smooth, target, rounds)
    yield from _against_pykalman(full)


def problem(q: int, n: int) -> tuple[Model, np.ndarray]:
    """Return a stable system, and a series drawn from it."""
    rng = np.random.default_rng(q)
    turn, _ = np.linalg.qr(rng.normal(size=(q, q)))
    with jax.enable_x64(True):
        model = Model(0.95 * turn, rng.normal(size=(n, q)), 0.3 * np.eye(q), np.eye(n), np.zeros(q), np.eye(q))
        drawn = np.asarray(model.sample_sequence(jax.random.key(0), STEPS)[1])
        return jax.tree.map(np.asarray, model), drawn


def _statsmodels(cls: Any, model: Model, X: np.ndarray) -> Any:
    q, n = model.transition.shape[0], model.observation.shape[0]
    smoother = cls(k_endog=n, k_states=q, k_posdef=q)
    smoother.bind(np.asfortranarray(X.T))
    parts = {"transition": model.transition, "design": model.observation, "selection": np.eye(q)}
    for name, value in (parts | {"state_cov": model.transition_noise, "obs_cov": model.observation_noise}).items():
        smoother[name] = value
    smoother.initialize_known(model.initial_mean, model.initial_covariance)
    return smoother


def _iteration(system: LinearDynamicalSystem, X: np.ndarray) -> Callable[[], Any]:
    """Return a function that takes the time of one iteration: a tenth of ten."""
    start = system.to_model()

    def fit() -> Any:
        return LinearDynamicalSystem.from_model(start, warm_start=True, max_iter=10, tol=0.0).fit(X)

    return fit


def _in_turn(
    what: str, peer: str, ours: Callable[[], Any], theirs: Callable[[], Any], target: float, rounds: int
) -> Row:
    share = 10 if what.startswith("EM") else 1
    ours(), theirs()
    pairs = [(seconds(ours) / share, seconds(theirs)) for _ in range(rounds)]
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Row(what, peer, other, mine, target, statistics.median(b / a for a, b in pairs))


def _against_pykalman(full: bool) -> Iterator[Row]:
    try:
        import pykalman
    except ImportError:
        print("kalman: pykalman is not installed, so it is left out")
        return
    for q, n in SIZES if full else SIZES[:1]:
        model, X = problem(q, n)
        system = LinearDynamicalSystem.from_model(model)
        theirs = pykalman.KalmanFilter(
            model.transition,
            model.observation,
            model.transition_noise,
            model.observation_noise,
            initial_state_mean=model.initial_mean,
            initial_state_covariance=model.initial_covariance,
        )
        peer = f"pykalman {version('pykalman')}"
        size = f"{STEPS:,} steps, {q} states, {n} outputs"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _in_turn(
                f"smoothing, {size}",
                peer,
                lambda s=system, d=X: s.smooth(d),
                lambda f=theirs, d=X: f.smooth(d),
                100.0,
                1,
            )
            em = theirs
            yield _in_turn(
                f"EM iteration, {size}", peer, _iteration(system, X), lambda f=em, d=X: f.em(d, n_iter=1), 100.0, 1
            )
