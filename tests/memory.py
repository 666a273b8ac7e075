"""Drops what is compiled when a test process has become large: about 2 MB for each function and shape."""

import ctypes
import gc

import psutil
import pytest

#: Bytes. Imports take 0.75 GB of it, most tests add 0.15 GB at most, and no process may have more than 2 GB. Were it
#: next to what imports take, every test would compile anew what the one before it has compiled.
LARGE = 1.2e9


class Memory:
    """Looks at the size of the process after each test."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self):
        """Drop compiled functions where the process is large."""
        done = yield
        if psutil.Process().memory_info().rss > LARGE:
            drop_compiled_functions()
        return done


def drop_compiled_functions() -> None:
    """Clear JAX's caches, and hand the memory back: glibc keeps what is free."""
    import jax

    jax.clear_caches()
    gc.collect()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
