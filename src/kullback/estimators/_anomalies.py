"""Which rows are too unlikely for a model, and which of their columns make them so."""

import abc
import functools
import warnings
from numbers import Real
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from kullback.core import Batch
from kullback.learning import adaptive_jit

#: Rows that are drawn from a model to see how likely its own rows are.
DRAWS = 10_000


class RowQuestions(abc.ABC):
    """What is asked of an estimator's rows to find anomalies. Rows of a series are asked given those before them."""

    #: In how many ways rows may lack entries and still be compared, each way with rows that the model draws.
    _most_patterns: ClassVar[float] = np.inf

    @abc.abstractmethod
    def _own_rows(self, count: int) -> tuple[np.ndarray, dict[str, Any]]:
        """Return rows that the model draws, always the same, and what else a question about them needs."""

    @abc.abstractmethod
    def _row_log_likelihoods(self, X: Any, *args: Any, **extras: Any) -> np.ndarray:
        """Return the log-likelihood of each row, in nats, given those before it where there is time."""

    @abc.abstractmethod
    def _row_surprises(self, X: Any, *args: Any, **extras: Any) -> np.ndarray:
        """Return −log p(entry | the rest of its row) in nats, given the rows before.

        NaN where there is no such number: the entry is missing or makes no difference, as in a row of counts that lacks
        another one, or the row is impossible without it too.
        """

    def threshold(self, contamination: float = 0.01) -> float:
        """Return the log-likelihood below which this share of the model's own rows lies, in nats.

        It is found from 10,000 rows that are drawn from the model itself: it needs no data. Rows of a series are
        likely or not given the rows before them. It is for rows with all their entries: `predict_outlier` compares
        others with drawn rows that lack the same ones.
        """
        return Anomalies(self, contamination).threshold


class Anomalies:
    """What is usual for the rows of an estimator, found once, for one chunk of rows after the other.

    Rows with missing entries are compared with drawn rows that lack the same columns.
    """

    def __init__(self, estimator: RowQuestions, contamination: Any = 0.01):
        share = float(contamination) if isinstance(contamination, Real) else np.nan
        if not 0 <= share < 1:
            raise ValueError(f"contamination is {contamination!r}: it must be 0 or more, and less than 1.")
        self._estimator: RowQuestions = estimator
        self._share = share
        self._thresholds: dict[bytes, float] = {}

    @functools.cached_property
    def _drawn(self) -> tuple[np.ndarray, dict[str, Any]]:
        rows, extras = self._estimator._own_rows(DRAWS)
        if not np.isfinite(rows).all():
            raise ValueError("the rows that the model draws are not finite: it grows too fast to say what is usual.")
        return np.asarray(rows, dtype=np.float64), extras

    @property
    def threshold(self) -> float:
        """The log-likelihood below which the share of the model's own rows lies."""
        rows, _ = self._drawn
        return self._threshold(np.zeros(rows.shape[1], bool))

    def thresholds(self, X: np.ndarray) -> np.ndarray:
        """Return the threshold of each row: that of drawn rows which lack the same entries.

        It is −∞ where entries are missing in more ways than can be asked about: the most common ones are.
        """
        patterns, which, counts = np.unique(np.isnan(X), axis=0, return_inverse=True, return_counts=True)
        found, left_out = np.full(len(patterns), -np.inf), 0
        for place in np.argsort(-counts, kind="stable"):
            if self._may_ask(patterns[place]):
                found[place] = self._threshold(patterns[place])
            else:
                left_out += int(counts[place])
        if left_out:
            warnings.warn(
                f"Rows lack entries in more than {self._estimator._most_patterns} ways, and {left_out:,} of them are "
                "compared with nothing, so that none of these is an anomaly: impute them first.",
                stacklevel=3,
            )
        return found[which.ravel()]

    def _may_ask(self, missing: np.ndarray) -> bool:
        free = bool(missing.all() or not missing.any()) or missing.tobytes() in self._thresholds
        return free or len(self._thresholds) < self._estimator._most_patterns

    def _threshold(self, missing: np.ndarray) -> float:
        key = missing.tobytes()
        if key not in self._thresholds:
            if missing.all():
                self._thresholds[key] = -np.inf
            else:
                rows, extras = self._drawn
                own = self._estimator._row_log_likelihoods(np.where(missing, np.nan, rows), **extras)
                self._thresholds[key] = float(np.quantile(own, self._share))
        return self._thresholds[key]

    @functools.cached_property
    def usual(self) -> np.ndarray:
        """How surprising each column of the model's own rows is on average: its entropy given the others, in nats."""
        rows, extras = self._drawn
        return np.nan_to_num(self._estimator._row_surprises(rows, **extras)).mean(axis=0)

    def contributions(self, X: Any, **extras: Any) -> np.ndarray:
        """Return how much more surprising each entry is than usual, in nats; 0 where it cannot be said."""
        return np.nan_to_num(self._estimator._row_surprises(X, **extras) - self.usual, nan=0.0, posinf=np.inf)


@adaptive_jit
def row_surprises(model: Any, batch: Batch, *carry: Any) -> Any:
    """Return the log-likelihoods of rows without one entry, less those of the rows."""
    likelihood = model.log_likelihood(batch, *carry)[:, None]
    without = model.leave_one_out(batch, *carry)
    observed = True if batch.observed is None else batch.observed.reshape(without.shape)
    counts = observed & ~jnp.isneginf(without) & (without != likelihood)
    return jnp.where(counts, without - likelihood, jnp.nan)
