"""Estimators of tables of independent rows, however they learn: what they take, streams, draws and imputation."""

import abc
import functools
from collections.abc import Callable, Iterable
from typing import Any, Self

import jax
import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kullback.core import Batch
from kullback.estimators._anomalies import Anomalies, RowQuestions
from kullback.estimators._check_fit import check_scale
from kullback.estimators._count import check_count
from kullback.estimators._imputation import ImputeMethod, check_method, fill_table
from kullback.estimators._model_estimator import ModelEstimator
from kullback.estimators._prequential import rows_again
from kullback.estimators._progress import Progress
from kullback.estimators._stream import check_stream, join_first_batches
from kullback.estimators.data._preparation import check_width, prepare_rows
from kullback.estimators.data._rows import Rows
from kullback.estimators.mixtures._spares import Spares
from kullback.runtime import computing, filter_jit, in_precision


class TableEstimator(DensityMixin, ModelEstimator, RowQuestions):
    """A model of independent rows of a table. A subclass says what the entries may be, and how it learns."""

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows of X once more. The first call starts from them."""

    @property
    @abc.abstractmethod
    def _least_rows(self) -> int:
        """How many rows a start needs."""

    # --- learning ---------------------------------------------------------------------------------------

    @property
    def rows_needed(self) -> int:
        """How many rows the first batch of a stream needs."""
        return max(2, self._least_rows)

    def fit_stream(self, batches: Iterable[Any], passes: int = 1) -> Self:
        """Go through an iterable of tables by `partial_fit`, with memory for one of them.

        When the iterable raises, what was learned until then stays; before anything was, the estimator is as it was.

        Parameters
        ----------
        batches : iterable of array-like, or of pairs (X, sample_weight)
            More than one pass needs something that can be gone through again, like a list, not a generator. The first
            ones are put together until there is a row for each component. Empty ones change nothing.
        passes : int
            How often to go through all of them.

        Returns
        -------
        self

        """
        self._validate_params()
        check_stream(batches, passes)
        before = dict(vars(self))
        for attribute in [name for name in before if name.endswith("_") and not name.startswith("_")]:
            delattr(self, attribute)
        try:
            with Progress(self.verbose, None) as progress:
                progress.begin(0)
                for number in range(passes):
                    for X, weight in join_first_batches(batches, self):
                        with rows_again(self, number > 0):
                            self.partial_fit(X, None, weight)
                        progress.step(self.lower_bound_)
            if not self.has_started:
                raise ValueError(f"batches is empty: there was nothing to fit {type(self).__name__} to.")
        except BaseException:
            if not self.has_started:
                self.__dict__.update(before)
            raise
        return self

    # --- questions --------------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1) -> Any:
        """Draw points from the fitted model."""
        return self._draw(n_samples, _sample)

    def impute(self, X: Any, method: ImputeMethod = "draw", n: int | None = None, random_state: Any = None) -> Any:
        """Fill in the missing entries of X, those that are NaN, given the rest. What is there stays as it is.

        "draw" draws what is missing of a row together: imputations that vary as the data does. "mean" is the
        conditional mean, the best guess by squared error; of categories it is the most probable one, and of angles the
        mean direction. "mode" is the most probable value; a mixture chooses the component that is the most probable
        given the rest first, then the value that is the most probable in it. Draws and modes of counts are whole.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Rows with NaN for what is missing.
        method : "draw", "mean" or "mode"
            What to fill in.
        n : int, optional
            How many different draws to return. A draw with the same integer seed is the same again: to have several,
            as multiple imputation needs them, ask for `n` of them in one call.
        random_state : int, RandomState or None
            The seed of draws; that of the estimator by default.

        Returns
        -------
        array of shape (n_rows, n_columns), or (n, n_rows, n_columns) where n is given
            Of a frame it is a frame like it, or a list of n frames.

        """
        count = check_method(method, n)
        rows, model = self._question(X)
        random = check_random_state(self.random_state if random_state is None else random_state)
        model, batches = Spares(rows.X).added(model), rows.batches_with_places()
        return self._restore(fill_table(rows.X, batches, model, method, count, random, self._bits), X)

    def predict_outlier(self, X: Any, contamination: float = 0.01) -> np.ndarray:
        """Return which rows are less likely than all but this share of the model's own rows, as bools.

        Rows with missing entries are compared with drawn rows that lack the same ones; a row without any entry is none.
        """
        anomalies, likelihoods = Anomalies(self, contamination), self._row_log_likelihoods(X)
        return likelihoods < anomalies.thresholds(self._question(X)[0].X)

    def to_batch(self, X: Any) -> Batch:
        """Return rows as the fitted model sees them: `to_model()` can be asked about this batch."""
        rows, _ = self._question(X, least=1)
        values = np.ascontiguousarray(rows.X, dtype=np.float64)
        return Batch(values, observed=~np.isnan(values) if rows.missing else None)

    def _row_log_likelihoods(self, X: Any) -> np.ndarray:
        """Return the log-likelihood of each row, in nats: `score_samples`."""
        return np.asarray(self.score_samples(X), dtype=np.float64)

    @in_precision(lambda self: self._bits)
    def _own_rows(self, count: int) -> tuple[np.ndarray, dict[str, Any]]:
        """Return rows that the model draws, always the same."""
        check_is_fitted(self)
        return np.asarray(_sample(self.to_model(), jax.random.key(0), count), dtype=np.float64), {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- inside -----------------------------------------------------------------------------------------

    def _rows(self, X: Any, sample_weight: Any, first: bool, least: int, learns: bool = True) -> Rows:
        table = X
        if first or not self._plainly_good(X):
            table = self._read_table(X, first, learns, least)
        rows = prepare_rows(
            table, sample_weight, functools.partial(self._check_values, first=first), self._point_variance
        )
        if first:
            check_scale(rows.X)
        return rows

    def _plainly_good(self, X: Any) -> bool:
        """Whether X needs no further look: an array of finite 64-bit numbers with the columns of the fit."""
        named = hasattr(self, "feature_names_in_")
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or named or len(X) == 0:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return X.shape[1] == getattr(self, "n_features_in_", -1) and bool(np.isfinite(X.sum()))

    def _ask(self, X: Any, question: Callable[[Any, Batch], Any]) -> np.ndarray:
        rows, answers = self._answers(X, None, question)
        return answers.astype(rows.X.dtype, copy=False)

    def _answers(self, X: Any, sample_weight: Any, question: Callable[[Any, Batch], Any]) -> tuple[Rows, np.ndarray]:
        rows, model = self._question(X, sample_weight, least=1)
        model, answers = Spares(rows.X).added(model), []
        for here, batch in rows.batches_with_places():
            with computing(self._bits):
                answers.append(np.asarray(question(model, batch))[: here.stop - here.start])
        return rows, np.concatenate(answers)

    def _question(self, X: Any, sample_weight: Any = None, least: int = 0) -> tuple[Rows, Any]:
        """Return rows to answer for, and the model that answers."""
        check_is_fitted(self)
        with computing(self._bits):
            rows, model = self._rows(X, sample_weight, False, least, learns=False), self.to_model()
        # attributes_ that were set by hand come without the number of columns
        check_width(type(self).__name__, rows.X.shape[1], self._shape_of(model)["n_features_in_"])
        return rows, model

    @in_precision(lambda self: self._bits)
    def _draw(self, n_samples: int, draw: Callable[[Any, Any, int], Any]) -> Any:
        check_is_fitted(self)
        n_samples = _at_least_one(n_samples)
        random = check_random_state(self.random_state)
        size = 1 << (n_samples - 1).bit_length()  # few sizes: few compiled functions
        drawn = draw(self.to_model(), jax.random.key(random.randint(2**31)), size)
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:n_samples], drawn)


def _at_least_one(n_samples: Any) -> int:
    try:
        return check_count("n_samples", n_samples)
    except ValueError as error:  # scikit-learn's words
        raise ValueError(
            f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample."
        ) from error


@filter_jit
def _sample(model: Any, key: Any, size: int) -> Any:
    return model.sample(key, (size,))
