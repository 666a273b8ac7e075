"""The compiled part of a run: in 64 bits, and compiled in a hurry, as restarts have populations of many sizes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from kullback.families import DiagonalGaussian, Gaussian
from kullback.runtime import computing, jit, quick_jit
from kullback.search._integers import Stretch
from kullback.search._method import Method

#: So many numbers in a matrix and a population are few: little is won by what XLA could do in ten times as long.
FEW = 10_000


class Turn(NamedTuple):
    """A search between two populations: its state, what it asks for, and what its distribution is."""

    leaves: tuple[Any, ...]
    points: NDArray[np.float64]
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    condition: float


def begun(search: Method, seed: int, run: int, attempt: int = 0) -> Turn:
    """Return the first turn of a run; each attempt at it has draws of its own."""
    parts = (seed & 0xFFFFFFFF, seed >> 32, run + (attempt << 24))
    with computing():
        return _turn(_compiled(_begin, search)(search, *(np.uint32(part) for part in parts)))


def advanced(search: Method, turn: Turn, points: NDArray[np.float64], values: NDArray[np.float64]) -> Turn:
    """Tell the values of points, and return the next turn."""
    with computing():
        return _turn(_compiled(_advance, search)(search, turn.leaves, points, values))


def distribution_of(search: Method, leaves: tuple[Any, ...], stretch: Stretch) -> Any:
    """Return the distribution of stretched points, with NumPy arrays."""
    with computing():
        found = jax.tree.map(np.asarray, _compiled(_distribution, search)(search, leaves))
    if np.all(stretch.factor == 1):
        return found
    mean, factor = stretch.applied(found.mean), stretch.factor
    if isinstance(found, Gaussian):
        return Gaussian(mean, found.covariance * factor[:, None] * factor)
    return DiagonalGaussian(mean, np.square(factor) * found.variance)


def turn_shapes(search: Method) -> list[tuple[tuple[int, ...], Any]]:
    """Return the shapes and dtypes of what a turn keeps of the state of a search."""
    with computing():
        leaves = jax.eval_shape(lambda: _packed(search.init(jax.random.key(0))))
        return [(leaf.shape, leaf.dtype) for leaf in leaves]


def _turn(out: tuple[tuple[Array, ...], Array, Array, Array, Array]) -> Turn:
    leaves, points, mean, spread, condition = out
    return Turn(tuple(leaves), np.asarray(points), np.asarray(mean), np.asarray(spread), float(condition))


def _asked(search: Method, state: Any) -> tuple[tuple[Array, ...], Array, Array, Array, Array]:
    points, state = search.ask(state)
    # of the distribution only the mean is computed
    distribution: Any = search.distribution(state)
    return _packed(state), points, distribution.mean, search.spread(state), search.condition(state)


def _packed(state: Any) -> tuple[Array, ...]:
    """Return the arrays of a state, keys as numbers."""
    return tuple(jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(state))


def _unpacked(search: Method, leaves: tuple[Array, ...]) -> Any:
    like = jax.eval_shape(search.init, jax.random.key(0))
    flat, tree = jax.tree.flatten(like)
    state = [jax.random.wrap_key_data(leaf) if _is_key(was) else leaf for leaf, was in zip(leaves, flat, strict=True)]
    return jax.tree.unflatten(tree, state)


def _is_key(leaf: Any) -> bool:
    return bool(jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _begin(search: Method, low: Array, high: Array, run: Array) -> Any:
    key = jax.random.key(0)
    for part in (low, high, run):
        key = jax.random.fold_in(key, part)
    return _asked(search, search.init(key))


def _advance(search: Method, leaves: tuple[Array, ...], points: Array, values: Array) -> Any:
    return _asked(search, search.tell(_unpacked(search, leaves), points, values))


def _distribution(search: Method, leaves: tuple[Array, ...]) -> Any:
    return search.distribution(_unpacked(search, leaves))


_QUICK = {function: quick_jit(function) for function in (_begin, _advance, _distribution)}
_WELL = {function: jit(function) for function in _QUICK}


def _compiled(function: Callable[..., Any], search: Method) -> Callable[..., Any]:
    few = search.dimension * (search.dimension + search.population) <= FEW
    return (_QUICK if few else _WELL)[function]
