"""Loading modules on demand, without the garbage collector looking through them again and again."""

import contextlib
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
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # otherwise the program keeps objects out of the collector's sight itself
            gc.freeze()  # together these two put everything into the oldest generation
            gc.unfreeze()
        gc.enable()


def load_name(module: str, name: str | None = None) -> Any:
    """Return a module, or what a name of it stands for."""
    with paused_collection():
        found = importlib.import_module(module)
        return found if name is None else getattr(found, name)
