"""Compare the speed of two checkouts: `python -m benchmarks.checkouts OLD NEW --rounds 7` prints one table.

In each round each group of measurements runs in two fresh processes, one for each checkout, with
`PYTHONPATH=<checkout>/src`. The two take turns, slice by slice, and never run at the same time; in every second round
the new one goes first. A ratio is that of the new time to the old one in the same round: the table has the median over
rounds, the least and the largest. Time of the processor counts; wall time stands beside it, and says little while other
programs run. With `--threads one` (the default) each process stays on one core; with `--threads all` it has all cores.

It uses only what both checkouts have, and is none of the comparisons of `python -m benchmarks`: it needs two checkouts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: Seconds: those of the processor, and those of the clock. A count stands in both places.
Measured = tuple[float, float]
Rows = dict[str, Measured]

#: What a process says when it waits for its turn.
TURN = "turn"
#: Rows that count things, and do not time them.
COUNTED = "compiled functions"


# --- what is measured, in a process of its own ----------------------------------------------------------------


def _now() -> Measured:
    return time.process_time(), time.perf_counter()


def _wait_for_turn() -> None:
    """Let the process of the other checkout run, until the parent says a word."""
    print(TURN, flush=True)
    sys.stdin.readline()


def _timed(function: Callable[[], Any]) -> Measured:
    cpu, wall = _now()
    function()
    after = _now()
    return after[0] - cpu, after[1] - wall


def _median(times: list[Measured]) -> Measured:
    return statistics.median(cpu for cpu, _ in times), statistics.median(wall for _, wall in times)


def _repeated(function: Callable[[], Any], rounds: int) -> Measured:
    """Return the median time of a call, after one that compiles."""
    function()
    found = []
    for _ in range(rounds):
        _wait_for_turn()
        found.append(_timed(function))
    return _median(found)


def _iteration(fit: Callable[[int], Any], upto: int, rounds: int = 3) -> Measured:
    """Return the time of one iteration: the difference of two fits, so that what comes before cancels."""
    fit(1)
    found = []
    for _ in range(rounds):
        _wait_for_turn()
        short, long = _timed(lambda: fit(1)), _timed(lambda: fit(upto))
        found.append(((long[0] - short[0]) / (upto - 1), (long[1] - short[1]) / (upto - 1)))
    return _median(found)


def _calls(function: Callable[[Any], Any], batches: Iterable[Any], slice_of: int = 20) -> Measured:
    """Return the median time of a call; some calls make one slice."""
    found = []
    for place, batch in enumerate(batches):
        if place % slice_of == 0:
            _wait_for_turn()
        found.append(_timed(lambda batch=batch: function(batch)))
    return _median(found)


def _points(rows: int, columns: int, components: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return points from a mixture, and a start."""
    rng = np.random.default_rng(rows + columns + components)
    centers = rng.normal(0, 2, (components, columns))
    X = rng.normal(size=(rows, columns)) + centers[rng.integers(components, size=rows)]
    start = {
        "weights_init": np.full(components, 1 / components),
        "means_init": centers + rng.normal(size=centers.shape),
        "precisions_init": np.tile(np.eye(columns) / 2, (components, 1, 1)),
    }
    return X, start


def _path(moves: np.ndarray, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Return the states of a Markov chain that begins with the first."""
    edges, draws, path = moves.cumsum(axis=1), rng.random(steps), np.zeros(steps, dtype=int)
    for t in range(1, steps):
        path[t] = min(np.searchsorted(edges[path[t - 1]], draws[t]), len(moves) - 1)
    return path


def _partial_fit() -> Rows:
    from kullback.estimators import GaussianMixture

    found: Rows = {}
    for size, many in ((1_000, 20), (4_000, 6)):
        X, start = _points(20 * size, 16, 10)
        batches = np.split(X, 20)
        mixture = GaussianMixture(10, random_state=0, **start)
        for batch in batches:
            mixture.partial_fit(batch)
        found[f"partial_fit of a GaussianMixture, {size:,} × 16 × 10"] = _calls(mixture.partial_fit, batches * many)
    return found


def _gaussian_mixture() -> Rows:
    from kullback.estimators import GaussianMixture

    X, start = _points(200_000, 16, 10)
    found = _iteration(lambda many: GaussianMixture(10, max_iter=many, tol=0, **start).fit(X), 4)
    small, start = _points(1_000, 16, 10)
    fits = _repeated(lambda: GaussianMixture(10, max_iter=20, tol=0, **start).fit(small), 7)
    return {
        "EM iteration of a GaussianMixture, 200,000 × 16 × 10": found,
        "fit of a GaussianMixture, 20 iterations, 1,000 × 16 × 10": fits,
    }


def _gaussian_hmm() -> Rows:
    from kullback.estimators import GaussianHMM

    rng = np.random.default_rng(3)
    moves = 0.1 * rng.dirichlet(np.ones(3), size=3) + 0.9 * np.eye(3)
    centers = rng.normal(0, 2, (3, 4))
    X = centers[_path(moves, 100_000, rng)] + rng.normal(size=(100_000, 4))

    def fit(iterations: int) -> Any:
        hmm = GaussianHMM(3, n_iter=iterations, tol=-np.inf, init_params="")
        hmm.startprob_, hmm.transmat_ = np.full(3, 1 / 3), np.full((3, 3), 0.5 / 3) + 0.5 * np.eye(3)
        hmm.means_, hmm.covars_ = centers + 0.5, np.ones((3, 4))
        return hmm.fit(X)

    stream = fit(1)
    pieces = np.split(X[:20_000], 200)
    for piece in pieces[:20]:
        stream.partial_fit(piece, continues=True)
    online = _calls(lambda piece: stream.partial_fit(piece, continues=True), pieces[20:])
    return {
        "EM iteration of a GaussianHMM, 100,000 × 4 × 3": _iteration(fit, 11),
        "partial_fit of a GaussianHMM that goes on, 100 × 4 × 3": online,
    }


def _casino() -> Rows:
    from kullback.estimators import CategoricalHMM

    rng = np.random.default_rng(2)
    dice = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    path = _path(np.array([[0.95, 0.05], [0.1, 0.9]]), 2_000, rng)
    rolls = np.array([[rng.choice(6, p=dice[state])] for state in path])

    def fit() -> Any:
        return CategoricalHMM(2, random_state=0, n_iter=20, tol=-np.inf).fit(rolls)

    return {"fit of a CategoricalHMM, casino, 2,000 rolls": _repeated(fit, 7)}


def _system() -> Rows:
    from kullback.estimators import LinearDynamicalSystem

    rng = np.random.default_rng(4)
    turn = 0.95 * np.linalg.qr(rng.normal(size=(4, 4)))[0]
    start = {
        "transition_": turn,
        "observation_": rng.normal(size=(2, 4)),
        "transition_noise_": 0.3 * np.eye(4),
        "observation_noise_": np.eye(2),
        "initial_mean_": np.zeros(4),
        "initial_covariance_": np.eye(4),
    }
    state, rows = np.zeros(4), []
    for noise in rng.normal(size=(20_000, 6)):
        state = turn @ state + np.sqrt(0.3) * noise[:4]
        rows.append(start["observation_"] @ state + noise[4:])
    X = np.array(rows)

    def system(iterations: int) -> Any:
        new = LinearDynamicalSystem(4, offset=False, warm_start=True, max_iter=iterations, tol=0.0)
        for name, value in start.items():
            setattr(new, name, value)
        return new

    known = system(1)
    return {
        "smoothing of a LinearDynamicalSystem, 20,000 × 2 × 4": _repeated(lambda: known.smooth(X), 7),
        "EM iteration of a LinearDynamicalSystem, 20,000 × 2 × 4": _iteration(lambda many: system(many).fit(X), 6),
    }


def _scan() -> Rows:
    from kullback.estimators import GaussianMixture

    X, _ = _points(2_000, 4, 4)

    def scan() -> Any:
        return min((GaussianMixture(k, random_state=0).fit(X) for k in range(1, 9)), key=lambda one: one.bic(X))

    _wait_for_turn()
    return {"BIC of k = 1 to 8, 2,000 × 4, cold": _timed(scan), "the same again, warm": _repeated(scan, 5)}


def _cold_start() -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 4)) + 4 * rng.integers(3, size=(1_000, 1))

    def run() -> None:
        from kullback import GaussianMixture

        GaussianMixture(n_components=3, random_state=0).fit(X)

    return {"fresh process: import and fit, 1,000 × 4 × 3": _timed(run)}


def _cold_system() -> Rows:
    from kullback.estimators import LinearDynamicalSystem

    t = np.arange(20_000)
    X = np.stack([np.sin(0.1 * t), np.cos(0.13 * t)], axis=1) + 0.3 * np.random.default_rng(0).normal(size=(20_000, 2))
    _wait_for_turn()
    return {
        "cold fit of a LinearDynamicalSystem, 20,000 × 2 × 4": _timed(
            lambda: LinearDynamicalSystem(4, random_state=0, max_iter=20, tol=0.0).fit(X)
        )
    }


def _import_all() -> Rows:
    def run() -> None:
        import kullback  # noqa: F401

    return {"import kullback": _timed(run)}


def _import_estimators() -> Rows:
    def run() -> None:
        import kullback.estimators  # noqa: F401

    return {"import kullback.estimators": _timed(run)}


def _import_own() -> Rows:
    import equinox  # noqa: F401
    import jax  # noqa: F401
    import sklearn.cluster
    import sklearn.utils.validation  # noqa: F401

    _wait_for_turn()

    def run() -> None:
        import kullback.estimators  # noqa: F401

    return {"import kullback.estimators, after jax and scikit-learn": _timed(run)}


def _compilations() -> Rows:
    """Count how often the compiler runs in a scenario that has a bit of everything, and in the same once more."""
    import jax.monitoring

    from kullback import estimators

    counts = [0]

    def listen(event: str, duration: float, **more: object) -> None:
        counts[0] += event.endswith("backend_compile_duration")

    jax.monitoring.register_event_duration_secs_listener(listen)
    found: Rows = {}

    def count(what: str, function: Callable[[], Any]) -> None:
        counts[0] = 0
        function()
        found[f"{COUNTED}: {what}"] = (float(counts[0]), float(counts[0]))

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) + 4 * rng.integers(3, size=(500, 1))
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)

    def rows() -> None:
        estimators.GaussianMixture(3, random_state=0, max_iter=5).fit(X).score(X)
        stream = estimators.GaussianMixture(3, random_state=0)
        for batch in (X, X[:400], X[:300], holes):
            stream.partial_fit(batch)
        stream.predict(X)
        estimators.PoissonMixture(2, random_state=0, max_iter=5).fit(rng.poisson(3, (500, 2))).bic(X[:, :2] // 9 + 9)
        estimators.combine([estimators.GaussianMixture(2, random_state=0).fit(half) for half in (X[:250], X[250:])])

    def sequences() -> None:
        hmm = estimators.GaussianHMM(2, random_state=0, n_iter=5).fit(X, [200, 300])
        hmm.predict(X)
        stream = estimators.GaussianHMM(2, random_state=0)
        for piece in np.split(X[:480], 6):
            stream.partial_fit(piece, continues=True)
        estimators.LinearDynamicalSystem(1, random_state=0, max_iter=5).fit(X).smooth(X)

    count("mixtures in batch, online, combined", rows)
    count("the same again", rows)
    count("sequences in batch and online", sequences)
    count("the same once more", sequences)
    return found


#: What one process measures.
GROUPS: dict[str, Callable[[], Rows]] = {
    "import": _import_all,
    "import-estimators": _import_estimators,
    "import-own": _import_own,
    "cold-start": _cold_start,
    "partial-fit": _partial_fit,
    "gaussian-mixture": _gaussian_mixture,
    "scan": _scan,
    "gaussian-hmm": _gaussian_hmm,
    "casino": _casino,
    "system": _system,
    "cold-system": _cold_system,
    "compilations": _compilations,
}
#: Groups in which every round says the same.
ONCE = {"compilations"}


def _work(group: str, threads: str) -> None:
    """Measure one group in this process, and print the rows."""
    _wait_for_turn()
    if threads == "one" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    rows = GROUPS[group]()
    import kullback

    print(json.dumps({"file": kullback.__file__, "rows": rows}))


# --- both checkouts in turn -----------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """The measurements of one row: those of the old and of the new checkout, round by round."""

    old: list[Measured]
    new: list[Measured]

    def ratios(self, place: int) -> list[float]:
        """Return new over old of each round: of the processor's time (0) or of the clock's (1)."""
        return [new[place] / max(old[place], 1e-12) for old, new in zip(self.old, self.new, strict=True)]

    def line(self, what: str, limit: float) -> str:
        """Return the row of the table."""
        if what.startswith(COUNTED):
            (old, _), (new, _) = self.old[0], self.new[0]
            return f"{what:<58}{old:>10.0f}{new:>10.0f}{'  more' if new > old else ''}"
        times = [1e3 * statistics.median(cpu for cpu, _ in side) for side in self]
        shown = f"{what:<58}{times[0]:>10.2f}{times[1]:>10.2f}"
        for place in (0, 1):
            ratios = self.ratios(place)
            shown += f"{statistics.median(ratios):>9.3f}{min(ratios):>7.2f}{max(ratios):>7.2f}"
        return shown + ("  above" if statistics.median(self.ratios(0)) > limit else "")


HEAD = f"{'what':<58}{'old ms':>10}{'new ms':>10}{'CPU':>9}{'min':>7}{'max':>7}{'wall':>9}{'min':>7}{'max':>7}"


class Side:
    """A fresh process of a checkout, which measures a group and waits for its turn before each slice."""

    def __init__(self, checkout: Path, group: str, threads: str):
        self._source, self._name = (checkout / "src").resolve(), f"{group} of {checkout}"
        more = {"PYTHONPATH": str(self._source)}
        if threads == "one":
            more |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        # -P: this folder is not where the process looks for modules
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--work", group, "--threads", threads]
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - `close` closes it
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
        )
        self.rows: Rows | None = None
        self._read()

    def take_turn(self) -> None:
        """Let the process run until it waits again, or has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        self._read()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() == TURN:
            return
        if not line:
            self._errors.seek(0)
            raise RuntimeError(f"{self._name} has failed:\n{self._errors.read()}")
        found = json.loads(line)
        if not Path(found["file"]).resolve().is_relative_to(self._source):
            raise RuntimeError(f"{self._name} has used the kullback of {found['file']}.")
        self.rows = {what: (cpu, wall) for what, (cpu, wall) in found["rows"].items()}
        self._process.wait()


def both(old: Path, new: Path, group: str, threads: str, new_first: bool) -> tuple[Rows, Rows]:
    """Measure a group in both checkouts, slice by slice in turn."""
    sides: list[Side] = []
    try:
        for checkout in (old, new):
            sides.append(Side(checkout, group, threads))
        while any(side.rows is None for side in sides):
            for side in reversed(sides) if new_first else sides:
                if side.rows is None:
                    side.take_turn()
        first, second = (side.rows for side in sides)
        assert first is not None
        assert second is not None
        return first, second
    finally:
        for side in sides:
            side.close()


def compared(old: Path, new: Path, group: str, rounds: int, threads: str) -> dict[str, Pairs]:
    """Measure a group in some rounds."""
    found: dict[str, Pairs] = {}
    for turn in range(1 if group in ONCE else rounds):
        first, second = both(old, new, group, threads, turn % 2 == 1)
        for what in first:
            pairs = found.setdefault(what, Pairs([], []))
            pairs.old.append(first[what])
            pairs.new.append(second[what])
    return found


def main() -> None:
    """Print the table, group by group."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkouts", description=__doc__)
    parser.add_argument("old", nargs="?", type=Path, help="the checkout to compare with")
    parser.add_argument("new", nargs="?", type=Path, help="the checkout whose times stand above the line")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", choices=("one", "all"), default="one")
    parser.add_argument("--only", nargs="*", choices=tuple(GROUPS), help="some groups; all without it")
    parser.add_argument("--limit", type=float, default=1.10, help="a median ratio above it is marked")
    parser.add_argument("--work", choices=tuple(GROUPS), help="measure one group in this process")
    asked = parser.parse_args()
    if asked.work:
        _work(asked.work, asked.threads)
        return
    if asked.old is None or asked.new is None:
        parser.error("two checkouts are needed: OLD and NEW")
    print(HEAD)
    for group in asked.only or GROUPS:
        for what, pairs in compared(asked.old, asked.new, group, asked.rounds, asked.threads).items():
            print(pairs.line(what, asked.limit), flush=True)


if __name__ == "__main__":
    main()
