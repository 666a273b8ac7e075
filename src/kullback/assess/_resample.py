"""What other rows, other seeds and other training data would have made of a loss.

Resampling and then splitting leaks: a row that was drawn twice lands on both sides, and a model is tested on what it
has learned. Here a fit is only asked about rows that it has not seen.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from kullback.assess._interval import ConfidenceInterval, check_delta, check_entries

#: `loss(fitted, X, y)` returns one loss for each row.
RowLoss = Callable[[Any, Any, Any], Any]
#: Up to so many rows the bootstrap is corrected for bias and skewness (BCa), which takes their square in time.
_MOST_CORRECTED = 5_000


def negative_log_likelihoods(fitted: Any, X: Any, y: Any = None) -> Float[np.ndarray, " rows"]:
    """Return −log p of each row, in nats: the loss of estimators of densities; of y given X where there is a y."""
    return -np.asarray(fitted.score_samples(X) if y is None else fitted.score_samples(X, y))


def zero_one_losses(fitted: Any, X: Any, y: Any) -> Float[np.ndarray, " rows"]:
    """Return 1 for each row whose class is predicted wrongly, and 0 for others."""
    return np.asarray(np.asarray(fitted.predict(X)) != np.asarray(y), np.float64)


class OutOfBag(NamedTuple):
    """What fits to resampled rows answer to all rows; `outside` marks those that a fit has not seen.

    `values` has a row for each fit and a column for each row of the data.
    """

    values: Float[np.ndarray, "fits rows"]
    outside: Bool[np.ndarray, "fits rows"]

    @property
    def held_out(self) -> Float[np.ndarray, " rows"]:
        """The mean loss of each row over the fits that have not seen it."""
        return _masked_mean(self.values, self.outside)

    @property
    def seen(self) -> Float[np.ndarray, " rows"]:
        """The mean loss of each row over the fits that have learned from it."""
        return _masked_mean(self.values, ~self.outside)

    @property
    def loss(self) -> float:
        """The loss on rows that were not seen: a little above that of a fit to all rows, as fits see 63 % of them."""
        return float(np.mean(self.held_out))

    @property
    def standard_error(self) -> float:
        """How far other rows would have moved `loss`, with the fits as they are."""
        return float(np.std(self.held_out, ddof=1) / np.sqrt(self.values.shape[1]))

    def gap(self, alpha: float = 0.05, *, seed: int = 0) -> ConfidenceInterval:
        """Return an interval of the generalization gap: the loss of a row that was seen less that of the row unseen."""
        return generalization_gap(self.seen, self.held_out, alpha, paired=True, seed=seed)


def out_of_bag(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    loss: RowLoss = negative_log_likelihoods,
    n_resamples: int = 50,
    seed: int = 0,
) -> OutOfBag:
    """Fit copies of an estimator to rows drawn with replacement, and ask each for the loss of all rows.

    Parameters
    ----------
    estimator : object
        Anything that scikit-learn can clone, with `fit`.
    X, y : array_like or frame
        Independent rows, and their targets where there are any.
    loss : callable
        `loss(fitted, X, y)` returns one number for each row, by default −log p in nats. It may be a prediction:
        `bias_variance` takes them.
    n_resamples : int
        Fits. A row is outside of about 37 % of them.
    seed : int
        Of the rows that are drawn.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, coins = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    >>> found = out_of_bag(KNeighborsClassifier(1), X, coins, loss=zero_one_losses)
    >>> 0.45 < found.loss < 0.58, float(found.seen.max())  # nothing can be learned, but it can be memorized
    (True, 0.0)

    """
    X, targets = _check_data("X", X, "y", y)
    _check_count("n_resamples", n_resamples, 2)
    values, outside = [], []
    for rows in _resamples(len(X), n_resamples, seed):
        fitted = _fit(estimator, X, targets, rows)
        values.append(_losses(loss, fitted, X, targets))
        outside.append(~np.isin(np.arange(len(X)), rows))
    found = OutOfBag(np.array(values), np.array(outside))
    for marks, word in ((found.outside, "outside of"), (~found.outside, "in")):
        never = int(np.sum(~marks.any(axis=0)))
        if never:
            raise ValueError(
                f"{never} of {len(X)} rows were {word} none of {n_resamples} resamples: ask for more n_resamples."
            )
    return found


def generalization_gap(
    train: ArrayLike, held_out: ArrayLike, alpha: float = 0.05, *, paired: bool = False, seed: int = 0
) -> ConfidenceInterval:
    """Return where the mean loss on training rows less that on held-out rows lies; below 0 where a fit has overfitted.

    It is scipy's bootstrap over rows, with the fit held: refits are another source (`loss_variation`). Up to 5,000 rows
    it is corrected for bias and skewness (BCa), beyond them it takes quantiles. It is approximate.

    Parameters
    ----------
    train, held_out : array_like
        Losses, one for each row.
    alpha : float
        The probability, about, that it does not hold.
    paired : bool
        Whether both have the same rows in the same order, seen and unseen: then rows are resampled together.
    seed : int
        Of the bootstrap.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = generalization_gap(rng.exponential(1.0, 400), rng.exponential(1.5, 300))
    >>> bool(found.upper < 0), found.approximate
    (True, True)

    """
    check_delta("alpha", alpha)
    one, other = (check_entries(name, values) for name, values in (("train", train), ("held_out", held_out)))
    if one.ndim != 1 or other.ndim != 1 or min(len(one), len(other)) < 2:
        raise ValueError(
            f"train has shape {one.shape} and held_out {other.shape}: both need one loss for each of at least 2 rows."
        )
    if paired:
        if len(one) != len(other):
            raise ValueError(f"train has {len(one)} rows and held_out {len(other)}: pairs need as many of both.")
        samples: tuple[np.ndarray, ...] = (one - other,)
    else:
        samples = one, other
    point = float(np.mean(one) - np.mean(other))
    if all(np.ptp(sample) == 0 for sample in samples):
        return ConfidenceInterval(point, point, True)  # rows that are all alike say so wherever they are drawn
    rows = max(len(sample) for sample in samples)
    found = scipy.stats.bootstrap(
        samples,
        lambda *parts, axis: np.mean(parts[0], axis) - (np.mean(parts[1], axis) if len(parts) > 1 else 0.0),
        confidence_level=1 - alpha,
        method="BCa" if rows <= _MOST_CORRECTED else "percentile",
        vectorized=True,
        batch=max(2**20 // rows, 1),
        random_state=np.random.default_rng(seed),
    )
    low, high = found.confidence_interval
    return ConfidenceInterval(float(low), float(high), True)


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
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 0] + rng.normal(size=300) > 0
    >>> tree = DecisionTreeClassifier(max_features=1)
    >>> found = loss_variation(tree, X[:200], X[200:], y[:200], y[200:], loss=zero_one_losses)
    >>> min(found.test_rows, found.seeds, found.training_rows) > 0.01
    True

    """
    X, y = _check_data("X", X, "y", y)
    X_test, y_test = _check_data("X_test", X_test, "y_test", y_test)
    if (y is None) != (y_test is None):
        raise ValueError("y and y_test must both be there, or neither.")
    _check_count("n_seeds", n_seeds, 2)
    _check_count("n_resamples", n_resamples, 2)

    def test_losses(rows: Any, random_state: int) -> np.ndarray:
        return _losses(loss, _fit(estimator, X, y, rows, random_state), X_test, y_test)

    everything = np.arange(len(X))
    first = test_losses(everything, seed)
    mean = float(np.mean(first))
    other_seeds = range(seed + 1, seed + n_seeds) if "random_state" in estimator.get_params() else ()
    by_seed = np.array([mean, *(np.mean(test_losses(everything, other)) for other in other_seeds)])
    by_rows = np.array([np.mean(test_losses(rows, seed)) for rows in _resamples(len(X), n_resamples, seed)])
    return LossVariation(
        mean,
        float(np.std(first, ddof=1) / np.sqrt(len(first))),
        float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else 0.0,
        float(np.std(by_rows, ddof=1)),
        by_seed,
        by_rows,
    )


def _resamples(rows: int, count: int, seed: int) -> Iterator[np.ndarray]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield random.integers(0, rows, rows)


def _fit(estimator: Any, X: Any, y: np.ndarray | None, rows: np.ndarray, random_state: int | None = None) -> Any:
    """Fit a copy of an estimator to some rows; tables keep their columns."""
    fresh = clone(estimator)
    if random_state is not None and "random_state" in fresh.get_params():
        fresh.set_params(random_state=random_state)
    return fresh.fit(_safe_indexing(X, rows)) if y is None else fresh.fit(_safe_indexing(X, rows), y[rows])


def _losses(loss: RowLoss, fitted: Any, X: Any, y: np.ndarray | None) -> np.ndarray:
    found = np.asarray(loss(fitted, X, y), np.float64)
    if found.shape != (len(X),):
        raise ValueError(f"loss returned shape {found.shape} for {len(X)} rows: it must return one for each row.")
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"loss returned {found[row]} for row {row}: losses must be finite, so clip them in `loss`.")
    return found


def _check_data(name: str, X: Any, target: str, y: ArrayLike | None) -> tuple[Any, np.ndarray | None]:
    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    if np.ndim(X) < 1 or len(X) < 2:
        raise ValueError(f"{name} has shape {np.shape(X)}: it needs at least 2 rows.")
    if y is None:
        return X, None
    y = np.asarray(y)
    if y.ndim < 1 or len(y) != len(X):
        raise ValueError(f"{target} has shape {y.shape}: it must have one target for each of {len(X)} rows.")
    return X, y


def _check_count(name: str, count: int, least: int) -> None:
    if not (float(count).is_integer() and count >= least):
        raise ValueError(f"{name} is {count}: it must be a whole number, at least {least}.")


def _masked_mean(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(np.where(mask, values, 0.0), axis=0) / np.sum(mask, axis=0))
