"""Trees of LightGBM, an extra: it is imported when it is asked for."""

import importlib.util
from typing import Any

import numpy as np

from kullback.learning.boosting._grower import Grower, Growth, finite_thresholds
from kullback.models import Tree


def is_installed() -> bool:
    """Whether LightGBM can be imported."""
    return importlib.util.find_spec("lightgbm") is not None


class LightGBMGrower(Grower):
    """Trees that look at splits between bins of the inputs; all trees of a round are grown at once."""

    def __init__(self, inputs: np.ndarray, validation: np.ndarray | None, size: int, growth: Growth) -> None:
        import lightgbm

        settings: dict[str, Any] = {
            "objective": "none",
            "metric": "None",
            "num_class": size,
            "learning_rate": growth.rate,
            "max_depth": growth.depth,
            "num_leaves": max(2, min(2**growth.depth, len(inputs))),
            "min_data_in_leaf": growth.leaf,
            "min_data_in_bin": min(3, growth.leaf),
            "bagging_fraction": growth.subsample,
            "bagging_freq": int(growth.subsample < 1),
            "max_delta_step": growth.reach,
            "num_threads": growth.threads,
            "seed": growth.seed % 2**31,
            "deterministic": True,
            "force_col_wise": True,
            "verbose": -1,
        }
        data = lightgbm.Dataset(inputs, params=settings).construct()
        # inputs that allow no split have no bins; without any that has some LightGBM raises
        self._can_split = any(data.feature_num_bin(column) > 1 for column in range(inputs.shape[1]))
        self._booster: Any = lightgbm.Booster(settings, data)
        if validation is not None:
            self._booster.add_valid(lightgbm.Dataset(validation, reference=data, params=settings), "validation")
        self._size = size

    def grow(self, slope: np.ndarray, curvature: np.ndarray) -> bool:
        if not self._can_split:
            return False
        gradient, curvature = (-slope).ravel(), curvature.ravel()
        return not self._booster.update(fobj=lambda scores, data: (gradient, curvature))

    @property
    def scores(self) -> np.ndarray:
        found = []

        def look(scores: np.ndarray, data: Any) -> tuple[str, float, bool]:
            found.append(scores.ravel(order="F").reshape(self._size, -1))
            return "none", 0.0, True

        self._booster.eval_train(look)
        self._booster.eval_valid(look)
        return np.concatenate(found, axis=1)

    def trees(self, rounds: int) -> list[Tree]:
        if not rounds:
            return []
        text = self._booster.model_to_string(num_iteration=rounds)
        return [_as_tree(block) for block in text.split("\nTree=")[1:]]


def _as_tree(block: str) -> Tree:
    """Read one tree: inner nodes come first here, then leaves, which LightGBM numbers from −1 downwards."""
    lines = dict(line.split("=", 1) for line in block.splitlines()[1:] if "=" in line)

    def read(name: str, kind: type) -> np.ndarray:
        return np.array(lines.get(name, "").split(), kind)

    value, leaf_rows, rows = read("leaf_value", float), read("leaf_count", float), read("internal_count", float)
    if len(value) == 1:
        zero = np.zeros(1, int)
        return Tree(zero, np.zeros(1), zero, zero, np.zeros(1, bool), value)
    inner = len(value) - 1
    own = np.arange(inner + len(value))
    left, right = (np.where(c < 0, inner + ~c, c) for c in (read("left_child", int), read("right_child", int)))
    decision, rows = read("decision_type", int), np.concatenate([rows, leaf_rows])
    # where nothing was missing, what is missing later goes with the most rows
    missing_left = np.where(decision >> 2 & 3 == 2, decision & 2 > 0, rows[left] > rows[right])
    leaves = np.zeros(len(value))
    return Tree(
        feature=np.concatenate([read("split_feature", int), leaves.astype(int)]),
        threshold=finite_thresholds(np.concatenate([read("threshold", float), leaves])),
        left=np.concatenate([left, own[inner:]]),
        right=np.concatenate([right, own[inner:]]),
        missing_left=np.concatenate([missing_left, leaves > 0]),
        value=np.concatenate([np.zeros(inner), value]),
    )
