"""What every estimator does: fit in batch, online or from a stream; score, sample, impute; be saved and loaded."""

import abc
import functools
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kullback.estimators._file import load_estimator, save_estimator
from kullback.estimators._progress import Progress
from kullback.estimators._rows import Rows, frame_of
from kullback.estimators._sound import check_sound
from kullback.estimators._stream import check_stream, enough_to_start
from kullback.families import Batch
from kullback.learning import decaying_rate, em_step, online_em_step, sized_jit


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

    #: Attributes_ that are worked out of the others when they are asked for.
    _derived: ClassVar[tuple[str, ...]] = ()

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
        goes_on = getattr(self, "warm_start", False) and (
            hasattr(self, "converged_") or hasattr(self, "n_batches_seen_")
        )
        rows = self._rows(X, sample_weight, first=not goes_on, least=2)
        before = self._last_bound() if goes_on else -np.inf
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

    def _last_bound(self) -> float:
        """Return what the last fit has reached; the bound of a batch that came after it is not one to compare with."""
        bound, bounds = getattr(self, "lower_bound_", -np.inf), list(getattr(self, "lower_bounds_", []))
        return bound if bounds[-1:] == [bound] else -np.inf

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
        self._validate_once()
        first = not hasattr(self, "n_batches_seen_")
        rows = self._rows(X, sample_weight, first, least=2 if first else 0)
        step, points = (0, 0.0) if first else (self.n_batches_seen_, self.n_points_seen_)
        if len(rows) == 0:
            return self
        rate = self._rate_at(step, points, rows.mass)
        with jax.enable_x64(True):
            model = self._start(rows, check_random_state(self.random_state)) if first else self._current_model()
            frame = rows.frame_for(_components(model), None if first else frame_of(model))
            model, seen = online_em_step(model, [batch for _, batch in rows.placed(frame)], rate)
            model = jax.tree.map(np.asarray, model)
        self._check_sound(model, float(seen.log_likelihood))
        self._keep(model)
        self.lower_bound_ = float(seen.log_likelihood)
        self.n_points_seen_ = points + rows.mass
        self.n_batches_seen_ = step + 1
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
        return self._draw(n_samples, lambda model, key, size: model.sample(key, (size,)))

    def impute(self, X: Any, random_state: Any = None) -> np.ndarray:
        """Draw the missing entries of X given the rest; what is there stays as it is."""
        rows, model = self._asked(X)
        random = check_random_state(self.random_state if random_state is None else random_state)
        result = np.array(rows.X)
        if not rows.missing:
            return result
        for here, batch in rows.placed():
            with jax.enable_x64(True):
                drawn = np.asarray(_impute(model, batch, jax.random.key(random.randint(2**31))))
            result[here] = np.where(np.isnan(result[here]), drawn[: here.stop - here.start], result[here])
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
            weight = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
            if not weight.any():
                raise ValueError("sample_weight is all zero: there is nothing to learn from.")
            if not weight.all():  # a row that never counts is no row: nothing starts from it
                table, weight = table[weight > 0], weight[weight > 0]
        return Rows(self._check_values(table, first), weight, self._width)

    def _plainly_good(self, X: Any) -> bool:
        """Whether X needs no further look: an array of finite 64-bit numbers with the columns of the fit."""
        named = hasattr(self, "feature_names_in_")
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or named or len(X) == 0:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return X.shape[1] == getattr(self, "n_features_in_", -1) and bool(np.isfinite(X.sum()))

    def _rate_at(self, step: int, points: float, mass: float) -> float:
        """Return the weight of a batch of some mass that comes after `step` others with so many points.

        The schedule of `rate=None` counts points, so that batches of all sizes can follow each other, and forgets no
        faster than what would leave fewer points than parameters.
        """
        rate = self.rate
        if rate is None:
            schedule: Any = decaying_rate()  # of batches of this size, which need not be a whole number
            most = mass / (mass + min(points, self._n_parameters())) if points else 1.0
            return min(schedule(points / mass), most)
        value = rate(step) if callable(rate) else rate
        if not 0 < value <= 1:
            raise ValueError(f"rate is {value!r}: it must be None, in (0, 1], or a function of the step that is.")
        return float(value)

    def _check_sound(self, model: Any, log_likelihood: float) -> None:
        check_sound(model, log_likelihood, self._width)

    def _keep(self, model: Any) -> None:
        """Hold the model as attributes_."""
        attributes = {name: np.asarray(value) for name, value in self._attributes(model).items()}
        for name in self._derived:
            self.__dict__.pop(name, None)
        for name, value in attributes.items():
            setattr(self, name, value)
        self._built = (model, attributes, self._settings())

    def _current_model(self) -> Any:
        """Return the model of the last call if its arrays still are the attributes_, and build it otherwise."""
        model, attributes, settings = getattr(self, "_built", (None, {}, None))
        kept = {id(value) for name, value in attributes.items() if getattr(self, name, None) is value}
        same = model is not None and all(id(leaf) in kept for leaf in jax.tree.leaves(model))
        return model if same and _alike(settings, self._settings()) else self.to_model()

    def _settings(self) -> list[Any]:
        """Return the parameters as they are now; holding them keeps another value from taking their place."""
        return [value for name, value in sorted(vars(self).items()) if name[0] != "_" and name[-1] != "_"]

    def _validate_once(self) -> None:
        """Check the parameters if they are not those that were checked last."""
        if not _alike(getattr(self, "_checked", None), self._settings()):
            self._validate_params()
            self._checked = self._settings()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_built", "_checked")}

    def _ask(self, X: Any, question: Callable[[Any, Batch], Any]) -> np.ndarray:
        rows, answers = self._answers(X, None, question)
        return answers.astype(rows.X.dtype, copy=False)

    def _answers(self, X: Any, sample_weight: Any, question: Callable[[Any, Batch], Any]) -> tuple[Rows, np.ndarray]:
        rows, model = self._asked(X, sample_weight, least=1)
        answers = []
        for here, batch in rows.placed():
            with jax.enable_x64(True):
                answers.append(np.asarray(question(model, batch))[: here.stop - here.start])
        return rows, np.concatenate(answers)

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
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample.")
        random = check_random_state(self.random_state)
        size = 1 << (int(n_samples) - 1).bit_length()  # few sizes: few compiled functions
        with jax.enable_x64(True):
            drawn = draw(self.to_model(), jax.random.key(random.randint(2**31)), size)
            return jax.tree.map(lambda leaf: np.asarray(leaf)[:n_samples], drawn)


def _alike(one: list[Any] | None, other: list[Any]) -> bool:
    return one is not None and len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _components(model: Any) -> Any:
    return getattr(model, "components", model)


@sized_jit
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)


@sized_jit
def _impute(model: Any, batch: Batch, key: Any) -> Any:
    return model.impute(batch, key)
