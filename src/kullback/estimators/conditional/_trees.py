"""Boosted trees at the front door."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kullback.estimators._fit_record import FitRecord
from kullback.estimators._progress import Progress
from kullback.estimators.data._pairs import Pairs
from kullback.learning import boost
from kullback.models import Conditional, Tree, Trees

#: Rounds at most and what is taken of each leaf's step, where no numbers are given.
_MAX_ITER, _RATE = 500, 0.1


class TreesMethod:
    """Free coordinates that are sums of trees."""

    arrays: ClassVar[tuple[str, ...]] = (*(f"tree_{name}_" for name in Tree._fields), "tree_coordinate_", "tree_base_")
    trees: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[tuple[str, ...]] = ()

    def check(self, estimator: Any) -> None:
        """Raise where parameters do not go with this method."""
        if estimator.warm_start:
            raise ValueError("warm_start is True and method 'trees': its rounds begin anew; it is for other methods.")
        if estimator._components > 1:
            raise ValueError(
                f"n_components is {estimator._components} and method 'trees': mixtures are for method='network'."
            )

    def fit(self, estimator: Any, pairs: Pairs) -> None:
        """Add rounds of trees until the part that is held out gains no more."""
        if pairs.missing:
            raise ValueError("y has missing targets: method='trees' needs all of them; 'linear' and 'network' do not.")
        learned, held = pairs.split(estimator.validation_fraction, estimator.seed_)
        rounds = estimator.max_iter or _MAX_ITER
        with Progress(estimator.verbose, rounds) as progress:
            progress.begin(0)
            found = boost(
                estimator._kind,
                learned.matrix(),
                learned.targets,
                weight=learned.weight,
                validation=(held.matrix(), held.targets, held.weight) if len(held) else None,
                rounds=rounds,
                rate=estimator.learning_rate or _RATE,
                depth=estimator.max_depth,
                leaf=min(estimator.min_samples_leaf, max(len(learned) // 4, 1)),
                patience=estimator.n_iter_no_change,
                threads=estimator.n_jobs,
                seed=estimator.seed_,
                start=estimator._targets.marginal(learned.targets, learned.weight),
                callback=lambda count, training, _: progress.step(-training) if count else None,
            )
            converged = len(found.training) <= rounds
            progress.end(converged)
        self._keep(estimator, found.trees)
        history = [-float(value) for value in found.training]
        if found.validation is not None:
            estimator.validation_scores_ = [-float(value) for value in found.validation]
        FitRecord(converged, len(history) - 1, history[found.best_round], history, learned.mass, 1).write(estimator)
        if not converged and found.validation is not None:
            warnings.warn(
                f"Boosting still gains after max_iter = {rounds} rounds: increase max_iter or learning_rate.",
                ConvergenceWarning,
                stacklevel=4,  # the line that calls `fit`
            )

    def partial_fit(self, estimator: Any, pairs: Pairs, first: bool) -> None:
        """Raise: rounds need all rows."""
        raise ValueError("method='trees' learns from all rows at once: use fit, or another method.")

    def to_model(self, estimator: Any) -> Conditional:
        """Return the fitted model."""
        arrays = [getattr(estimator, f"tree_{name}_") for name in Tree._fields]
        trees = Trees(
            *arrays,
            coordinate=estimator.tree_coordinate_,
            base=estimator.tree_base_,
            n_inputs=estimator._design.width,
        )
        if trees.size != estimator._kind.size:
            raise ValueError(f"tree_base_ has {trees.size} entries: there are {estimator._kind.size} coordinates.")
        return Conditional(trees, estimator._kind)

    def free(self, model: Any, matrix: np.ndarray) -> np.ndarray:
        """Return the free coordinates of rows of the design, tree by tree for all of them."""
        return np.asarray(model.network.evaluate(matrix))

    def tree_shapes(self, estimator: Any) -> dict[str, Any]:
        """Return nothing: trees are arrays of any size."""
        return {}

    def n_parameters(self, estimator: Any) -> int:
        """Return the number of leaves."""
        own = np.arange(estimator.tree_left_.shape[1])
        return int(np.sum(estimator.tree_left_ == own)) + len(estimator.tree_base_)

    @staticmethod
    def _keep(estimator: Any, trees: Any) -> None:
        for name in Tree._fields:
            setattr(estimator, f"tree_{name}_", np.asarray(getattr(trees, name)))
        estimator.tree_coordinate_, estimator.tree_base_ = np.asarray(trees.coordinate), np.asarray(trees.base)


METHOD = TreesMethod()
