"""jit for trees with leaves that are not arrays, as networks have: those are compiled in."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import numpy as np

from kullback.runtime._compiled import Function, jit

TreeT = TypeVar("TreeT")


def is_array(leaf: Any) -> bool:
    """Whether a leaf is traced: numbers of Python are not, for modules branch on them."""
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


def as_numpy(tree: TreeT) -> TreeT:
    """Return a tree with NumPy arrays in the place of JAX's: what crosses a border. Functions stay as they are."""
    arrays: TreeT = jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, tree)
    return arrays


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class _Constant:
    """A leaf that is part of the structure of its tree."""

    value: Any


def filter_jit(function: Function, compiler: Callable[[Any], Any] = jit) -> Function:
    """Compile a function of a module whose arguments and results may have functions among their leaves.

    >>> filter_jit(lambda activation, x: (activation, activation(x)))(abs, np.array([-1.0, 2.0]))[0] is abs
    True
    """
    plain = compiler(function)

    @functools.wraps(function)
    def wrapped(*args: Any) -> Any:
        return _with_constants(function(*_without_constants(args)))

    with_constants = compiler(wrapped)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        if all(is_array(leaf) for leaf in jax.tree.leaves(args)):
            return plain(*args)
        return _without_constants(with_constants(*_with_constants(args)))

    return cast(Function, call)


def _with_constants(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf if is_array(leaf) else _Constant(leaf), tree)


def _without_constants(tree: Any) -> Any:
    return jax.tree.map(
        lambda node: node.value if isinstance(node, _Constant) else node,
        tree,
        is_leaf=lambda node: isinstance(node, _Constant),
    )
