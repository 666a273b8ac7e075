"""Eager calls on numbers that were given in 64 bits: they are computed in 64 bits, whatever mode JAX is in."""

import functools
import inspect
import types
from typing import Any, cast

import jax
import numpy as np

from kullback.runtime._compiled import Function
from kullback.runtime._computing import computing, is_computing
from kullback.runtime._networks import as_numpy


def in_given_precision(function: Function) -> Function:
    """Make eager calls of a function compute in the precision of what they are given.

    The first argument that holds numbers decides. Numbers of Python, and NumPy's of 64 bits, are computed with in 64
    bits, and arrays of NumPy come out; arrays of JAX are computed with as JAX is set. Inside `jit`, `grad` and `vmap`,
    and where JAX is in its 64-bit mode, nothing changes.

    >>> import jax.numpy as jnp
    >>> in_given_precision(jnp.exp)(np.array(1.0)).dtype
    dtype('float64')
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if jax.config.read("jax_enable_x64") or not jax.core.trace_ctx.is_top_level() or is_computing():
            return function(*args, **kwargs)
        if not _in_64_bits((*args, *kwargs.values())):
            return function(*args, **kwargs)
        with computing():
            return as_numpy(function(*args, **kwargs))

    return cast(Function, call)


def keep_given_precision(cls: type) -> None:
    """Let every public method and property that a class defines compute in the precision of its own parameters."""
    fields = inspect.get_annotations(cls)
    for name, value in list(vars(cls).items()):
        if name.startswith("_") or name in fields or getattr(value, "__isabstractmethod__", False):
            continue
        if isinstance(value, types.FunctionType):
            setattr(cls, name, in_given_precision(value))
        elif isinstance(value, property) and value.fget is not None:
            setattr(cls, name, property(in_given_precision(value.fget), doc=value.__doc__))


def _in_64_bits(args: tuple[Any, ...]) -> bool:
    """Whether the first argument with numbers holds 64 bits, and no array of JAX."""
    for argument in args:
        leaves = jax.tree.leaves(argument)
        if any(isinstance(leaf, jax.Array) for leaf in leaves):
            return False
        numbers = [leaf for leaf in leaves if isinstance(leaf, (np.ndarray, np.generic, float, int))]
        if numbers:
            return any(np.result_type(leaf).itemsize == 8 for leaf in numbers)
    return False
