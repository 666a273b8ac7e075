"""Trees of scikit-learn, imported when they are asked for."""

from typing import Any

import numpy as np

from kullback.learning.boosting._grower import Grower, Growth, finite_thresholds
from kullback.models import Tree


class SklearnGrower(Grower):
    """Trees that look at every split of every input."""

    _regressor: Any

    def __init__(self, inputs: np.ndarray, validation: np.ndarray | None, size: int, growth: Growth) -> None:
        from sklearn.tree import DecisionTreeRegressor

        self._regressor = DecisionTreeRegressor
        largest = np.finfo(np.float32).max
        if (np.abs(inputs) > largest).any():
            raise ValueError(f"X has an entry beyond {largest:.3g}: trees of scikit-learn compare numbers of 32 bits.")
        self._inputs = inputs.astype(np.float32)
        self._all = np.concatenate([inputs, *([] if validation is None else [validation])]).astype(np.float32)
        self._scores = np.zeros((size, len(self._all)))
        self._growth = growth
        self._random = np.random.default_rng(growth.seed)
        self._trees: list[Tree] = []

    def grow(self, slope: np.ndarray, curvature: np.ndarray) -> bool:
        growth, count, grown = self._growth, len(self._inputs), False
        drawn = np.sort(self._random.permutation(count)[: max(1, int(growth.subsample * count))])
        inputs = self._inputs[drawn]
        for scores, s, c in zip(self._scores, slope[:, drawn], curvature[:, drawn], strict=True):
            weight = np.maximum(c, np.finfo(np.float32).tiny)
            found: Any = self._regressor(
                max_depth=growth.depth,
                min_samples_leaf=growth.leaf,
                random_state=int(self._random.integers(2**31)),
            )
            found.fit(inputs, s / weight, sample_weight=weight)
            tree = _as_tree(found.tree_, growth)
            scores += tree.value[found.tree_.apply(self._all)]
            self._trees.append(tree)
            grown |= len(tree.value) > 1
        return grown

    @property
    def scores(self) -> np.ndarray:
        return self._scores

    def trees(self, rounds: int) -> list[Tree]:
        return self._trees[: rounds * len(self._scores)]


def _as_tree(found: Any, growth: Growth) -> Tree:
    own, is_leaf = np.arange(found.node_count), found.children_left < 0
    value = growth.rate * np.clip(found.value[:, 0, 0], -growth.reach, growth.reach)
    return Tree(
        feature=np.where(is_leaf, 0, found.feature),
        threshold=np.where(is_leaf, 0.0, finite_thresholds(_last_below(found.threshold))),
        left=np.where(is_leaf, own, found.children_left),
        right=np.where(is_leaf, own, found.children_right),
        missing_left=found.missing_go_to_left.astype(bool),
        value=np.where(is_leaf, value, 0.0),
    )


def _last_below(threshold: np.ndarray) -> np.ndarray:
    """Return the largest numbers of 64 bits that, rounded to 32 bits, are not above the threshold."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    middle = (below.astype(np.float64) + np.nextafter(below, np.float32(np.inf)).astype(np.float64)) / 2
    odd = below.view(np.int32) & 1  # halfway, numbers are rounded to the even one
    return np.where(odd, np.nextafter(middle, -np.inf), middle)
