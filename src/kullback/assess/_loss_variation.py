"""Three sources of chance in a loss, apart: the rows it is tested on, the seed, and the rows that were learned from."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from kullback.assess._refit import (
    RowLoss,
    check_count,
    check_data,
    fit_copy,
    negative_log_likelihoods,
    resamples,
    row_losses,
)


class LossVariation(NamedTuple):
    """A loss on test rows, and how far three sources of chance move it, each alone, as standard deviations.

    Attributes
    ----------
    loss : float
        Of the fit to all training rows with the first seed.
    test_rows : float
        Over other test rows, with this fit: the standard error of the mean.
    seeds : float
        Over other values of `random_state`, with these rows; 0 for an estimator that has none.
    training_rows : float
        Over other training rows, by bootstrap, with the first seed.
    by_seed, by_training_rows : ndarray
        The losses of the refits.

    """

    loss: float
    test_rows: float
    seeds: float
    training_rows: float
    by_seed: Float[np.ndarray, " fits"]
    by_training_rows: Float[np.ndarray, " fits"]


def loss_variation(
    estimator: Any,
    X: Any,
    X_test: Any,
    y: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    *,
    loss: RowLoss = negative_log_likelihoods,
    n_seeds: int = 10,
    n_resamples: int = 20,
    seed: int = 0,
) -> LossVariation:
    """Refit an estimator with other seeds and with other rows, and tell the sources of chance in its loss apart.

    Parameters
    ----------
    estimator : object
        Anything that scikit-learn can clone, with `fit`.
    X, y : array_like or frame
        Training rows, and their targets where there are any.
    X_test, y_test : array_like
        Rows that no fit sees.
    loss : callable
        `loss(fitted, X, y)` returns one loss for each row, by default −log p in nats.
    n_seeds, n_resamples : int
        Fits with other seeds, and fits to other rows.
    seed : int
        The first `random_state`; the others follow. Also that of the rows that are drawn.

    Examples
    --------
    >>> from kullback.assess import zero_one_losses
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 0] + rng.normal(size=300) > 0
    >>> tree = DecisionTreeClassifier(max_features=1)
    >>> found = loss_variation(tree, X[:200], X[200:], y[:200], y[200:], loss=zero_one_losses)
    >>> min(found.test_rows, found.seeds, found.training_rows) > 0.01
    True

    """
    X, y = check_data("X", X, "y", y)
    X_test, y_test = check_data("X_test", X_test, "y_test", y_test)
    if (y is None) != (y_test is None):
        raise ValueError("y and y_test must both be there, or neither.")
    check_count("n_seeds", n_seeds, 2)
    check_count("n_resamples", n_resamples, 2)

    def test_losses(rows: Any, random_state: int) -> np.ndarray:
        return row_losses(loss, fit_copy(estimator, X, y, rows, random_state), X_test, y_test)

    everything = np.arange(len(X))
    first = test_losses(everything, seed)
    mean = float(np.mean(first))
    other_seeds = range(seed + 1, seed + n_seeds) if "random_state" in estimator.get_params() else ()
    by_seed = np.array([mean, *(np.mean(test_losses(everything, other)) for other in other_seeds)])
    by_rows = np.array([np.mean(test_losses(rows, seed)) for rows in resamples(len(X), n_resamples, seed)])
    return LossVariation(
        mean,
        float(np.std(first, ddof=1) / np.sqrt(len(first))),
        float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else 0.0,
        float(np.std(by_rows, ddof=1)),
        by_seed,
        by_rows,
    )
