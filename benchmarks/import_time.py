"""What `import kullback` costs on top of JAX and equinox: at most 0.2 seconds."""

import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version

from benchmarks._timing import Row

ALLOWED = 0.2


def run() -> Iterator[Row]:
    """Compare fresh processes; the target is the ratio at which exactly the allowed time is spent."""
    peer = f"jax {version('jax')}, equinox {version('equinox')}"
    for what, statement in (
        ("import kullback", "import kullback, jax, equinox"),
        ("import kullback.families, kullback.geometry", "import kullback.families, kullback.geometry"),
    ):
        theirs, ours = _best(5, "import jax, equinox", statement)
        yield Row(what, peer, theirs, ours, theirs / (theirs + ALLOWED))


def _best(rounds: int, *statements: str) -> list[float]:
    best = [float("inf")] * len(statements)
    for _ in range(rounds):
        for place, statement in enumerate(statements):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            best[place] = min(best[place], time.perf_counter() - start)
    return best
