"""Choosing a number of components in a fresh process: import, fits with 1 to 8 components, and their BIC.

Time of the processor counts, in all threads. Both sides stay on one core where the system can say so: on more of them
threads that wait for work use time of the processor too, and how much depends on what else is running.
"""

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

from benchmarks._timing import Figure, Row

SCRIPT = """
import warnings
import numpy as np
from {library} import GaussianMixture
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4)) + 4 * rng.integers(3, size=(1000, 1))
bic = [GaussianMixture(n_components=k, random_state=0).fit(X).bic(X) for k in range(1, 9)]
assert np.argmin(bic) == 2, bic
"""
IMPORTS = "import numpy as np; from {library} import GaussianMixture"


def run(full: bool = False) -> Iterator[Row | Figure]:
    """Compare scripts in turns (9 rounds with `--full`, 5 without), and their imports alone."""
    rounds, peer = 9 if full else 5, f"scikit-learn {version('scikit-learn')}"
    names = "kullback", "sklearn.mixture"
    scripts = [text.format(library=name) for text in (SCRIPT, IMPORTS) for name in names]
    times = [[_cpu_seconds(script) for script in scripts] for _ in range(rounds)]
    mine, theirs, my_import, their_import = (statistics.median(column) for column in zip(*times, strict=True))
    what = "selection: import, fit and BIC of 1 to 8 components, 1,000 × 4, CPU"
    yield Row(what, peer, theirs, mine, 0.5, statistics.median(b / a for a, b, *_ in times))
    yield Row("selection: the imports alone, CPU", peer, their_import, my_import, 0.5)
    yield Row("selection: all but the imports, CPU", peer, theirs - their_import, mine - my_import, 0.0)


def _cpu_seconds(script: str) -> float:
    """Return what one process has used of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", _on_one_core(script)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _on_one_core(script: str) -> str:
    if not hasattr(os, "sched_setaffinity"):
        return script
    core = min(os.sched_getaffinity(0))
    return f"import os; os.sched_setaffinity(0, {{{core}}})\n{script}"
