"""jit that looks at how much there is to compute."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import numpy as np

from kullback.core import Batch, Model
from kullback.runtime import filter_jit, light_jit, quick_jit

Function = TypeVar("Function", bound=Callable[..., Any])

#: For up to so many numbers compiling takes the time, not computing; between the two, both do.
_FEW, _MANY = 2**14, 2**18
#: With inputs, a fit is a few steps of matrix products, which no compiling makes quicker: both are larger.
_FEW_WITH_INPUTS, _MANY_WITH_INPUTS = 2**17, 2**20
#: What follows in time is computed row after row: a number there is worth so many of others.
_IN_TURN = 4


def adaptive_jit(function: Function) -> Function:
    """Compile a function of (model, batch or statistics, …): with care, or in a tenth of the time for few numbers.

    Models that spend their time in loops over rows gain nothing from the costliest half of the care, and sequences and
    tables with missing entries of middling length gain less by it than it costs.
    """
    careful, fast, light = filter_jit(function), filter_jit(function, quick_jit), filter_jit(function, light_jit)

    @functools.wraps(function)
    def call(model: object, data: object, *args: object) -> object:
        in_turn, row_by_row = isinstance(data, Batch) and data.time is not None, _goes_row_by_row(model)
        size = _size(data) * (_IN_TURN if in_turn and not row_by_row else 1)
        has_inputs = isinstance(data, Batch) and data.inputs is not None and not in_turn
        few, many = (_FEW_WITH_INPUTS, _MANY_WITH_INPUTS) if has_inputs else (_FEW, _MANY)
        if size <= few:
            return fast(model, data, *args)
        has_gaps = isinstance(data, Batch) and data.observed is not None
        lightly = row_by_row or ((in_turn or has_gaps or has_inputs) and size <= many)
        return (light if lightly else careful)(model, data, *args)

    return cast(Function, call)


def _size(data: object) -> int:
    """Return how many numbers there are to compute with."""
    if isinstance(data, Batch):
        return data.values.size + (0 if data.inputs is None or data.time is not None else data.inputs.size)
    return sum(np.size(leaf) for leaf in jax.tree.leaves(data))


def _goes_row_by_row(model: object) -> bool:
    return isinstance(model, Model) and model.goes_row_by_row
