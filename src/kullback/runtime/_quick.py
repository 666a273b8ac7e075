"""jit for functions of few numbers: compiling takes the time there, not computing."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from kullback.runtime._compiled import compiled_functions, jit
from kullback.runtime._fork import check_not_forked

#: Options of XLA that are private to it: a later version may not know them, and then they are left out.
FAST_COMPILE: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
#: The same with less haste: loops over rows come out as quick as without, what goes over long arrays does not always.
LIGHT_COMPILE = FAST_COMPILE | {"xla_backend_optimization_level": 1}


def quick_jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function of a module in a tenth of the time; what comes out is slower where there is much to compute.

    >>> quick_jit(lambda x: 2 * x)(np.arange(3)).tolist()
    [0, 2, 4]
    """
    return _with_options(function, FAST_COMPILE, options)


def light_jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function of a module in half the time; loops over rows come out as quick as without.

    >>> light_jit(lambda x: 2 * x)(np.arange(3)).tolist()
    [0, 2, 4]
    """
    return _with_options(function, LIGHT_COMPILE, options)


def _with_options(function: Callable[..., Any], chosen: dict[str, Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Compile with options of XLA, as far as it knows them."""
    inside = jit(function, **options)

    @functools.cache
    def compiled() -> Any:
        known = _known() or {}
        return jit(function, compiler_options={n: chosen[n] for n in chosen if n in known} or None, **options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not jax.core.trace_ctx.is_top_level():  # inside another function that is being compiled, that one decides
            return inside(*args, **kwargs)
        check_not_forked()
        compiled_functions.bound()
        return compiled()(*args, **kwargs)

    return call


@functools.cache
def _known() -> dict[str, Any] | None:
    """Return the options that this version of XLA knows, found out by compiling nothing with them."""
    if _works(FAST_COMPILE):
        return FAST_COMPILE
    return {name: value for name, value in FAST_COMPILE.items() if _works({name: value})} or None


def _works(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(np.float32(0)).compile()
    except RuntimeError:  # JAX's own error for this is one
        return False
    return True
