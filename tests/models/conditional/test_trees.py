"""Trees as arrays: they answer as a walk node by node does, and refuse what is no tree."""

import jax
import numpy as np
import pytest

from kullback.models import Tree, Trees
from tiers import slow

STUMP = Tree(
    np.array([1, 0, 0]),
    np.array([0.5, 0.0, 0.0]),
    np.array([1, 1, 2]),
    np.array([2, 1, 2]),
    np.array([True, False, False]),
    np.array([0.0, -1.0, 3.0]),
)


def random_tree(rng, splits, inputs):
    """A tree of any shape: a leaf is split again and again, and both children come last."""
    nodes = 2 * splits + 1
    left, right = np.arange(nodes), np.arange(nodes)
    leaves = [0]
    for count in range(splits):
        parent = leaves.pop(rng.integers(len(leaves)))
        left[parent], right[parent] = 2 * count + 1, 2 * count + 2
        leaves += [2 * count + 1, 2 * count + 2]
    threshold, value = rng.normal(size=(2, nodes))
    return Tree(rng.integers(inputs, size=nodes), threshold, left, right, rng.random(nodes) < 0.5, value)


def walk(tree, x):
    node = 0
    while tree.left[node] != node:
        entry = x[tree.feature[node]]
        left = tree.missing_left[node] if np.isnan(entry) else entry <= tree.threshold[node]
        node = (tree.left if left else tree.right)[node]
    return tree.value[node]


@pytest.mark.parametrize("splits", [(0, 1, 3, 7), slow((12, 30))])
def test_rows_go_down_every_tree(splits):
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, count, 3) for count in splits * 2]
    coordinate = rng.integers(2, size=len(trees))
    X = rng.normal(size=(70, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0, trees[1].feature[0]] = trees[1].threshold[0]  # equal goes left
    expected = np.tile([5.0, -2.0], (70, 1))
    for tree, place in zip(trees, coordinate, strict=True):
        expected[:, place] += [walk(tree, x) for x in X]
    found = Trees.stack(trees, coordinate, base=[5.0, -2.0], n_inputs=3)
    np.testing.assert_allclose(found.evaluate(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found(X[3]), expected[3], rtol=1e-12, atol=1e-12)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(Trees.evaluate)(found, X), expected, rtol=1e-12, atol=1e-12)


def test_without_trees_there_is_the_base():
    trees = Trees.stack([], [], base=[1.0, 2.0], n_inputs=4)
    assert trees.depth == 0
    assert trees.evaluate(np.zeros((3, 4))).tolist() == [[1.0, 2.0]] * 3


def test_thresholds_are_compared_in_64_bits():
    just_above = np.nextafter(0.5, 1)
    trees = Trees.stack([STUMP], [0], base=[0.0], n_inputs=2)
    assert trees.evaluate(np.array([[0.0, 0.5], [0.0, just_above]])).tolist() == [[-1.0], [3.0]]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"left": [[1, 1, 3]]}, r"left\[0, 2\] is 3: there are 3 nodes, numbered from 0."),
        ({"right": [[-1, 1, 2]]}, r"right\[0, 0\] is -1: there are 3 nodes"),
        ({"left": [[0, 1, 2]]}, "Node 0 of tree 0 has the children 0 and 2: both must come after it"),
        ({"left": [[1, 0, 2]], "right": [[2, 0, 2]]}, "Node 1 of tree 0 has the children 0 and 0"),
        ({"feature": [[2, 0, 0]]}, r"feature\[0, 0\] is 2: there are 2 inputs"),
        ({"feature": [[0.5, 0, 0]]}, "feature holds float64: it needs whole numbers."),
        ({"feature": [[2**40, 0, 0]]}, r"feature\[0, 0\] is 1099511627776"),
        ({"coordinate": [1]}, r"coordinate\[0\] is 1: there are 1 coordinates"),
        ({"coordinate": [0, 0]}, r"coordinate has shape \(2,\): there are 1 trees, and each has one."),
        ({"value": [[0, np.nan, 0]]}, r"value\[0, 1\] is nan: it must be finite."),
        ({"threshold": [[np.inf, 0, 0]]}, r"threshold\[0, 0\] is inf: it must be finite."),
        ({"threshold": [[0.5, 0]]}, r"threshold has shape \(1, 2\): value has \(1, 3\), and both need the same."),
        ({"value": [0.0, 1.0, 2.0]}, r"value has shape \(3,\): it needs a row for each tree"),
        ({"base": []}, r"coordinate\[0\] is 0: there are 0 coordinates"),
        ({"base": [[0.0]]}, r"base has shape \(1, 1\): it needs one entry for each coordinate."),
    ],
)
def test_what_is_no_tree_is_refused(changed, sentence):
    arrays = {name: [value.tolist()] for name, value in STUMP._asdict().items()}
    arrays |= {"coordinate": [0], "base": [0.0], "n_inputs": 2}
    Trees(**arrays)
    with pytest.raises(ValueError, match=sentence):
        Trees(**(arrays | changed))


def test_inputs_of_another_width_are_refused():
    trees = Trees.stack([STUMP], [0], base=[0.0], n_inputs=2)
    with pytest.raises(ValueError, match=r"X has shape \(3, 5\): the trees were grown on 2 inputs."):
        trees.evaluate(np.zeros((3, 5)))
    with pytest.raises(ValueError, match=r"x has shape \(5,\): the trees were grown on 2 inputs."):
        trees(np.zeros(5))
