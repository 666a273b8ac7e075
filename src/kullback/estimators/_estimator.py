"""Estimators of tables of independent rows that learn by EM: in batch, online or from a stream."""

import abc
import functools
import math
import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kullback.core import Batch
from kullback.estimators._anomalies import Anomalies, row_surprises
from kullback.estimators._check_fit import ENDED_BEFORE_COLLAPSE
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators._online import online_step
from kullback.estimators._table_estimator import TableEstimator
from kullback.estimators.data._collections import label_rows
from kullback.estimators.data._fit_data import RowData, provider_of
from kullback.estimators.data._rows import Rows
from kullback.estimators.mixtures._spares import NO_SPARES, Spares
from kullback.estimators.mixtures._support import with_support
from kullback.learning import EM, GainBelow, adaptive_jit

UNCONVERGED = (  # scikit-learn's words
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)


class Estimator(TableEstimator):
    """A model of independent rows of a table, learned by EM. A subclass says how it starts."""

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _start(self, data: RowData, random: np.random.RandomState) -> Any:
        """Return the model to begin with."""

    def _note_highest(self, highest: np.ndarray) -> None:
        """Take note of the highest entry of each column, of rows that a start has not seen: categories go so far."""

    # --- learning ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all rows of X by batch EM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN entries are missing. Arrays, memory maps, frames of pandas and polars, tables of pyarrow. Text in
            columns of categories becomes their numbers (`categories_`), true and false are 1 and 0. Of Dask arrays
            and frames statistics travel, and up to 65,536 rows for the start; the rest stays where it is.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None
            How often each row counts.

        Returns
        -------
        self

        """
        self._validate_params()
        goes_on, random = self._warm, check_random_state(self.random_state)
        data = self._fit_data(X, sample_weight, not goes_on)
        prior = getattr(self, "_prior", None)
        # a prior has an entry for each component
        spares = Spares(data.X) if isinstance(data, Rows) and prior is None else NO_SPARES
        before = FitRecord.of(self).last_bound if goes_on else -np.inf

        def start(restart: int) -> Any:
            model = self.to_model() if goes_on else self._begin(data, random)
            self._check_finite_fit(model, 0.0)  # one that has collapsed already is refused
            return model

        def rule(history: list[float]) -> GainBelow:
            last = history[-1] if history else before
            return GainBelow(self.tol, self.max_iter, falling=False, before=last, done=len(history))

        restarts = 1 if goes_on else getattr(self, "n_init", 1)
        best = self._fit_restarts(data, start, lambda _: EM(prior), rule, self.max_iter, restarts, spares)
        if not best.converged and self.max_iter > 0:
            warnings.warn(
                ENDED_BEFORE_COLLAPSE if best.collapsed else UNCONVERGED,
                ConvergenceWarning,
                stacklevel=3,  # the line that calls `fit`
            )
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move towards the rows of X by one step of online EM. The first call starts from them.

        The parameters are those of `fit`. A call that raises leaves the estimator as it was.
        """
        self._validate_once()
        record = FitRecord.of(self)
        first = record.n_batches_seen is None
        rows = self._rows(X, sample_weight, first, least=2 if first else 0)
        if len(rows) == 0:
            return self
        rate = self._rate_at(*record.counts, rows.mass)
        model = self._begin(rows, check_random_state(self.random_state)) if first else self._current_model()
        # a prior is what was seen before the stream: it enters once
        model, log_likelihood = online_step(model, rows, rate, getattr(self, "_prior", None) if first else None)
        self._keep_step(model, log_likelihood, rows.mass, first=first)
        return self

    def _fit_data(self, X: Any, sample_weight: Any, first: bool) -> RowData:
        """Return the rows of a fit: of a table that is here, or where a collection has them."""
        provider = provider_of(X)
        if provider is None:
            return self._rows(X, sample_weight, first, least=2)
        X, columns = self._encode_collection(X, first)
        return provider.rows(X, sample_weight, self._learning(functools.partial(self._learn_columns, columns)), first)

    def _learn_columns(self, columns: Any, X: Any, sample_weight: Any, highest: np.ndarray) -> Rows:
        """Learn the columns from rows of a collection, of which others may have higher entries."""
        rows = self._rows(label_rows(X, columns), sample_weight, first=True, least=2)
        self._note_highest(highest)
        return rows

    def _begin(self, data: RowData, random: np.random.RandomState) -> Any:
        """Return the model to begin with; of a long table some rows are enough."""
        model = self._start(data, random)
        return with_support(model) if data.to_start_from.in_part else model

    # --- questions --------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, in nats; of what is observed of it where entries are missing."""
        return self._ask(X, _log_likelihood)

    def _row_surprises(self, X: Any) -> np.ndarray:
        """Return −log p(entry | the rest of its row) of each entry in nats; NaN where there is no such number."""
        return np.asarray(self._answers(X, None, row_surprises)[1], dtype=np.float64)

    def contributions(self, X: Any) -> np.ndarray:
        """Return which columns make a row unlikely: how much more surprising each entry is than usual, in nats.

        The surprise of an entry is −log p(entry | the rest of its row), exact because what is missing is summed out;
        what is usual is its average over 10,000 rows that are drawn from the model. So it is about 0 for ordinary
        entries, whatever the units of a column. It is 0 where an entry is missing, inf where it alone makes the row
        impossible, and 0 where the row is impossible without it too. Where columns belong together, as counts of one
        total do, all have the surprise of the row.

        Returns
        -------
        array of shape (n_rows, n_columns)

        """
        return Anomalies(self).contributions(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Average log-likelihood of the rows, in nats."""
        rows, answers = self._answers(X, sample_weight, _log_likelihood)
        return float(np.average(answers, weights=rows.weight))

    def bic(self, X: Any) -> float:
        """Bayesian information criterion; the lower the better."""
        return -2 * self.score(X) * len(X) + self._n_parameters() * math.log(len(X))

    def aic(self, X: Any) -> float:
        """Akaike information criterion; the lower the better."""
        return -2 * self.score(X) * len(X) + 2 * self._n_parameters()


@adaptive_jit
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)
