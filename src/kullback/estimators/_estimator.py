"""Estimators of tables of independent rows: fit in batch, online or from a stream; score, sample, impute."""

import abc
import functools
import importlib
import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import jax
import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kullback.estimators._count import checked_count
from kullback.estimators._model_estimator import ModelEstimator, all_or_nothing
from kullback.estimators._online import moved
from kullback.estimators._progress import Progress
from kullback.estimators._rows import Rows
from kullback.estimators._sound import check_scale, check_total
from kullback.estimators._spares import with_spares, without_spares
from kullback.estimators._stream import check_stream, enough_to_start
from kullback.estimators._support import with_support
from kullback.estimators.constraints import check_sample_weight
from kullback.families import Batch
from kullback.learning import em_step, sized_jit
from kullback.runtime import computing, jit


class Estimator(DensityMixin, ModelEstimator):
    """A model of independent rows of a table. A subclass says how it starts, and what the entries may be."""

    #: Whether a start needs sums over all rows, and not some of the rows.
    _starts_from_all: ClassVar[bool] = False

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _start(self, rows: Rows, random: np.random.RandomState) -> Any:
        """Return the model to begin with."""

    @abc.abstractmethod
    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        """Check what the entries of X mean, beyond being numbers, and return them as numbers."""

    @property
    @abc.abstractmethod
    def _least_rows(self) -> int:
        """How many rows a start needs."""

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
        goes_on = self._goes_on
        random = check_random_state(self.random_state)
        if type(X).__module__.partition(".")[0] == "dask":
            # a room above this one, which is there where Dask is
            blocks = importlib.import_module("kullback.distributed").Blocks(self, X, sample_weight, not goes_on)
            prior = getattr(self, "_prior", None)
            self._learn(lambda: blocks.start(random), lambda m: blocks.em_step(m, prior), blocks.mass, goes_on)
            return self
        rows = self._rows(X, sample_weight, first=not goes_on, least=2)
        prior = getattr(self, "_prior", None)

        def step(model: Any) -> tuple[Any, Any]:
            spared = with_spares(model, rows.X) if prior is None else model
            found, seen = em_step(spared, rows.batches(rows.frame_for(_components(spared))), prior)
            return without_spares(found, model), seen

        self._learn(lambda: self._begun(rows, random), step, rows.mass, goes_on)
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

        def started() -> bool:
            return hasattr(self, "n_batches_seen_")

        try:
            with Progress(self.verbose, None) as progress:
                progress.begin(0)
                for _ in range(passes):
                    for X, weight in enough_to_start(batches, max(2, self._least_rows), started):
                        self.partial_fit(X, None, weight)
                        progress.step(self.lower_bound_)
            if not started():
                raise ValueError(f"batches is empty: there was nothing to fit {type(self).__name__} to.")
        except BaseException:
            if not started():
                self.__dict__.update(before)
            raise
        return self

    # --- questions --------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, in nats; of what is observed of it where entries are missing."""
        return self._ask(X, _log_likelihood)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Average log-likelihood of the rows, in nats."""
        rows, answers = self._answers(X, sample_weight, _log_likelihood)
        return float(np.average(answers, weights=rows.weight))

    def sample(self, n_samples: int = 1) -> Any:
        """Draw points from the fitted model."""
        return self._draw(n_samples, _sample)

    def impute(self, X: Any, random_state: Any = None) -> np.ndarray:
        """Draw the missing entries of X given the rest; what is there stays as it is."""
        rows, model = self._asked(X)
        random = check_random_state(self.random_state if random_state is None else random_state)
        result = np.array(rows.X)
        if not rows.missing:
            return result
        for here, batch in rows.placed():
            with computing():
                drawn = np.asarray(_impute(model, batch, jax.random.key(random.randint(2**31))))
            result[here] = np.where(np.isnan(result[here]), drawn[: here.stop - here.start], result[here])
        return result

    def bic(self, X: Any) -> float:
        """Bayesian information criterion; the lower the better."""
        return -2 * self.score(X) * len(X) + self._n_parameters() * math.log(len(X))

    def aic(self, X: Any) -> float:
        """Akaike information criterion; the lower the better."""
        return -2 * self.score(X) * len(X) + 2 * self._n_parameters()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- inside -----------------------------------------------------------------------------------------

    def _begun(self, rows: Rows, random: np.random.RandomState) -> Any:
        """Return the model to begin with; of a long table some rows are enough."""
        some = rows if self._starts_from_all else rows.drawn()
        model = self._start(some, random)
        return model if some is rows else with_support(model)

    def _rows(self, X: Any, sample_weight: Any, first: bool, least: int) -> Rows:
        table = X
        if first or not self._plainly_good(X):
            table = validate_data(
                self,
                X,
                reset=first,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
                ensure_min_samples=least,
            )
        weight = None
        if sample_weight is not None and len(table) > 0:
            weight = check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight is all zero: there is nothing to learn from.")
            check_total(weight)
            if not weight.all():  # a row that never counts is no row: nothing starts from it
                table, weight = table[weight > 0], weight[weight > 0]
        values = self._check_values(table, first)
        if first:
            check_scale(values)
        return Rows(values, weight, self._width)

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
        rows, model = self._asked(X, sample_weight, least=1)
        model, answers = with_spares(model, rows.X), []
        for here, batch in rows.placed():
            with computing():
                answers.append(np.asarray(question(model, batch))[: here.stop - here.start])
        return rows, np.concatenate(answers)

    @computing()
    def _asked(self, X: Any, sample_weight: Any = None, least: int = 0) -> tuple[Rows, Any]:
        """Return rows to answer for, and the model that answers."""
        check_is_fitted(self)
        rows, model = self._rows(X, sample_weight, False, least), self.to_model()
        # attributes_ that were set by hand come without the number of columns
        columns = self._shape_of(model)["n_features_in_"]
        if rows.X.shape[1] != columns:
            raise ValueError(
                f"X has {rows.X.shape[1]} features, but {type(self).__name__} is expecting {columns} features as input."
            )
        return rows, model

    def _draw(self, n_samples: int, draw: Callable[[Any, Any, int], Any]) -> Any:
        check_is_fitted(self)
        n_samples = _at_least_one(n_samples)
        random = check_random_state(self.random_state)
        size = 1 << (n_samples - 1).bit_length()  # few sizes: few compiled functions
        with computing():
            drawn = draw(self.to_model(), jax.random.key(random.randint(2**31)), size)
            return jax.tree.map(lambda leaf: np.asarray(leaf)[:n_samples], drawn)


def _at_least_one(n_samples: Any) -> int:
    try:
        return checked_count("n_samples", n_samples)
    except ValueError as error:  # scikit-learn's words
        raise ValueError(
            f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample."
        ) from error


def _components(model: Any) -> Any:
    return getattr(model, "components", model)


@functools.partial(jit, static_argnums=2)
def _sample(model: Any, key: Any, size: int) -> Any:
    return model.sample(key, (size,))


@sized_jit
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)


@sized_jit
def _impute(model: Any, batch: Batch, key: Any) -> Any:
    return model.impute(batch, key)
