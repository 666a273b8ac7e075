"""Leaves of a model that are data, and no parameters."""

from typing import Any

import equinox as eqx
import jax


class Fixed(eqx.Module):
    """Numbers of a model that no optimizer moves, such as the center of the inputs that a network standardizes."""

    value: Any


def trainable_leaves(tree: Any) -> Any:
    """Return a tree of bools: whether a leaf is an array or a number of floating point that is not `Fixed`."""

    def mark(node: Any) -> Any:
        if isinstance(node, Fixed):
            return jax.tree.map(lambda _: False, node)
        return eqx.is_inexact_array_like(node)

    return jax.tree.map(mark, tree, is_leaf=lambda node: isinstance(node, Fixed))
