"""jit that looks at how much there is to compute."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import numpy as np

from kullback.core import Batch
from kullback.runtime import filter_jit, quick_jit

Function = TypeVar("Function", bound=Callable[..., Any])

#: For up to so many numbers compiling takes the time, not computing; between the two, both do.
_FEW, _MANY = 2**14, 2**18
#: What follows in time is computed row after row: a number there is worth so many of others.
_IN_TURN = 4


def adaptive_jit(function: Function) -> Function:
    """Compile a function of (model, batch or statistics, …): with care, or in a tenth of the time for few numbers."""
    careful, fast = filter_jit(function), filter_jit(function, quick_jit)
    light = filter_jit(function, functools.partial(quick_jit, optimize=True))

    @functools.wraps(function)
    def call(model: object, data: object, *args: object) -> object:
        size, in_turn = _size(data), isinstance(data, Batch) and data.time is not None
        if size * (_IN_TURN if in_turn else 1) <= _FEW:
            return fast(model, data, *args)
        return (light if in_turn and size * _IN_TURN <= _MANY else careful)(model, data, *args)

    return cast(Function, call)


def _size(data: object) -> int:
    """Return how many numbers there are to compute with."""
    return data.values.size if isinstance(data, Batch) else sum(np.size(leaf) for leaf in jax.tree.leaves(data))
