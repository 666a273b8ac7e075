"""jit that looks at how much there is to compute."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import numpy as np

from kullback.core import Batch
from kullback.runtime import filter_jit, quick_jit

Function = TypeVar("Function", bound=Callable[..., Any])

#: For up to so many numbers compiling takes the time, not computing.
_FEW = 2**14


def adaptive_jit(function: Function) -> Function:
    """Compile a function of (model, batch or statistics, …): with care, or in a tenth of the time for few numbers."""
    optimized, fast_compiled = filter_jit(function), filter_jit(function, quick_jit)

    @functools.wraps(function)
    def call(model: object, data: object, *args: object) -> object:
        return (optimized if _size(data) > _FEW else fast_compiled)(model, data, *args)

    return cast(Function, call)


def _size(data: object) -> int:
    """Return how many numbers there are to compute with."""
    return data.values.size if isinstance(data, Batch) else sum(np.size(leaf) for leaf in jax.tree.leaves(data))
