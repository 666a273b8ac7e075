"""The compiled part of a run: in 64 bits, and compiled quickly, as restarts have populations of many sizes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from kullback.runtime import in_float64, jit, quick_jit
from kullback.search._search import Moments, Search

Leaves = tuple[Any, ...]


class Generation(NamedTuple):
    """A search between two populations: the arrays of its state, its next points, and the moments it has."""

    leaves: Leaves
    points: NDArray[np.float64]
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    condition: float


def start(search: Search, seed: int, run: int, attempt: int = 0) -> Generation:
    """Return the first generation of a run; each attempt at it has draws of its own."""
    parts = (seed & 0xFFFFFFFF, seed >> 32, run + (attempt << 24))
    return _generation(_start, search, *(np.uint32(part) for part in parts))


def advance(
    search: Search, generation: Generation, points: NDArray[np.float64], values: NDArray[np.float64]
) -> Generation:
    """Tell the values of points, and return the next generation."""
    return _generation(_advance, search, generation.leaves, points, values)


@in_float64
def distribution_of(search: Search, leaves: Leaves) -> Any:
    """Return the distribution, with NumPy arrays."""
    return jax.tree.map(np.asarray, _compile(_distribution, search)(search, leaves))


@in_float64
def state_shapes(search: Search) -> list[tuple[tuple[int, ...], Any]]:
    """Return the shapes and dtypes of the arrays of a state."""
    leaves = jax.eval_shape(lambda: pack_state(search.init(jax.random.key(0))))
    return [(leaf.shape, leaf.dtype) for leaf in leaves]


def pack_state(state: Any) -> Leaves:
    """Return the arrays of a state, keys as numbers."""
    return tuple(jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(state))


def unpack_state(search: Search, leaves: Leaves) -> Any:
    """Return the state of a search from its arrays."""
    like = jax.eval_shape(search.init, jax.random.key(0))
    flat, tree = jax.tree.flatten(like)
    state = [jax.random.wrap_key_data(leaf) if _is_key(was) else leaf for leaf, was in zip(leaves, flat, strict=True)]
    return jax.tree.unflatten(tree, state)


def _is_key(leaf: Any) -> bool:
    return bool(jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key))


@in_float64
def _generation(function: Callable[..., Any], search: Search, *arguments: Any) -> Generation:
    leaves, points, moments = _compile(function, search)(search, *arguments)
    mean, spread, condition = (np.asarray(moment) for moment in moments)
    return Generation(tuple(leaves), np.asarray(points), mean, spread, float(condition))


def _ask(search: Search, state: Any) -> tuple[Leaves, Array, Moments]:
    points, state = search.ask(state)
    return pack_state(state), points, search.moments(state)


def _start(search: Search, low: Array, high: Array, run: Array) -> Any:
    key = jax.random.key(0)
    for part in (low, high, run):
        key = jax.random.fold_in(key, part)
    return _ask(search, search.init(key))


def _advance(search: Search, leaves: Leaves, points: Array, values: Array) -> Any:
    return _ask(search, search.tell(unpack_state(search, leaves), points, values))


def _distribution(search: Search, leaves: Leaves) -> Any:
    return search.distribution(unpack_state(search, leaves))


_QUICK = {function: quick_jit(function) for function in (_start, _advance, _distribution)}
_THOROUGH = {function: jit(function) for function in _QUICK}


def _compile(function: Callable[..., Any], search: Search) -> Callable[..., Any]:
    return (_QUICK if search.compiles_quickly else _THOROUGH)[function]
