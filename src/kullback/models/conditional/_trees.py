"""Boosted trees as arrays: a network whose answer is a sum of leaves."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from kullback.numerics import Numeric, check_finite, entry_name, is_concrete
from kullback.runtime import in_given_precision, light_jit, round_length

#: Up to this depth the way down a tree is written out, and not a loop.
_SHALLOW = 8
#: Trees are filled up to so many, and beyond to a power of two, so that fits of about one size share what is compiled.
_FEW = 128


class Tree(NamedTuple):
    """One tree, node by node: the root is node 0, children come after their parent, a leaf is its own two children."""

    #: the input that a node asks for
    feature: np.ndarray
    #: inputs up to this go left
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    #: where a missing input goes
    missing_left: np.ndarray
    #: what a leaf adds
    value: np.ndarray


class Trees(eqx.Module):
    """A vector of R^size for each row of inputs: a base, and what the leaves of all trees add to it.

    It is a network for a conditional distribution: the base is the marginal in free coordinates, and each tree feeds
    one coordinate. A row goes left where its input is not above the threshold; a missing input (NaN) goes where
    `missing_left` says. Arrays have one row for each tree and one column for each node, and are laid out as in `Tree`:
    whatever they hold passes the checks or is refused here, and then no row can leave a tree or go round in it.

    >>> stump = Tree(*map(np.array, ([1, 0, 0], [0.5, 0, 0], [1, 1, 2], [2, 1, 2], [True] * 3, [0, -1.0, 3.0])))
    >>> trees = Trees.stack([stump], coordinate=[0], base=[10.0], n_inputs=2)
    >>> trees.evaluate(np.array([[7.0, 0.2], [7.0, 0.9], [7.0, np.nan]])).tolist()
    [[9.0], [13.0], [9.0]]
    """

    feature: Int[Numeric, "trees nodes"]
    threshold: Float[Numeric, "trees nodes"]
    left: Int[Numeric, "trees nodes"]
    right: Int[Numeric, "trees nodes"]
    missing_left: Bool[Numeric, "trees nodes"]
    value: Float[Numeric, "trees nodes"]
    #: the free coordinate that each tree feeds
    coordinate: Int[Numeric, " trees"]
    base: Float[Numeric, " size"]
    n_inputs: int = eqx.field(static=True)
    #: steps from a root to the farthest leaf
    depth: int = eqx.field(static=True)

    def __init__(
        self,
        feature: Any,
        threshold: Any,
        left: Any,
        right: Any,
        missing_left: Any,
        value: Any,
        *,
        coordinate: Any,
        base: Any,
        n_inputs: int,
    ) -> None:
        self.n_inputs = int(n_inputs)
        self.base, self.threshold, self.value = _numbers(base=base, threshold=threshold, value=value)
        self.missing_left = np.asarray(missing_left, bool)
        nodes = self.value.shape[-1] if self.value.ndim else 0
        self.feature = _places("feature", feature, self.n_inputs, "inputs")
        self.left = _places("left", left, nodes, "nodes")
        self.right = _places("right", right, nodes, "nodes")
        self.coordinate = _places("coordinate", coordinate, self.base.size, "coordinates")
        _check_layout(self)
        self.depth = _depth(self)

    @classmethod
    def stack(cls, trees: Sequence[Tree], coordinate: Sequence[int], base: Any, n_inputs: int) -> Self:
        """Return trees of any sizes side by side; unused nodes at the end of a row are leaves that nothing leads to."""
        nodes = max((len(tree.value) for tree in trees), default=1)
        own = np.arange(nodes, dtype=np.int32)
        columns: list[Any] = []
        for name, empty in zip(Tree._fields, (0 * own, 0.0 * own, own, own, own < 0, 0.0 * own), strict=True):
            column = np.tile(empty, (len(trees), 1))
            for place, tree in enumerate(trees):
                found = getattr(tree, name)
                column[place, : len(found)] = found
            columns.append(column)
        return cls(*columns, coordinate=coordinate, base=base, n_inputs=n_inputs)

    @property
    def size(self) -> int:
        """How many numbers it answers with."""
        return self.base.shape[-1]

    @in_given_precision
    def __call__(self, x: Float[Numeric, " inputs"]) -> Float[Array, " size"]:
        """Return the vector of one row of inputs."""
        x = jnp.asarray(x)
        if x.shape != (self.n_inputs,):
            raise ValueError(f"x has shape {x.shape}: the trees were grown on {self.n_inputs} inputs.")
        coordinates = jnp.arange(self.size)

        def add(total: Array, each: tuple[Array, ...]) -> tuple[Array, None]:
            feature, threshold, left, right, missing_left, value, coordinate = each

            def descend(_: Any, node: Array) -> Array:
                entry = x[feature[node]]
                goes_left = jnp.where(jnp.isnan(entry), missing_left[node], entry <= threshold[node])
                return jnp.where(goes_left, left[node], right[node])

            leaf = jax.lax.fori_loop(0, self.depth, descend, jnp.int32(0), unroll=0 < self.depth <= _SHALLOW or None)
            return total + jnp.where(coordinates == coordinate, value[leaf], 0), None

        arrays = (self.feature, self.threshold, self.left, self.right, self.missing_left, self.value, self.coordinate)
        return jax.lax.scan(add, jnp.asarray(self.base), jax.tree.map(jnp.asarray, arrays))[0]

    @in_given_precision
    def evaluate(self, X: Float[Numeric, "rows inputs"]) -> Float[Array, "rows size"]:
        """Return the vectors of all rows of inputs, tree by tree.

        Rows and trees are filled up to round numbers: models and tables of about one size compile once.
        """
        if jnp.ndim(X) != 2 or jnp.shape(X)[1] != self.n_inputs:
            raise ValueError(f"X has shape {jnp.shape(X)}: the trees were grown on {self.n_inputs} inputs.")
        if not is_concrete(X, *jax.tree.leaves(self)):
            return _evaluate_rows(self, jnp.asarray(X))
        rows, trees = len(X), len(self.coordinate)
        more = [(0, (1 << max(trees - 1, _FEW - 1).bit_length()) - trees), (0, 0)]
        filled = eqx.tree_at(
            lambda t: [getattr(t, name) for name in Tree._fields], self, replace_fn=lambda a: np.pad(a, more)
        )
        filled = eqx.tree_at(lambda t: t.coordinate, filled, np.pad(self.coordinate, more[0]))
        return _evaluate(filled, np.pad(X, [(0, round_length(rows) - rows), (0, 0)]))[:rows]


def _evaluate_rows(trees: Trees, X: Array) -> Array:
    return jax.vmap(trees)(X)


_evaluate = light_jit(_evaluate_rows)


def _numbers(**arrays: Any) -> list[np.ndarray]:
    """Return arrays of finite numbers, or raise."""
    found = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
    for name, array in found.items():
        check_finite(name, array)
    return list(found.values())


def _places(name: str, values: Any, count: int, what: str) -> np.ndarray:
    """Return whole numbers below `count`, or raise."""
    values = np.asarray(values)
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"{name} holds {values.dtype}: it needs whole numbers.")
    wrong = (values < 0) | (values >= count)
    if wrong.any():
        index = tuple(np.argwhere(wrong)[0])
        raise ValueError(f"{entry_name(name, index)} is {values[index]}: there are {count} {what}, numbered from 0.")
    return values.astype(np.int32)


def _check_layout(trees: Trees) -> None:
    """Raise where arrays do not describe trees, with one sentence."""
    shape = trees.value.shape
    if len(shape) != 2 or shape[1] < 1:
        raise ValueError(f"value has shape {shape}: it needs a row for each tree and a column for each node.")
    for name in ("feature", "threshold", "left", "right", "missing_left"):
        found = getattr(trees, name).shape
        if found != shape:
            raise ValueError(f"{name} has shape {found}: value has {shape}, and both need the same.")
    if trees.base.ndim != 1 or trees.base.size < 1:
        raise ValueError(f"base has shape {trees.base.shape}: it needs one entry for each coordinate.")
    if trees.coordinate.shape != shape[:1]:
        raise ValueError(
            f"coordinate has shape {trees.coordinate.shape}: there are {shape[0]} trees, and each has one."
        )
    own = np.arange(shape[1])
    is_leaf = (trees.left == own) & (trees.right == own)
    wrong = ~is_leaf & ~((trees.left > own) & (trees.right > own))
    if wrong.any():
        tree, node = (int(place) for place in np.argwhere(wrong)[0])
        raise ValueError(
            f"Node {node} of tree {tree} has the children {trees.left[tree, node]} and {trees.right[tree, node]}: "
            "both must come after it, or be the node itself where it is a leaf."
        )


def _depth(trees: Trees) -> int:
    """Return how many steps lead to the farthest leaf; children come after their parents, so one pass is enough."""
    deep = np.zeros(trees.feature.shape, int)
    reached = np.zeros(trees.feature.shape, bool)
    reached[:, 0] = True
    rows = np.arange(len(deep))
    for node in range(deep.shape[1]):
        inner = reached[:, node] & (trees.left[:, node] != node)
        for child in (trees.left[:, node], trees.right[:, node]):
            deep[rows[inner], child[inner]] = np.maximum(deep[rows[inner], child[inner]], deep[inner, node] + 1)
            reached[rows[inner], child[inner]] = True
    return int(deep.max(initial=0))
