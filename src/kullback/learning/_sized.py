"""jit that looks at how much there is to compute."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from kullback.core import Batch
from kullback.runtime import filter_jit, quick_jit

#: For up to so many numbers compiling takes the time, not computing.
_FEW = 2**14


def adaptive_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of (model, batch or statistics, …): with care, or in a tenth of the time for few numbers."""
    with_care, in_a_hurry = filter_jit(function), filter_jit(function, quick_jit)

    @functools.wraps(function)
    def call(model: Any, data: Any, *args: Any) -> Any:
        return (with_care if _size(data) > _FEW else in_a_hurry)(model, data, *args)

    return call


def _size(data: Any) -> int:
    """Return how many numbers there are to compute with."""
    return data.values.size if isinstance(data, Batch) else sum(np.size(leaf) for leaf in jax.tree.leaves(data))
