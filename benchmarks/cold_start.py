"""A short script that imports and fits, in a fresh process; and whether the same shapes compile again."""

import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.metadata import version

import jax.monitoring
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._timing import Figure, Row
from kullback import GaussianMixture

SCRIPT = """
import numpy as np
from {library} import GaussianMixture
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4)) + 4 * rng.integers(3, size=(1000, 1))
GaussianMixture(n_components=3, random_state=0).fit(X).score(X)
"""
CACHED = "import kullback; kullback.enable_compilation_cache({folder!r})\n"
BARE, IMPORT = "import jax, equinox, sklearn.base", "from kullback import GaussianMixture"


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare fresh processes, then count what is compiled in this one."""
    ours, theirs = (SCRIPT.format(library=name) for name in ("kullback", "sklearn.mixture"))
    with tempfile.TemporaryDirectory() as folder:
        cached = CACHED.format(folder=folder) + ours
        _processor_time(ours), _processor_time(cached)  # bytecode and cache are written
        scripts = (theirs, ours, cached, BARE, IMPORT)
        rounds = [[_processor_time(script) for script in scripts] for _ in range(7 if full else 3)]
    peer, mine, stored, bare, own = (statistics.median(times) for times in zip(*rounds, strict=True))
    name = f"scikit-learn {version('scikit-learn')}, CPU"
    yield Row("cold script: import, fit 1,000 × 4 × 3, score", name, peer, mine, 1 / 1.6)
    yield Row("the same with a compilation cache", name, peer, stored, 1 / 1.4)
    yield Figure("bare imports of jax, equinox and sklearn.base", "of scikit-learn's script", bare / peer, 1.2)
    yield Figure("import of GaussianMixture beyond them", "of scikit-learn's script", (own - bare) / peer, 0.2)
    yield Figure("fit again, 900 to 1,000 rows × 4 × 3", "compilations", _compilations(), 0)


def _processor_time(script: str) -> float:
    """Return the time of the processor that a script takes in a fresh process; it may keep its bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _compilations() -> int:
    """Return how often the compiler runs when more tables of about the same size are fitted."""
    counts: list[str] = []

    def listen(event: str, duration: float, **more: object) -> None:
        if event.endswith("backend_compile_duration"):
            counts.append(event)

    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(rows, 4)) + 4 * rng.integers(3, size=(rows, 1)) for rows in (1000, 1000, 950, 900)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        GaussianMixture(3, random_state=0).fit(tables[0])
        jax.monitoring.register_event_duration_secs_listener(listen)
        try:
            for place, table in enumerate(tables):
                GaussianMixture(3, random_state=place).fit(table)
            return len(counts)
        finally:
            jax.monitoring.unregister_event_duration_listener(listen)
