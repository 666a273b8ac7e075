"""Tests compute in 64 bits, draw without a screen, and compile in a hurry.

Nearly all of the time goes into compiling functions that run once or twice, so XLA is asked to spend little on each:
half as much in all. `XLA_FLAGS= make test` runs everything as a user would.

JAX's compilation cache on disk stays off: jaxlib 0.9.2 crashes when it loads some of the functions it has stored there
(the Hessian of a relative entropy of Dirichlets among them), in one session too when several workers share it.
"""

import ctypes
import gc
import os

import psutil
import pytest

from ledger import Ledger
from tiers import LAWS, Law, quick_laws

IN_A_HURRY = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)

#: Bytes. Imports take 0.7 GB of it, a test adds 0.15 GB at most, and no process may have more than 2 GB.
MUCH_MEMORY = 1.3e9

os.environ.setdefault("XLA_FLAGS", " ".join(IN_A_HURRY))
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("MPLBACKEND", "agg")


def pytest_configure(config):
    config.pluginmanager.register(Ledger())


def pytest_collection_modifyitems(config, items):
    """Derive the tier of what is asked of the members of registries."""
    laws = {item: law for item in items if (law := Law.of_item(item)) is not None}
    quick = quick_laws(laws.values())
    for item, law in laws.items():
        if law not in quick:
            item.add_marker(pytest.mark.slow)
    config.stash[LAWS] = set(laws.values()), quick


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Drop what is compiled when it has become much, and hand the memory back: glibc keeps what is free."""
    done = yield
    if psutil.Process().memory_info().rss > MUCH_MEMORY:
        import jax

        jax.clear_caches()
        gc.collect()
        if hasattr(ctypes.CDLL(None), "malloc_trim"):
            ctypes.CDLL(None).malloc_trim(0)
    return done
