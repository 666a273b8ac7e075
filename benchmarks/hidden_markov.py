"""Seconds per iteration of EM for hidden Markov models: against hmmlearn's two recursions, and against dynamax."""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from benchmarks._timing import Figure, Row
from benchmarks.gaussian_mixture import ours_and_theirs
from kullback import CategoricalHMM, GaussianHMM, PoissonHMM

STEPS, COLUMNS = 100_000, 4


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare Gaussians at 3, 8 and 32 states, with full covariances too for `full`; symbols, counts, whole scripts."""
    try:
        from hmmlearn.hmm import GaussianHMM as Theirs
    except ImportError:
        print("hidden_markov: hmmlearn is not installed, so there is nothing to compare with")
        return
    rounds = 5 if full else 3
    peer = f"hmmlearn {version('hmmlearn')}"
    for kind in ("diag", "full") if full else ("diag",):
        ratios = []
        for states in (3, 8, 32):
            X, start = problem(kind, states)
            ours = _fit(GaussianHMM, kind, states, X, start)
            for implementation, target in (("log", 3.0), ("scaling", 1.0)):
                theirs = _fit(Theirs, kind, states, X, start, implementation=implementation)
                np.testing.assert_allclose(ours(2).means_, theirs(2).means_, rtol=1e-6, atol=1e-6)
                row = _row(
                    f"EM of a {kind} HMM, {states} states", f"{peer}, {implementation}", ours, theirs, target, rounds
                )
                yield row
                if implementation == "scaling":
                    ratios.append(row.ratio)
        yield Figure(
            f"{kind} HMM, geometric mean", f"times {peer}, scaling", statistics.geometric_mean(ratios), 1.5, True
        )
    yield from _discrete(peer, rounds)
    yield from _whole_scripts(peer, rounds)
    yield from _against_dynamax(rounds)
    yield _stream(10 if full else 3)


def _discrete(peer: str, rounds: int) -> Iterator[Row]:
    """Compare symbols and counts with the quicker of hmmlearn's two recursions: the clock on the wall, and the CPU.

    hmmlearn has one thread. For as many here, start the benchmark on one core: `taskset -c 0`.
    """
    from hmmlearn import hmm

    for name, ours in (("CategoricalHMM", CategoricalHMM), ("PoissonHMM", PoissonHMM)):
        for states, steps, target in ((2, 15_000, 1.0), (2, STEPS, 1.5), (8, STEPS, 1.5)):
            X, start = discrete_problem(name, states, steps)
            fits = [_fit_discrete(ours, states, X, start)]
            for implementation in ("log", "scaling"):
                fits.append(_fit_discrete(getattr(hmm, name), states, X, start, implementation=implementation))
            iterations = 20 if steps < STEPS else 5
            found = [fit(2) for fit in fits]
            for theirs in found[1:]:
                np.testing.assert_allclose(found[0].transmat_, theirs.transmat_, rtol=1e-6, atol=1e-6)
            times = np.array([[_iteration(fit, iterations) for fit in fits] for _ in range(rounds)])
            for clock, what in enumerate(("wall", "CPU")):
                ours_each, best = times[:, 0, clock], times[:, 1:, clock].min(axis=1)
                yield Row(
                    f"EM of a {name}, {states} states × {steps:,}, {what}",
                    f"{peer}, the quicker",
                    float(np.median(best)),
                    float(np.median(ours_each)),
                    target,
                    float(np.median(best / ours_each)),
                )


def discrete_problem(name: str, states: int, steps: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return a chain's symbols or counts, and a start for both sides."""
    rng = np.random.default_rng([states, steps])
    moves = 0.1 * rng.dirichlet(np.ones(states), size=states) + 0.9 * np.eye(states)
    edges, draws, path = moves.cumsum(axis=1), rng.random(steps), np.zeros(steps, dtype=int)
    for t in range(1, steps):
        path[t] = min(np.searchsorted(edges[path[t - 1]], draws[t]), states - 1)
    start = {
        "startprob_": np.full(states, 1 / states),
        "transmat_": np.full((states, states), 0.5 / states) + 0.5 * np.eye(states),
    }
    if name == "PoissonHMM":
        rates = rng.gamma(2.0, 5.0, states)
        return rng.poisson(rates[path])[:, None], {**start, "lambdas_": rates[:, None] * 1.2}
    symbols = rng.dirichlet(np.ones(6), size=states)
    X = np.minimum((rng.random(steps)[:, None] > symbols.cumsum(axis=1)[path]).sum(axis=1), 5)
    return X[:, None], {**start, "emissionprob_": 0.5 * symbols + 0.5 / 6}


def _fit_discrete(cls: Any, states: int, X: np.ndarray, start: dict[str, Any], **more: Any) -> Callable[[int], Any]:
    def fit(iterations: int) -> Any:
        hmm = cls(states, n_iter=iterations, tol=-np.inf, init_params="", **more)
        for name, value in start.items():
            setattr(hmm, name, value.copy())
        return hmm.fit(X)

    return fit


def _iteration(fit: Callable[[int], Any], iterations: int) -> tuple[float, float]:
    """Return the time of one iteration, on the wall and of the processor: what more of them take."""
    found = []
    for count in (2, 2 + iterations):
        began = time.perf_counter(), time.process_time()
        fit(count)
        found.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    (wall, cpu), (more_wall, more_cpu) = found
    return (more_wall - wall) / iterations, (more_cpu - cpu) / iterations


#: Scripts of the size of hmmlearn's gallery: the dishonest casino, and earthquakes by year.
_SCRIPTS = {
    "casino, 2 states × 15,000": ("CategoricalHMM", "rng.integers(0, 6, (15_000, 1))"),
    "earthquakes, 2 states × 107": ("PoissonHMM", "rng.poisson(np.repeat([15, 25], [50, 57]))[:, None]"),
}


def _whole_scripts(peer: str, rounds: int) -> Iterator[Row]:
    """Compare whole scripts in fresh processes, by their CPU time: import, fit, score and predict."""
    for what, (name, data) in _SCRIPTS.items():
        scripts = [
            f"import numpy as np\nfrom {module} import {name}\nrng = np.random.default_rng(0)\nX = {data}\n"
            f"hmm = {name}(2, random_state=0).fit(X)\nhmm.score(X)\nhmm.predict(X)"
            for module in ("hmmlearn.hmm", "kullback")
        ]
        theirs, ours = np.min([[_cpu_of(script) for script in scripts] for _ in range(rounds)], axis=0)
        yield Row(f"whole script, {what}, CPU", peer, float(theirs), float(ours), 0.35)


def _cpu_of(script: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def problem(kind: str, states: int, seed: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return a chain's emissions, and a start for both sides."""
    rng = np.random.default_rng([states, seed])
    moves = 0.1 * rng.dirichlet(np.ones(states), size=states) + 0.9 * np.eye(states)
    edges, draws, path = moves.cumsum(axis=1), rng.random(STEPS), np.zeros(STEPS, dtype=int)
    for t in range(1, STEPS):
        path[t] = min(np.searchsorted(edges[path[t - 1]], draws[t]), states - 1)
    centers = rng.normal(0, 2, (states, COLUMNS))
    X = centers[path] + rng.normal(size=(STEPS, COLUMNS))
    covars = {"diag": np.ones((states, COLUMNS)), "full": np.tile(np.eye(COLUMNS), (states, 1, 1))}[kind]
    start = {
        "startprob_": np.full(states, 1 / states),
        "transmat_": np.full((states, states), 0.5 / states) + 0.5 * np.eye(states),
        "means_": centers + 0.5 * rng.normal(size=centers.shape),
        "covars_": covars,
    }
    return X, start


def _fit(cls: Any, kind: str, states: int, X: np.ndarray, start: dict[str, Any], **more: Any) -> Callable[[int], Any]:
    def fit(iterations: int) -> Any:
        hmm = cls(states, covariance_type=kind, n_iter=iterations, tol=-np.inf, init_params="", **more)
        for name, value in start.items():
            setattr(hmm, name, value)
        return hmm.fit(X)

    return fit


def _row(
    what: str, peer: str, ours: Callable[[int], Any], theirs: Callable[[int], Any], target: float, rounds: int
) -> Row:
    mine, other = ours_and_theirs(rounds, ours, theirs)
    ratio = statistics.median(b / a for a, b in zip(mine, other, strict=True))
    return Row(f"{what}, {STEPS:,} × {COLUMNS}", peer, statistics.median(other), statistics.median(mine), target, ratio)


def _stream(seeds: int) -> Figure:
    """Return how far one pass in pieces of 100 ends below 50 iterations of batch EM from the same start."""
    gaps = []
    for seed in range(seeds):
        X, _ = problem("full", 4, seed)
        start = GaussianHMM(4, covariance_type="full", n_iter=0, random_state=seed).fit(X[:1000]).to_model()
        batch = GaussianHMM.from_model(start, n_iter=50, tol=-np.inf, init_params="").fit(X)
        stream = GaussianHMM.from_model(start)
        for piece in X.reshape(-1, 100, COLUMNS):
            stream.partial_fit(piece, continues=True)
        gaps.append((batch.score(X) - stream.score(X)) / STEPS)
    what = f"HMM, one pass in pieces of 100 below 50 iterations, median of {seeds} seeds"
    return Figure(what, "nats per step", statistics.median(gaps), 0.02)


def _against_dynamax(rounds: int) -> Iterator[Row]:
    try:
        import dynamax.hidden_markov_model as dynamax
    except ImportError:
        print("hidden_markov: dynamax is not installed, so it is left out")
        return
    import jax.numpy as jnp

    for states in (3, 8, 32):
        X, start = problem("full", states)
        ours = _fit(GaussianHMM, "full", states, X, start)
        with jax.enable_x64(True):
            model = dynamax.GaussianHMM(states, COLUMNS)
            parameters, properties = model.initialize(
                initial_probs=jnp.asarray(start["startprob_"]),
                transition_matrix=jnp.asarray(start["transmat_"]),
                emission_means=jnp.asarray(start["means_"]),
                emission_covariances=jnp.asarray(start["covars_"]),
            )
            data = jnp.asarray(X)[None]
        theirs = _dynamax_fit(model, parameters, properties, data)
        peer = f"dynamax {version('dynamax')}"
        yield _row(f"EM of a full HMM, {states} states", peer, ours, theirs, 1.5, rounds)


def _dynamax_fit(model: Any, parameters: Any, properties: Any, data: Any) -> Callable[[int], Any]:
    """Return what dynamax's own `fit_em` does, with its step compiled once and not in every call."""

    @jax.jit
    def step(p: Any, state: Any) -> Any:
        statistics, _ = jax.vmap(lambda one: model.e_step(p, one, None))(data)
        return model.m_step(p, properties, statistics, state)

    def fit(iterations: int) -> Any:
        with jax.enable_x64(True):
            p, state = parameters, model.initialize_m_step_state(parameters, properties)
            for _ in range(iterations):
                p, state = step(p, state)
            return jax.block_until_ready(p)

    return fit
