"""What this room asks of an estimator, whoever made it, and of tables of rows."""

import inspect
import math
import warnings
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kullback.numerics import counted


@runtime_checkable
class Density(Protocol):
    """Learns from rows, and says how likely each of others is."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from the rows of X."""

    def score_samples(self, X: Any) -> Any:
        """Return the log-likelihood of each row; of y given X where there are targets."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor."""


@runtime_checkable
class StreamDensity(Density, Protocol):
    """Learns batch by batch."""

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Learn from some more rows."""


@runtime_checkable
class WithCriteria(Protocol):
    """Knows its information criteria, and with them its number of parameters."""

    def bic(self, X: Any) -> float:
        """Return −2·log-likelihood + d·log n."""

    def aic(self, X: Any) -> float:
        """Return −2·log-likelihood + 2d."""


@runtime_checkable
class WithModel(Protocol):
    """Shows its model, and rows as the model sees them."""

    def to_model(self) -> Any:
        """Return the fitted model."""

    def to_batch(self, X: Any) -> Any:
        """Return rows as a batch."""


def is_of_calls(error: Exception) -> bool:
    """Say whether an error is of how an estimator is called, for which no setting of it is to blame.

    What scikit-learn raises for a bad parameter is a TypeError and a ValueError at once.
    """
    return isinstance(error, (TypeError, ImportError)) and not isinstance(error, ValueError)


def bic_of(fitted: WithCriteria, X: Any) -> float:
    """Return −2·log-likelihood + d·log n; raise where rows are too few for it, or where it is no number."""
    rows, parameters, found = row_count(X, None, 1), parameter_count(fitted, X), float(fitted.bic(X))
    if parameters is not None and rows < parameters:
        raise ValueError(
            f"the data has {counted(rows, 'row')} and the model {parameters} parameters: BIC needs more rows, or a "
            "smaller model."
        )
    if not math.isfinite(found):
        raise ValueError(f"its bic is {found}: a row is impossible under the fit, or infinitely likely.")
    return found


def check_density(estimator: Any, protocol: Any = Density) -> None:
    """Raise unless an estimator has the methods that are needed."""
    if isinstance(estimator, type):
        raise TypeError(f"estimator is the class {estimator.__name__}: give an instance, {estimator.__name__}(…).")
    needed = ("fit", "score_samples", "get_params", *(("partial_fit",) if protocol is StreamDensity else ()))
    if not isinstance(estimator, protocol):
        lacking = next(name for name in needed if not callable(getattr(estimator, name, None)))
        raise TypeError(
            f"{type(estimator).__name__} has no {lacking}: what is compared here needs {', '.join(needed)}."
        )


def row_count(X: Any, y: Any, least: int) -> int:
    """Return how many rows a table has; raise where they are too few, or where y has another number of them."""
    shape = np.shape(X) if not isinstance(getattr(X, "shape", None), tuple) else X.shape
    if len(shape) != 2:
        raise ValueError(f"X has shape {tuple(shape)}: it must be a table, with one row per point.")
    if shape[0] < least:
        raise ValueError(f"X has {counted(shape[0], 'row')}: {least} or more are needed here.")
    if y is not None and len(y) != shape[0]:
        raise ValueError(f"y has {len(y)} entries and X {shape[0]} rows: each row needs its target.")
    return int(shape[0])


def take_rows(table: Any, places: NDArray[np.int_]) -> Any:
    """Return some rows of an array, a list, a frame or a series; None of None."""
    if table is None:
        return None
    if isinstance(table, (list, tuple)):
        return [table[place] for place in places]
    by_place = getattr(table, "iloc", table)  # of pandas; what is in brackets there is a label
    return by_place[places]


def fit_quietly(estimator: Any, X: Any, y: Any) -> tuple[Any, str]:
    """Return the estimator, fitted, and what the fit has warned of: the first sentence, or nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X) if y is None else estimator.fit(X, y)
    return estimator, next((str(each.message) for each in caught), "")


def row_scores(estimator: Any, X: Any, y: Any) -> NDArray[np.float64]:
    """Return the log-likelihood of each row in nats, −inf where it is impossible; refuse answers that are none."""
    name = type(estimator).__name__
    if y is not None and not _takes_targets(estimator):
        raise TypeError(f"{name}.score_samples takes no targets: leave y out.")
    answer = estimator.score_samples(X) if y is None else estimator.score_samples(X, y)
    if isinstance(answer, tuple) or np.shape(answer) != (row_count(X, y, 0),):
        raise TypeError(
            f"{name}.score_samples does not return one log-likelihood for each row, so rows cannot be compared: "
            "of models of sequences, choose by select(…, criterion='bic')."
        )
    scores = np.asarray(answer, dtype=np.float64)
    bad = np.isnan(scores) | (scores == np.inf)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name}.score_samples is {scores[row]} at row {row}: it must be a number, or −inf.")
    return scores


def _takes_targets(estimator: Any) -> bool:
    try:
        inspect.signature(estimator.score_samples).bind(None, None)
    except TypeError:
        return False
    return True


def parameter_count(estimator: Any, X: Any) -> int | None:
    """Return the number of free parameters of a fitted estimator, None where it has no criteria: it is in them.

    BIC − AIC = d·(log n − 2), whatever the likelihood.
    """
    if not isinstance(estimator, WithCriteria):
        return None
    rows = row_count(X, None, 1)
    gap = float(estimator.bic(X)) - float(estimator.aic(X))
    return round(gap / (math.log(rows) - 2)) if math.isfinite(gap) else None
