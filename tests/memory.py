"""Drops what is compiled when a test process has become large: about 2 MB for each function and shape."""

import ctypes
import gc

import psutil
import pytest

#: Bytes, before a quick test and before a slow one. Imports take 0.75 GB of it, and no process may have more than 2 GB:
#: a quick test adds 0.4 GB at most, a slow one 0.6 GB. Were it next to what imports take, every test would compile anew
#: what the one before it has compiled.
LARGE, LARGE_BEFORE_SLOW = 1.4e9, 1.2e9


class Memory:
    """Looks at the size of the process after each test."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, nextitem):
        """Drop compiled functions where the process is large."""
        done = yield
        is_slow = nextitem is not None and nextitem.get_closest_marker("slow") is not None
        if psutil.Process().memory_info().rss > (LARGE_BEFORE_SLOW if is_slow else LARGE):
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
