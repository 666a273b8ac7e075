"""Loading modules on demand, without the garbage collector looking through them again and again."""

import atexit
import contextlib
import functools
import gc
import importlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def paused_collection() -> Iterator[None]:
    """Keep the garbage collector still while modules load: what they make stays for good.

    JAX, scikit-learn and SciPy make about a million objects, and each collection on the way looks at all that are there
    so far: a fifth of the time. What is there at the end counts as old, as it would after those collections.
    """
    if not gc.isenabled():
        yield
        return
    _collect_once_at_exit()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # otherwise the program keeps objects out of the collector's sight itself
            gc.freeze()  # together these two put everything into the oldest generation
            gc.unfreeze()
        gc.enable()


@functools.cache
def _collect_once_at_exit() -> None:
    """Let the collector look through all modules once when the interpreter ends, and not several times.

    All cycles that a program has left behind are finalized. Of those that are still in use then, which Python itself
    does not promise to finalize, it takes no more notice: a quarter of a second of a small script.
    """
    atexit.register(gc.freeze)
    atexit.register(gc.collect)  # what is registered last is called first


def load_name(module: str, name: str | None = None) -> Any:
    """Return a module, or what a name of it stands for."""
    with paused_collection():
        found = importlib.import_module(module)
        return found if name is None else getattr(found, name)
