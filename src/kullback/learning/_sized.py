"""jit that looks at how much there is to compute."""

import functools
from collections.abc import Callable
from typing import Any

from kullback.runtime import jit, quick_jit

#: For up to so many numbers compiling takes the time, not computing.
_FEW = 2**14


def sized_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of (model, batch, …): with care for long batches, in a tenth of the time for short ones."""
    with_care, in_a_hurry = jit(function), quick_jit(function)

    @functools.wraps(function)
    def call(model: Any, batch: Any, *args: Any) -> Any:
        return (with_care if batch.values.size > _FEW else in_a_hurry)(model, batch, *args)

    return call
