"""Combining networks that were fitted apart: one that learns from the dreams of all of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kullback.estimators._fit_record import FitRecord
from kullback.learning import Epochs, combine_by_dreams, shares
from kullback.runtime import computing

#: Steps that a combination takes at least: dreams cost no data.
_LEAST_STEPS = 500
#: What an estimator says of its columns, and of how it learns.
_KEPT = (
    "n_features_in_",
    "feature_names_in_",
    "categories_",
    "family_",
    "n_categories_",
    "n_trials_",
    "began_with_stream_",
    "sees_missing_",
)


def combine_networks(fitted: Sequence[Any], weights: Any, random_state: Any) -> Any:
    """Return an estimator that has learned from points that all of these draw, in proportion to their weights.

    It begins at the one of largest weight and takes as many steps as the longest of the fits. How far it is from the
    mixture of all is its `combination_excess_`, in nats per row with the standard error, where likelihoods are known
    with their constants.
    """
    for one in fitted:
        check_is_fitted(one)
    records = [FitRecord.of(one) for one in fitted]
    given = [float(vars(one).get("n_points_given_", 0.0)) for one in fitted]
    if weights is None and sum(given) > 0:
        weights = given
    alpha = np.asarray(shares(weights, len(fitted)))
    for one in fitted:
        one._check_learns()
    first = fitted[int(np.argmax(alpha))]
    result = clone(first)
    for name in _KEPT:
        if name in vars(first):
            setattr(result, name, getattr(first, name))
    result.seed_ = int(check_random_state(random_state).randint(2**31))
    counted = [one.to_model() for one, share in zip(fitted, alpha, strict=True) if share > 0]
    if len(counted) == 1:  # the nearest model to one is itself
        result._hold(first._place(None, Epochs(1)))
        result.combination_excess_ = [0.0, 0.0]
    else:
        steps = max(_LEAST_STEPS, *(one.n_steps_ for one in fitted))
        result._plan(steps)
        with computing(result._bits):
            found = combine_by_dreams(
                counted,
                result._learner,
                alpha[alpha > 0],
                start=first.to_model(),
                rows=2 * result.batch_size,  # dreams cost little, and fewer leave the nearest model farther away
                steps=steps,
                seed=result.seed_,
            )
        result._hold(found.place)
        if found.excess is not None:
            result.combination_excess_ = [float(found.excess.value), float(found.excess.standard_error)]
    FitRecord.combine(records).write(result)
    result.n_points_given_, result.row_weight_ = sum(given), getattr(first, "row_weight_", 1.0)
    result.learning_curve_ = np.zeros((0, 4))
    return result
