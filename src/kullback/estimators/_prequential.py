"""How well a stream was foretold: moments of the loss of its batches, each before it was learned from.

`prequential_` has four numbers: the batches and the points that were foretold, the mean of −log p in nats per point,
and M2 = Σ points·(mean of a batch − mean)². A batch that a model was begun with is none of them, nor are rows that come
again. `kullback.assess.prequential_interval` makes an interval of it, that of single rows where batches have one row.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

#: The largest number whose square, times many points, is one.
_LARGEST = 1e120


def extend_prequential(kept: np.ndarray | None, log_likelihood: float, points: float) -> np.ndarray | None:
    """Return the moments with one batch more, of this mean log-likelihood, by the recursion of Welford and Chan.

    >>> extend_prequential(np.array([1.0, 10.0, 2.0, 0.0]), -4.0, 30.0).tolist()
    [2.0, 40.0, 3.5, 30.0]
    """
    if not (np.isfinite(log_likelihood) and points > 0):
        return kept
    if abs(log_likelihood) > _LARGEST:
        raise ValueError(
            f"The new rows have a log-likelihood of {log_likelihood:.3g} on average, which is too far from what was "
            "learned to go on: leave out what cannot be true, or use other units."
        )
    batches, seen, mean, m2 = (0.0, 0.0, 0.0, 0.0) if kept is None else kept.tolist()
    total, apart = seen + points, -log_likelihood - mean
    share = points / total
    return np.array([batches + 1, total, mean + share * apart, m2 + seen * share * apart**2])


def check_prequential(kept: np.ndarray, seen: float) -> None:
    """Raise unless these are the moments of a stream of which so many points were seen."""
    if np.shape(kept) != (4,) or not np.isfinite(kept).all():
        raise ValueError(f"prequential_ has shape {np.shape(kept)}: it must have 4 finite numbers.")
    batches, points, _, m2 = kept.tolist()
    if not (batches >= 1 and batches == int(batches) and 0 < points <= seen * (1 + 1e-9) and m2 >= 0):
        raise ValueError(f"prequential_ is {kept.tolist()}: it does not count batches and points of a stream.")


@contextlib.contextmanager
def rows_again(estimator: Any, again: bool = True) -> Iterator[None]:
    """Let an estimator learn from rows that it has seen before, which it cannot foretell: they are not counted."""
    kept = vars(estimator).get("prequential_")
    try:
        yield
    finally:
        if again:
            vars(estimator).pop("prequential_", None)
            if kept is not None:
                estimator.prequential_ = kept
