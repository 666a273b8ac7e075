"""Tests compute in 64 bits, draw without a screen, and compile in a hurry.

Nearly all of the time goes into compiling functions that run once or twice, so XLA is asked to spend little on each:
half as much in all. `XLA_FLAGS= make test` runs everything as a user would.

JAX's compilation cache on disk stays off: jaxlib 0.9.2 crashes when it loads some of the functions it has stored there
(the Hessian of a relative entropy of Dirichlets among them), in one session too when several workers share it.
"""

import os

import pytest

from ledger import Ledger
from memory import Memory
from tiers import LAWS, Law, quick_laws
from time_limit import time_limit

FAST_COMPILE = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)

os.environ.setdefault("XLA_FLAGS", " ".join(FAST_COMPILE))
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.pop("KULLBACK_CACHE", None)


def pytest_configure(config):
    """Register what sees all tests: hooks of this file do not see the examples of docstrings, which are elsewhere."""
    config.pluginmanager.register(Ledger())
    config.pluginmanager.register(Memory())
    if (limit := time_limit(config)) is not None:
        config.pluginmanager.register(limit)


def pytest_collection_modifyitems(config, items):
    """Derive the tier of what is asked of the members of registries."""
    laws = {item: law for item in items if (law := Law.of_item(item)) is not None}
    quick = quick_laws(laws.values())
    for item, law in laws.items():
        if law not in quick:
            item.add_marker(pytest.mark.slow)
    config.stash[LAWS] = set(laws.values()), quick
