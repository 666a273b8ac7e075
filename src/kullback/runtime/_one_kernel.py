"""Loops over few numbers as one function of machine code."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata
from jax.interpreters.partial_eval import dce_jaxpr

Function = TypeVar("Function", bound=Callable[..., Any])

#: What XLA marks small loops with when it compiles them whole. It does so by itself below 1 kB per turn: at 8 states a
#: step of a hidden Markov chain has more, and then every operation of every turn is called by itself. A version of XLA
#: that does not know these attributes ignores them.
_ATTRIBUTES = {"xla_cpu_small_call": "true", "inlineable": "false"}


def one_kernel(function: Function, **options: Any) -> Function:
    """Let a function that is called inside compiled ones become one kernel: its loops call nothing at every turn.

    It is for loops whose turns have few numbers, and runs on one thread. It may hold arithmetic, products, indexing,
    reductions and loops, and nothing that XLA leaves to a library: no sorting, scattering or decompositions. Arrays are
    arguments, not variables from outside, and each of them is used: XLA ends the process at one that is not. So where
    one has no use, or an axis of length 1, the function is compiled as any other.

    >>> import jax.numpy as jnp
    >>> add_up = one_kernel(lambda x: jax.lax.fori_loop(0, x.size, lambda i, s: s + x[i], 0.0))
    >>> float(jax.jit(add_up)(jnp.arange(4.0)))
    6.0
    """
    compiled = jax.jit(function, **options)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = compiled(*args, **kwargs)
        if jax.default_backend() != "cpu" or jax.core.trace_ctx.is_top_level() or _has_single(args, kwargs):
            return found
        jaxpr = compiled.trace(*args, **kwargs).jaxpr.jaxpr
        if not all(dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[1]):
            return found
        return set_xla_metadata(found, **_ATTRIBUTES)  # of the call that the values come from, and of nothing inside it

    return cast(Function, call)


def _has_single(args: Any, kwargs: Any) -> bool:
    """Whether an axis has length 1: XLA simplifies what is done along it, and may leave an argument without a use."""
    return any(1 in jnp.shape(leaf) for leaf in jax.tree.leaves((args, kwargs)))
