"""Losses on rows that a fit has not seen, by resampling, and how far they are above those on rows that it has.

Resampling and then splitting leaks: a row that was drawn twice lands on both sides, and a model is tested on what it
has learned. Here a fit is only asked about rows that it has not seen.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.stats
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from kullback.assess._interval import ConfidenceInterval, check_delta, check_entries
from kullback.assess._refit import (
    RowLoss,
    check_count,
    check_data,
    fit_copy,
    negative_log_likelihoods,
    resamples,
    row_losses,
)

#: Up to so many rows the bootstrap is corrected for bias and skewness (BCa), which takes their square in time.
_MOST_CORRECTED = 5_000


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
    >>> from kullback.assess import zero_one_losses
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, coins = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    >>> found = out_of_bag(KNeighborsClassifier(1), X, coins, loss=zero_one_losses)
    >>> 0.45 < found.loss < 0.58, float(found.seen.max())  # nothing can be learned, but it can be memorized
    (True, 0.0)

    """
    X, targets = check_data("X", X, "y", y)
    check_count("n_resamples", n_resamples, 2)
    values, outside = [], []
    for rows in resamples(len(X), n_resamples, seed):
        fitted = fit_copy(estimator, X, targets, rows)
        values.append(row_losses(loss, fitted, X, targets))
        outside.append(~np.isin(np.arange(len(X)), rows))
    found = OutOfBag(np.array(values), np.array(outside))
    for marks, word in ((found.outside, "in"), (~found.outside, "outside of")):
        never = int(np.sum(~marks.any(axis=0)))
        if never:
            raise ValueError(
                f"{never} of {len(X)} rows stood {word} all {n_resamples} resamples: ask for more n_resamples."
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


def _masked_mean(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(np.where(mask, values, 0.0), axis=0) / np.sum(mask, axis=0))
