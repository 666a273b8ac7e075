"""Combining what was fitted apart."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from sklearn.base import clone

from kullback import learning


def combine(fitted: Sequence[Any], weights: Any = None, align: bool = True) -> Any:
    """Return one estimator (or model) nearest to several fitted ones, without their data.

    Weights default to the number of points each has seen; models count equally. With `align`, components are lined
    up first, so that the order in which a fit has numbered them makes no difference.

    >>> import numpy as np
    >>> from kullback import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> sites = [np.concatenate([rng.normal(m, 1, (300, 2)) for m in (-5, 5)]) for _ in range(3)]
    >>> fitted = [GaussianMixture(n_components=2, random_state=i).fit(X) for i, X in enumerate(sites)]
    >>> np.sort(combine(fitted).means_[:, 0]).round().tolist()
    [-5.0, 5.0]
    """
    fitted = list(fitted)
    if not fitted:
        raise ValueError("fitted is empty: there is nothing to combine.")
    if not hasattr(fitted[0], "to_model"):
        return learning.combine(fitted, weights, align)
    if weights is None:
        weights = [estimator.n_points_seen_ for estimator in fitted]
    with jax.enable_x64(True):
        models = [jax.tree.map(jax.numpy.asarray, estimator.to_model()) for estimator in fitted]
        nearest = jax.tree.map(np.asarray, learning.combine(models, weights, align))
    result = clone(fitted[0])
    result._keep(nearest)
    result.n_features_in_ = fitted[0].n_features_in_
    result.n_points_seen_ = float(sum(estimator.n_points_seen_ for estimator in fitted))
    result.n_batches_seen_ = sum(estimator.n_batches_seen_ for estimator in fitted)
    return result
