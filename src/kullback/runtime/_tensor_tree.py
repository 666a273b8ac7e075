"""Trees of arrays in files of tensors: a name for each leaf, and shapes that are compared before anything is read."""

from typing import Any

import jax
import numpy as np

from kullback.runtime._networks import is_array

_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


def tensor_names(prefix: str, tree: Any) -> set[str]:
    """Return the names that the arrays of a tree have in a file."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {prefix + jax.tree_util.keystr(path) for path, leaf in leaves if _is_stored(leaf)}


def tensor_shapes(prefix: str, tree: Any) -> dict[str, str]:
    """Return the type and the shape of each array of a tree, in words, by the name that it has in a file."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    stored = {prefix + jax.tree_util.keystr(path): leaf for path, leaf in leaves if _is_stored(leaf)}
    return {name: f"{np.dtype(leaf.dtype).name} of shape {tuple(leaf.shape)}" for name, leaf in stored.items()}


def _is_stored(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct) or is_array(leaf)


def tensors_of(prefix: str, tree: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a tree, each under the path that leads to it. Other leaves are left out.

    >>> sorted(tensors_of("model", {"weight": np.ones(2), "activation": abs}))
    ["model['weight']"]
    """
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    named = {prefix + jax.tree_util.keystr(path): leaf for path, leaf in leaves if is_array(leaf)}
    return {name: np.asarray(leaf, order="C") for name, leaf in named.items()}


def read_tree(prefix: str, like: Any, file: Any) -> Any:
    """Return the tree whose arrays are in an open file of tensors; raise unless each has the shape and type of `like`.

    Nothing is read before its shape is known to be right. Leaves that are not arrays are those of `like`, whose arrays
    may be `jax.ShapeDtypeStruct`.
    """
    names = set(file.keys())

    def read(path: Any, leaf: Any) -> Any:
        if not _is_stored(leaf):
            return leaf
        name = prefix + jax.tree_util.keystr(path)
        if name not in names:
            raise ValueError(f"it has no {name}.")
        piece = file.get_slice(name)
        shape, dtype = tuple(piece.get_shape()), _NAMES.get(piece.get_dtype(), piece.get_dtype())
        if (shape, dtype) != (tuple(leaf.shape), np.dtype(leaf.dtype).name):
            raise ValueError(f"{name} is {dtype} of shape {shape}: it must be {leaf.dtype} of shape {leaf.shape}.")
        array = file.get_tensor(name)
        if np.issubdtype(array.dtype, np.inexact) and not np.isfinite(array).all():
            raise ValueError(f"{name} has entries that are not finite.")
        return array

    return jax.tree_util.tree_map_with_path(read, like)
