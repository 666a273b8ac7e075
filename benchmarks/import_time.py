"""What `import kullback` costs on top of JAX and equinox: at most 0.2 seconds."""

from collections.abc import Iterator
from importlib.metadata import version

from benchmarks._timing import Row, best_script

ALLOWED = 0.2


def run(full: bool = False) -> Iterator[Row]:
    """Compare fresh processes; the target is the ratio at which exactly the allowed time is spent."""
    peer = f"jax {version('jax')}, equinox {version('equinox')}"
    for what, statement in (
        ("import kullback", "import kullback, jax, equinox"),
        ("import kullback.families, kullback.geometry", "import kullback.families, kullback.geometry"),
    ):
        theirs, ours = best_script(5, "import jax, equinox", statement)
        yield Row(what, peer, theirs, ours, theirs / (theirs + ALLOWED))
