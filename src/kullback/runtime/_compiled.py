"""What is kept compiled: every shape of data needs functions of its own, and a service may meet any number of them."""

import collections
import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax

Function = TypeVar("Function", bound=Callable[..., Any])

#: So many compiled functions are kept, of 1 to 3 MB each; beyond it, those that were made for the most shapes are
#: dropped until a half is left.
MOST = 128
#: What JAX itself keeps of each, and has no bound for, is small: after so many everything is dropped.
MOST_TRACES = 512


class CompiledFunctions:
    """How many shapes each of our functions was compiled for since it was last cleared."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shapes: collections.Counter[Any] = collections.Counter()
        self._total = 0
        self._traces = 0

    def __len__(self) -> int:
        return self._total

    def add(self, function: Any) -> None:
        """Count one more shape."""
        with self._lock:
            self._shapes[function] += 1
            self._total += 1
            self._traces += 1

    def bound(self) -> None:
        """Drop what was compiled for the most shapes when there is too much."""
        if self._total <= MOST or not jax.core.trace_ctx.is_top_level():
            return
        everything = self._traces > MOST_TRACES
        for function in self._remove(0 if everything else MOST // 2):
            function.clear_cache()
        if everything:
            jax.clear_caches()
        _release_memory()

    def _remove(self, few: int) -> list[Any]:
        """Stop counting, and return, the functions with the most shapes, so that few are left."""
        taken = []
        with self._lock:
            self._traces = self._traces if few else 0
            for function, shapes in self._shapes.most_common():
                if self._total <= few:
                    break
                del self._shapes[function]
                taken.append(function)
                self._total -= shapes
        return taken


compiled_functions = CompiledFunctions()


@functools.cache
def _allocator() -> Any:
    """Return the C library where it can give memory back when it is told to, as glibc does; otherwise None."""
    try:
        library = ctypes.CDLL(None)
        library.malloc_trim.argtypes = [ctypes.c_size_t]
    except (AttributeError, OSError, TypeError):
        return None
    return library


def _release_memory() -> None:
    """Hand memory that is free back to the system: glibc keeps it, in pieces that fit nothing that comes later."""
    if _allocator() is not None:
        _allocator().malloc_trim(0)


def jit(function: Function, **options: Any) -> Function:
    """Compile a function of a module as `jax.jit` does; of all that are compiled so, a bounded number is kept."""

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        compiled_functions.add(compiled)  # Python comes by here once for every shape
        return function(*args, **kwargs)

    compiled = jax.jit(traced, **options)
    return cast(Function, compiled)
