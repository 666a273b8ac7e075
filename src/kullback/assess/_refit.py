"""Copies of an estimator that are fitted to some rows, and the losses of rows under them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.base import clone

from kullback.assess._estimators import take_rows

#: `loss(fitted, X, y)` returns one loss for each row.
RowLoss = Callable[[Any, Any, Any], Any]


def negative_log_likelihoods(fitted: Any, X: Any, y: Any = None) -> Float[np.ndarray, " rows"]:
    """Return −log p of each row, in nats: the loss of estimators of densities; of y given X where there is a y."""
    return -np.asarray(fitted.score_samples(X) if y is None else fitted.score_samples(X, y))


def zero_one_losses(fitted: Any, X: Any, y: Any) -> Float[np.ndarray, " rows"]:
    """Return 1 for each row whose class is predicted wrongly, and 0 for others."""
    return np.asarray(np.asarray(fitted.predict(X)) != np.asarray(y), np.float64)


def resamples(rows: int, count: int, seed: int) -> Iterator[np.ndarray]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield random.integers(0, rows, rows)


def fit_copy(estimator: Any, X: Any, y: np.ndarray | None, rows: np.ndarray, random_state: int | None = None) -> Any:
    """Fit a copy of an estimator to some rows; tables keep their columns."""
    fresh = clone(estimator)
    if random_state is not None and "random_state" in fresh.get_params():
        fresh.set_params(random_state=random_state)
    return fresh.fit(take_rows(X, rows)) if y is None else fresh.fit(take_rows(X, rows), y[rows])


def row_losses(loss: RowLoss, fitted: Any, X: Any, y: np.ndarray | None) -> np.ndarray:
    found = np.asarray(loss(fitted, X, y), np.float64)
    if found.shape != (len(X),):
        raise ValueError(f"loss returned shape {found.shape} for {len(X)} rows: it must return one for each row.")
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"loss returned {found[row]} for row {row}: losses must be finite, so clip them in `loss`.")
    return found


def check_data(name: str, X: Any, target: str, y: ArrayLike | None) -> tuple[Any, np.ndarray | None]:
    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    if np.ndim(X) < 1 or len(X) < 2:
        raise ValueError(f"{name} has shape {np.shape(X)}: it needs at least 2 rows.")
    if y is None:
        return X, None
    y = np.asarray(y)
    if y.ndim < 1 or len(y) != len(X):
        raise ValueError(f"{target} has shape {y.shape}: it must have one target for each of {len(X)} rows.")
    return X, y


def check_count(name: str, count: int, least: int) -> None:
    if not (float(count).is_integer() and count >= least):
        raise ValueError(f"{name} is {count}: it must be a whole number, at least {least}.")
