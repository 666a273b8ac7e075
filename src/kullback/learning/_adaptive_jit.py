"""jit that looks at how much there is to compute."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import numpy as np

from kullback.core import Batch, Model
from kullback.runtime import filter_jit, light_jit, quick_jit

Function = TypeVar("Function", bound=Callable[..., Any])

#: For up to so many numbers compiling takes the time, not computing.
_FEW = 2**14


def adaptive_jit(function: Function) -> Function:
    """Compile a function of (model, batch or statistics, …): with care, or in a tenth of the time for few numbers.

    Models that spend their time in loops over rows gain nothing from the costliest half of the care.
    """
    optimized, fast_compiled, light = (
        filter_jit(function),
        filter_jit(function, quick_jit),
        filter_jit(function, light_jit),
    )

    @functools.wraps(function)
    def call(model: object, data: object, *args: object) -> object:
        if _size(data) <= _FEW:
            return fast_compiled(model, data, *args)
        return (light if isinstance(model, Model) and model.goes_row_by_row else optimized)(model, data, *args)

    return cast(Function, call)


def _size(data: object) -> int:
    """Return how many numbers there are to compute with."""
    return data.values.size if isinstance(data, Batch) else sum(np.size(leaf) for leaf in jax.tree.leaves(data))
