"""What learning needs beyond the data: the growth of the largest memory of a fresh process."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks._timing import Figure

#: Both scripts print megabytes. Before the first look at VmHWM everything is loaded and compiled.
COMMON = """
import gc, sys, warnings
import numpy as np
from kullback import GaussianMixture
warnings.simplefilter("ignore")
rows, columns, components = map(int, sys.argv[1:4])

def memory(which):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(which))

rng = np.random.default_rng(0)
centers = rng.normal(0, 2, (components, columns))

def table(count):
    X = np.empty((count, columns))
    for start in range(0, count, 10_000):
        here = X[start : start + 10_000]
        here[:] = rng.normal(size=here.shape)
        here += centers[rng.integers(components, size=len(here))]
    return X
"""
FIT = """
X = table(rows)
GaussianMixture(components, max_iter=1, random_state=0).fit(X[:2000])
gc.collect()
with open("/proc/self/clear_refs", "w") as marks:
    marks.write("5")  # VmHWM begins anew
before = memory("VmRSS")
GaussianMixture(components, max_iter=1, random_state=0).fit(X)
print(memory("VmHWM") - before)
"""
STREAM = """
mixture = GaussianMixture(components, random_state=0)
mixture.fit_stream(table(1000) for _ in range(20))
gc.collect()
with open("/proc/self/clear_refs", "w") as marks:
    marks.write("5")
before = memory("VmRSS")
mixture.fit_stream(table(1000) for _ in range(rows // 1000))
print(memory("VmHWM") - before)
"""


def run(full: bool = False) -> Iterator[Figure]:
    """Measure `fit` with its start, and `fit_stream`: on Linux, which says how much memory a process has had."""
    if not sys.platform.startswith("linux"):
        return
    rows, columns, components = (10**6 if full else 200_000), 16, 50
    what = f"fit {rows:,} × {columns} × {components}, start included, beyond the data"
    yield Figure(what, "MB", _megabytes(FIT, rows, columns, components), 200)
    rows = 500_000 if full else 100_000
    what = f"fit_stream of {rows // 1000:,} batches of 1,000 × 16 × 10, beyond that of 20"
    yield Figure(what, "MB", _megabytes(STREAM, rows, 16, 10), 20)


def _megabytes(script: str, *sizes: int) -> float:
    command = [sys.executable, "-c", COMMON + script, *map(str, sizes)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
