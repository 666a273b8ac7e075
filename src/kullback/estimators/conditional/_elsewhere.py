"""Inputs and targets that lie elsewhere, in blocks: what an estimator learns of them here, and what blocks become."""

import copy
import functools
from typing import Any

import numpy as np

from kullback.estimators.data._encoding import Categories, Encoded
from kullback.estimators.data._fit_data import PairContext, Provider
from kullback.estimators.data._pairs import Pairs


def pairs_elsewhere(estimator: Any, provider: Provider, X: Any, y: Any, sample_weight: Any, first: bool) -> Any:
    """Return the data of a fit to collections; only linear fits, whose messages add up, learn from them."""
    if estimator.method != "linear":
        raise ValueError(
            f"X is a collection of blocks, and method={estimator.method!r} learns from tables that are here: use "
            "method='linear', or a part of the rows."
        )
    if estimator.missing == "indicator":
        raise ValueError("X is a collection of blocks, and missing='indicator' is for tables that are here.")
    kinds: list[str] | None = None
    categories: Categories = {}
    if isinstance(X, Encoded):
        table, kinds, categories = X
    else:
        table, columns = estimator._encode_collection(X, first)
        if columns is not None:
            kinds, categories = columns.kinds, columns.declared

    def label(rows: Any) -> Any:
        return rows if kinds is None else Encoded(rows, kinds, categories)

    def learn(rows: Any, targets: np.ndarray, weight: np.ndarray | None, found: np.ndarray) -> Pairs:
        classes = found if found.ndim == 1 else None
        pairs = estimator._pairs(label(rows), targets, weight, first, 2, classes)
        if first and found.ndim == 2:  # categories that are numbers
            known = estimator.target_categories_
            estimator.target_categories_ = np.where(known > 0, np.maximum(known, found[0] + 1), 0).astype(np.int64)
        estimator._check_learned(pairs.targets if classes is None else np.arange(len(classes))[:, None])
        return pairs

    def prepare() -> Any:
        return functools.partial(_prepare, copy.copy(estimator), kinds, categories)

    return provider.pairs(table, y, sample_weight, PairContext(learn, prepare))


def _prepare(estimator: Any, kinds: Any, categories: Any, table: Any, y: Any, weight: Any) -> Pairs:
    """Return a block, where it lies, as pairs."""
    rows = table if kinds is None else Encoded(table, kinds, categories)
    pairs: Pairs = estimator._pairs(rows, y, weight, False, 0)
    return pairs
