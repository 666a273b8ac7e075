"""What every estimator does: fit in batch, online or from a stream; score, sample, impute; be saved and loaded."""

import abc
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kullback.estimators._file import load_estimator, save_estimator
from kullback.estimators._progress import Progress
from kullback.estimators._rows import Rows
from kullback.families import Batch
from kullback.learning import decaying_rate, em_step, online_em_step

_BROKEN = (
    "Fitting the model failed because some components have ill-defined empirical covariance (for instance caused by "
    "singleton or collapsed samples) or parameters that are not finite. Try to decrease the number of components, "
    "increase reg_covar, or scale the input data."
)


class Fitted(NamedTuple):
    """The end of one run of EM."""

    model: Any
    history: list[float]
    converged: bool


def all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that raises leave the estimator as it was."""

    @functools.wraps(method)
    def safely(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return safely


class Estimator(DensityMixin, BaseEstimator):
    """The common part. A subclass says how a model starts, and which attributes_ are its parameters.

    Attributes_ are NumPy arrays and the only state: the model is built from them for every computation, so they can be
    set, pickled and sent anywhere.
    """

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _start(self, rows: Rows, random: np.random.RandomState) -> Any:
        """Return the model to begin with."""

    @abc.abstractmethod
    def to_model(self) -> Any:
        """Return the fitted model, with NumPy arrays."""

    @abc.abstractmethod
    def _attributes(self, model: Any) -> dict[str, np.ndarray]:
        """Return the attributes_ that hold a model."""

    @abc.abstractmethod
    def _n_parameters(self) -> int:
        """Return the number of free parameters."""

    @abc.abstractmethod
    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        """Check what the entries of X mean, beyond being numbers, and return them as numbers."""

    @property
    @abc.abstractmethod
    def _width(self) -> float:
        """The variance of a data point."""

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
            NaN entries are missing. Arrays, memory maps, pandas and polars frames.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None
            How often each row counts.

        Returns
        -------
        self

        """
        self._validate_params()
        rows = self._rows(X, sample_weight, first=True)
        goes_on = getattr(self, "warm_start", False) and hasattr(self, "converged_")
        before = float(vars(self)["lower_bound_"]) if goes_on else -np.inf
        random = check_random_state(self.random_state)
        best: Fitted | None = None
        with Progress(self.verbose, self.max_iter) as progress:
            for init in range(1 if goes_on else getattr(self, "n_init", 1)):
                progress.begin(init)
                with jax.enable_x64(True):
                    start = self.to_model() if goes_on else self._start(rows, random)
                run = self._climb(start, rows, progress, before)
                if best is None or not best.history or run.history[-1] > best.history[-1]:
                    best = run
        assert best is not None
        self._keep(best.model)
        self.converged_ = best.converged
        self.n_iter_ = len(best.history)
        self.lower_bound_ = best.history[-1] if best.history else -np.inf
        self.lower_bounds_ = best.history
        self.n_points_seen_ = rows.mass
        self.n_batches_seen_ = 1
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, or increase "
                "max_iter, tol, or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _climb(self, model: Any, rows: Rows, progress: Progress, before: float) -> Fitted:
        """Repeat steps of EM until the average log-likelihood hardly gains."""
        history: list[float] = []
        for _ in range(self.max_iter):
            with jax.enable_x64(True):
                model, seen = em_step(model, rows.batches(rows.frame_for(_components(model))))
                model = jax.tree.map(np.asarray, model)
                history.append(float(seen.log_likelihood))
            self._check_sound(model, history[-1])
            gain, before = history[-1] - before, history[-1]
            progress.step(history[-1], gain)
            if abs(gain) < self.tol:
                return Fitted(model, history, True)
        return Fitted(model, history, False)

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move towards the rows of X by one step of online EM. The first call starts from them.

        The parameters are those of `fit`. A call that raises leaves the estimator as it was.
        """
        first = not hasattr(self, "n_batches_seen_")
        if first:
            self._validate_params()
        rows = self._rows(X, sample_weight, first)
        step = 0 if first else self.n_batches_seen_
        if len(rows) == 0 or rows.mass == 0:
            return self
        with jax.enable_x64(True):
            model = self._start(rows, check_random_state(self.random_state)) if first else self.to_model()
            batches = rows.batches(rows.frame_for(_components(model)))
            model, seen = online_em_step(model, batches, self._rate_at(step))
            model = jax.tree.map(np.asarray, model)
        self._check_sound(model, float(seen.log_likelihood))
        self._keep(model)
        self.lower_bound_ = float(seen.log_likelihood)
        self.n_points_seen_ = rows.mass + (0 if first else self.n_points_seen_)
        self.n_batches_seen_ = step + 1
        return self

    def fit_stream(self, batches: Iterable[Any], passes: int = 1) -> Self:
        """Go through an iterable of tables by `partial_fit`, with memory for one of them.

        Parameters
        ----------
        batches : iterable of array-like, or of pairs (X, sample_weight)
            More than one pass needs something that can be gone through again, like a list, not a generator.
        passes : int
            How often to go through all of them.

        Returns
        -------
        self

        """
        if passes > 1 and isinstance(batches, Iterator):
            raise ValueError(f"batches can be gone through once, and passes is {passes}: pass a list, or passes=1.")
        for attribute in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, attribute)
        with Progress(self.verbose, None) as progress:
            progress.begin(0)
            for _ in range(passes):
                for X, weight in self._enough_to_start(batches):
                    self.partial_fit(X, None, weight)
                    progress.step(self.lower_bound_, np.nan)
        check_is_fitted(self, msg="batches is empty: there was nothing to fit %(name)s to.")
        return self

    def _enough_to_start(self, batches: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield tables and weights; the first are put together until there is a row for each component."""
        waiting: list[tuple[Any, Any]] = []
        for batch in batches:
            X, weight = batch if isinstance(batch, tuple) else (batch, None)
            waiting.append((X, weight))
            if hasattr(self, "n_batches_seen_") or sum(len(x) for x, _ in waiting) >= max(2, self._least_rows):
                yield _together(waiting)
                waiting = []
        if waiting:
            yield _together(waiting)

    # --- questions --------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, in nats; of what is observed of it where entries are missing."""
        return self._ask(X, _log_likelihood)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Average log-likelihood of the rows, in nats."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def sample(self, n_samples: int = 1) -> Any:
        """Draw points from the fitted model."""
        return self._draw(n_samples, lambda model, key: model.sample(key, (n_samples,)))

    def impute(self, X: Any, random_state: Any = None) -> np.ndarray:
        """Draw the missing entries of X given the rest; what is there stays as it is."""
        check_is_fitted(self)
        rows = self._rows(X, None, first=False)
        random = check_random_state(self.random_state if random_state is None else random_state)
        result = np.array(rows.X)
        for here, batch in _numbered(rows):
            with jax.enable_x64(True):
                key = jax.random.key(random.randint(2**31))
                drawn = np.asarray(_impute(self.to_model(), batch, key))
            count = here.stop - here.start
            result[here] = np.where(np.isnan(result[here]), drawn[:count], result[here])
        return result

    def bic(self, X: Any) -> float:
        """Bayesian information criterion; the lower the better."""
        return -2 * self.score(X) * len(X) + self._n_parameters() * np.log(len(X))

    def aic(self, X: Any) -> float:
        """Akaike information criterion; the lower the better."""
        return -2 * self.score(X) * len(X) + 2 * self._n_parameters()

    # --- borders ----------------------------------------------------------------------------------------

    @classmethod
    def from_model(cls, model: Any, **parameters: Any) -> Self:
        """Return an estimator that is fitted to this model; `parameters` are those of the constructor."""
        new = cls(**{**cls._parameters_of(model), **parameters})
        new._keep(jax.tree.map(np.asarray, model))
        for name, value in new._shape_of(model).items():
            setattr(new, name, value)
        new.n_points_seen_, new.n_batches_seen_ = 0.0, 0
        new.converged_, new.n_iter_, new.lower_bound_ = True, 0, -np.inf
        return new

    @classmethod
    @abc.abstractmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        """Return the constructor's parameters that a model decides."""

    @abc.abstractmethod
    def _shape_of(self, model: Any) -> dict[str, Any]:
        """Return the attributes_ that say what tables the model is for: `n_features_in_`, and what else there is."""

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a file that runs no code when it is read. A crash leaves no half file."""
        check_is_fitted(self)
        save_estimator(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an estimator of this kind from a file."""
        loaded = load_estimator(path)
        if not isinstance(loaded, cls):
            raise ValueError(f"{path} holds a {type(loaded).__name__}, not a {cls.__name__}.")
        return loaded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- inside -----------------------------------------------------------------------------------------

    def _rows(self, X: Any, sample_weight: Any, first: bool) -> Rows:
        table = validate_data(
            self,
            X,
            reset=first,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if first else 0,
        )
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
            if len(weight) and not weight.any():
                raise ValueError("sample_weight is all zero: there is nothing to learn from.")
        return Rows(self._check_values(table, first), weight, self._width)

    def _rate_at(self, step: int) -> float:
        rate = self.rate
        value = decaying_rate()(step) if rate is None else rate(step) if callable(rate) else rate
        if not 0 < value <= 1:
            raise ValueError(f"rate is {value!r}: it must be None, in (0, 1], or a function of the step that is.")
        return float(value)

    def _check_sound(self, model: Any, log_likelihood: float) -> None:
        sound = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(model))
        if not sound or np.isnan(log_likelihood):
            raise ValueError(_BROKEN)

    def _keep(self, model: Any) -> None:
        """Hold the model as attributes_."""
        for name, value in self._attributes(model).items():
            setattr(self, name, np.asarray(value))

    def _ask(self, X: Any, question: Callable[[Any, Batch], Any]) -> np.ndarray:
        check_is_fitted(self)
        rows = self._rows(X, None, first=False)
        if len(rows) == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={rows.X.shape}) while a minimum of 1 is required.")
        answers = []
        model = self.to_model()
        for here, batch in _numbered(rows):
            with jax.enable_x64(True):
                answers.append(np.asarray(question(model, batch))[: here.stop - here.start])
        return np.concatenate(answers).astype(rows.X.dtype, copy=False)

    def _draw(self, n_samples: int, draw: Callable[[Any, Any], Any]) -> Any:
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample.")
        random = check_random_state(self.random_state)
        with jax.enable_x64(True):
            drawn = draw(self.to_model(), jax.random.key(random.randint(2**31)))
            return jax.tree.map(np.asarray, drawn)


def _together(batches: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    if len(batches) == 1:
        return batches[0]
    weights = [np.ones(len(X)) if weight is None else np.asarray(weight) for X, weight in batches]
    return np.concatenate([np.asarray(X) for X, _ in batches]), np.concatenate(weights)


def _components(model: Any) -> Any:
    return getattr(model, "components", model)


def _numbered(rows: Rows) -> Iterator[tuple[slice, Batch]]:
    for (here, _, _), batch in zip(rows.chunks(), rows.batches(), strict=True):
        yield here, batch


@jax.jit
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)


@jax.jit
def _impute(model: Any, batch: Batch, key: Any) -> Any:
    return model.impute(batch, key)
