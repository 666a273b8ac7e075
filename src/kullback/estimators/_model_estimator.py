"""Estimators that hold a model as attributes_, whatever their data is: validated, kept, saved and loaded."""

import abc
import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kullback.estimators._file import load_estimator, save_estimator
from kullback.estimators._learning_curve import extended
from kullback.estimators._progress import Progress
from kullback.estimators._sound import ENDED_BEFORE_COLLAPSE, Collapse, check_sound
from kullback.estimators._watch import Nobody, Watch
from kullback.estimators.constraints import validate_parameter_constraints
from kullback.learning import decaying_rate
from kullback.runtime import computing, users_settings

UNCONVERGED = (  # scikit-learn's words
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)


class Fitted(NamedTuple):
    """The end of one run of EM."""

    model: Any
    history: list[float]
    converged: bool
    collapsed: bool = False

    def better_than(self, other: "Fitted") -> bool:
        """Whether it is the one to keep: one that went on to its end first, then the likelier one."""
        if self.collapsed != other.collapsed:
            return other.collapsed
        return not other.history or self.history[-1] > other.history[-1]


def all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method compute under our settings, and leave the estimator as it was when it raises."""

    @functools.wraps(method)
    def safely(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            with computing():
                return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return safely


class ModelEstimator(BaseEstimator):
    """An estimator whose attributes_ hold a model. It knows nothing of what its data looks like.

    Attributes_ are NumPy arrays and the only state: the model is built from them for every computation, so they can be
    set, pickled and sent anywhere.
    """

    #: Attributes_ that are worked out of the others when they are asked for.
    _derived: ClassVar[tuple[str, ...]] = ()
    #: What the entries of columns mean: the name of a family for all of them, or one for each.
    _families: Any = "diagonal_gaussian"
    _watch: Watch = Nobody()

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def to_model(self) -> Any:
        """Return the fitted model, with NumPy arrays."""

    @abc.abstractmethod
    def _attributes(self, model: Any) -> dict[str, np.ndarray]:
        """Return the attributes_ that hold a model."""

    @classmethod
    @abc.abstractmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        """Return the constructor's parameters that a model decides."""

    @abc.abstractmethod
    def _shape_of(self, model: Any) -> dict[str, Any]:
        """Return the attributes_ that say what data the model is for: `n_features_in_`, and what else there is."""

    @abc.abstractmethod
    def _n_parameters(self) -> int:
        """Return the number of free parameters."""

    @property
    @abc.abstractmethod
    def _width(self) -> float:
        """The variance of a data point."""

    # --- learning ---------------------------------------------------------------------------------------

    @property
    def _goes_on(self) -> bool:
        """Whether `fit` begins where the last one has ended."""
        return getattr(self, "warm_start", False) and (hasattr(self, "converged_") or hasattr(self, "n_batches_seen_"))

    def _learn(
        self, begin: Callable[[], Any], step: Callable[[Any], tuple[Any, Any]], points: float, goes_on: bool
    ) -> None:
        """Keep the best of some runs, each of steps that take a model to the next and its report, all in 64 bits."""
        before = self._last_bound() if goes_on else -np.inf
        best: Fitted | None = None
        with Progress(self.verbose, self.max_iter) as progress:
            for init in range(1 if goes_on else getattr(self, "n_init", 1)):
                progress.begin(init)
                with computing():
                    start = self.to_model() if goes_on else begin()
                self._check_sound(start, 0.0)  # one that has collapsed already is refused
                run = self._climb(start, step, progress, before)
                progress.end(run.converged)
                if best is None or run.better_than(best):
                    best = run
                if self._watch.ended:
                    break
        assert best is not None
        self._keep(best.model)
        self.converged_ = best.converged
        self.n_iter_ = len(best.history)
        self.lower_bound_ = best.history[-1] if best.history else -np.inf
        self.lower_bounds_ = best.history
        self.n_points_seen_ = points
        self.n_batches_seen_ = 1
        self.__dict__.pop("learning_curve_", None)  # that of a stream before
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(
                ENDED_BEFORE_COLLAPSE if best.collapsed else UNCONVERGED,
                ConvergenceWarning,
                stacklevel=4,  # the line that calls `fit`
            )

    def _last_bound(self) -> float:
        """Return what the last fit has reached; the bound of a batch that came after it is not one to compare with."""
        bound, bounds = getattr(self, "lower_bound_", -np.inf), list(getattr(self, "lower_bounds_", []))
        return bound if bounds[-1:] == [bound] else -np.inf

    def _climb(self, model: Any, step: Callable[[Any], tuple[Any, Any]], progress: Progress, before: float) -> Fitted:
        """Repeat steps until the average log-likelihood hardly gains, or a component is about to collapse."""
        model, history = self._watch.begun or (model, [])
        before = history[-1] if history else before
        for _ in range(self.max_iter - len(history)):
            with computing():
                after, seen = step(model)
                after = jax.tree.map(np.asarray, after)
                history.append(float(seen.log_likelihood))
            try:
                self._check_sound(after, history[-1])
            except Collapse:  # the likelihood is on its way to infinity: what was there before is the last to keep
                return Fitted(model, history, False, True)
            model = after
            gain, before = history[-1] - before, history[-1]
            progress.step(history[-1], gain)
            if abs(gain) < self.tol:
                return Fitted(model, history, True)
            if self._watch.step(model, history):
                break
        return Fitted(model, history, False)

    def _keep_step(self, model: Any, log_likelihood: float, points: float) -> None:
        """Hold the model that a step of online EM has made from so many points."""
        self._check_sound(model, log_likelihood)
        seen = getattr(self, "n_points_seen_", 0.0) + points
        if not np.isfinite(seen):
            raise ValueError("sample_weight is so large that all weights seen have no finite sum: divide it.")
        self._keep(model)
        self.lower_bound_ = log_likelihood
        self.n_points_seen_ = seen
        self.n_batches_seen_ = getattr(self, "n_batches_seen_", 0) + 1
        curve = getattr(self, "learning_curve_", None)
        self.learning_curve_ = extended(curve, self.n_points_seen_, log_likelihood, points)

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
        if callable(rate):
            with users_settings():
                value = rate(step)
        else:
            value = rate
        if not 0 < value <= 1:
            raise ValueError(f"rate is {value!r}: it must be None, in (0, 1], or a function of the step that is.")
        return float(value)

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

    # --- inside -----------------------------------------------------------------------------------------

    def _check_sound(self, model: Any, log_likelihood: float) -> None:
        check_sound(model, log_likelihood, self._width)

    def _keep(self, model: Any) -> None:
        """Hold the model as attributes_, which can be written to."""
        model = jax.tree.map(_writable, model)
        attributes = {name: np.asarray(value) for name, value in self._attributes(model).items()}
        for name in self._derived:
            self.__dict__.pop(name, None)
        for name, value in attributes.items():
            setattr(self, name, value)
        self._built = (model, attributes, self._settings())

    @property
    def _made(self) -> dict[str, Any]:
        """The attributes_ that a fit has made, as it has made them."""
        return getattr(self, "_built", (None, {}, None))[1]

    def _current_model(self) -> Any:
        """Return the model of the last call if its arrays still are the attributes_, and build it otherwise."""
        model, attributes, settings = getattr(self, "_built", (None, {}, None))
        kept = {id(value) for name, value in attributes.items() if getattr(self, name, None) is value}
        same = model is not None and all(id(leaf) in kept for leaf in jax.tree.leaves(model))
        return model if same and _alike(settings, self._settings()) else self.to_model()

    def _settings(self) -> list[Any]:
        """Return the parameters as they are now; holding them keeps another value from taking their place."""
        return [value for name, value in sorted(vars(self).items()) if name[0] != "_" and name[-1] != "_"]

    def _validate_params(self) -> None:
        """Check the constructor's parameters, as scikit-learn does."""
        validate_parameter_constraints(self._parameter_constraints, self.get_params(deep=False), type(self).__name__)

    def _validate_once(self) -> None:
        """Check the parameters if they are not those that were checked last."""
        if not _alike(getattr(self, "_checked", None), self._settings()):
            self._validate_params()
            self._checked = self._settings()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_built", "_checked", "_watch")}


def check_kind(model: Any, kind: type, estimator: type) -> None:
    """Raise unless a model is of the kind that an estimator can hold."""
    if type(model) is not kind:
        raise ValueError(f"model is a {_named(type(model))}: {estimator.__name__} needs a {_named(kind)}.")


def _writable(leaf: Any) -> np.ndarray:
    array = np.asarray(leaf)
    return array if array.flags.writeable else array.copy()


def _named(kind: type) -> str:
    return f"{kind.__module__.partition('._')[0]}.{kind.__name__}"


def _alike(one: list[Any] | None, other: list[Any]) -> bool:
    return one is not None and len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
