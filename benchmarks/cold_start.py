"""A short script that imports and fits, in a fresh process; and whether the same shapes compile again."""

import warnings
from collections.abc import Iterator
from importlib.metadata import version

import jax.monitoring
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._timing import Figure, Row, best_script
from kullback import GaussianMixture

SCRIPT = """
import numpy as np
from {library} import GaussianMixture
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4)) + 4 * rng.integers(3, size=(1000, 1))
GaussianMixture(n_components=3, random_state=0).fit(X)
"""


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare fresh processes, then count what is compiled in this one."""
    ours, theirs = (SCRIPT.format(library=name) for name in ("kullback", "sklearn.mixture"))
    mine, peer = best_script(5 if full else 3, ours, theirs)
    yield Row("cold start: import and fit 1,000 × 4 × 3", f"scikit-learn {version('scikit-learn')}", peer, mine, 0.5)
    yield Figure("fit again, 900 to 1,000 rows × 4 × 3", "compilations", _compilations(), 0)


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
