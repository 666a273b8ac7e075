"""Estimators of tables of independent rows that learn by EM: in batch, online or from a stream."""

import abc
import functools
import importlib
import math
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kullback.core import Batch
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators._online import moved
from kullback.estimators._rows import Rows
from kullback.estimators._sound import ENDED_BEFORE_COLLAPSE
from kullback.estimators._spares import NO_SPARES, Spares
from kullback.estimators._support import with_support
from kullback.estimators._table_estimator import TableEstimator
from kullback.learning import EM, GainBelow, adaptive_jit

UNCONVERGED = (  # scikit-learn's words
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)


class Estimator(TableEstimator):
    """A model of independent rows of a table, learned by EM. A subclass says how it starts."""

    #: Whether a start needs sums over all rows, and not some of the rows.
    _starts_from_all: ClassVar[bool] = False

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _start(self, rows: Rows, random: np.random.RandomState) -> Any:
        """Return the model to begin with."""

    # --- learning ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all rows of X by batch EM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN entries are missing. Arrays, memory maps, pandas and polars frames. Of Dask arrays and frames
            statistics travel, and up to 65,536 rows for the start; the rest stays where it is.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None
            How often each row counts.

        Returns
        -------
        self

        """
        self._validate_params()
        goes_on, random = self._goes_on, check_random_state(self.random_state)
        data: Any
        if type(X).__module__.partition(".")[0] == "dask":
            # a room above this one, which is there where Dask is
            data = importlib.import_module("kullback.distributed").DaskRows(self, X, sample_weight, not goes_on)
            begun, spares = functools.partial(data.start_model, random), NO_SPARES
        else:
            data = self._rows(X, sample_weight, first=not goes_on, least=2)
            begun, spares = functools.partial(self._begun, data, random), Spares(data.X)
        prior = getattr(self, "_prior", None)
        if prior is not None:  # it has an entry for each component
            spares = NO_SPARES
        before = self._last_bound() if goes_on else -np.inf

        def start(restart: int) -> Any:
            model = self.to_model() if goes_on else begun()
            self._check_sound(model, 0.0)  # one that has collapsed already is refused
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
        first = not hasattr(self, "n_batches_seen_")
        rows = self._rows(X, sample_weight, first, least=2 if first else 0)
        step, points = (0, 0.0) if first else (self.n_batches_seen_, self.n_points_seen_)
        if len(rows) == 0:
            return self
        rate = self._rate_at(step, points, rows.mass)
        model = self._begun(rows, check_random_state(self.random_state)) if first else self._current_model()
        # a prior is what was seen before the stream: it enters once
        model, log_likelihood = moved(model, rows, rate, getattr(self, "_prior", None) if first else None)
        self._keep_step(model, log_likelihood, rows.mass)
        return self

    def _begun(self, rows: Rows, random: np.random.RandomState) -> Any:
        """Return the model to begin with; of a long table some rows are enough."""
        some = rows if self._starts_from_all else rows.drawn()
        model = self._start(some, random)
        return model if some is rows else with_support(model)

    # --- questions --------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, in nats; of what is observed of it where entries are missing."""
        return self._ask(X, _log_likelihood)

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
