"""Estimators that hold a model as attributes_, whatever their data is: validated, kept, saved and loaded."""

import abc
import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback.core import Extent
from kullback.estimators._check_fit import Collapse, check_finite_fit, is_clearly_sound
from kullback.estimators._column_estimator import ColumnEstimator
from kullback.estimators._file import load_with_command, save
from kullback.estimators._file_check import check_attributes, check_size
from kullback.estimators._fit_callback import FitCallback, NoCallback
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._progress import Progress
from kullback.estimators.constraints import validate_parameter_constraints
from kullback.estimators.data._fit_data import FitData, ProviderContext
from kullback.estimators.data._preparation import Columns, Preparation
from kullback.estimators.mixtures._spares import NO_SPARES, Spares
from kullback.learning import CONVERGED, EM, LIMIT, Place, Rule, StepInfo, begin, decaying_rate, fit
from kullback.runtime import as_numpy, computing, users_settings

#: Why a fit ended: a component would have collapsed in the next iteration, or someone asked for an end.
COLLAPSED_NEXT, STOPPED = "collapsed next", "stopped"


class Fitted(NamedTuple):
    """The end of one run of EM: the model, the log-likelihood before each step, and why it ended."""

    model: Any
    history: list[float]
    reason: str

    @property
    def converged(self) -> bool:
        """Whether there was little left to gain."""
        return self.reason == CONVERGED

    @property
    def collapsed(self) -> bool:
        """Whether it ended before an iteration in which a component collapses."""
        return self.reason == COLLAPSED_NEXT

    def better_than(self, other: "Fitted") -> bool:
        """Whether it is the one to keep: one that went on to its end first, then the likelier one."""
        if self.collapsed != other.collapsed:
            return other.collapsed
        return bool(self.history) and (not other.history or self.history[-1] > other.history[-1])


def all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method compute under our settings, and leave the estimator as it was when it raises."""

    @functools.wraps(method)
    def safely(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            with computing(self._bits):
                return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return safely


class ModelEstimator(ColumnEstimator):
    """An estimator whose attributes_ hold a model. It knows nothing of what its data looks like.

    Attributes_ are NumPy arrays and the only state: the model is built from them for every computation, so they can be
    set, pickled and sent anywhere.
    """

    #: Attributes_ that are worked out of the others when they are asked for.
    _derived: ClassVar[tuple[str, ...]] = ()
    _callback: FitCallback = NoCallback()
    #: Attributes_ that are trees of arrays, such as networks.
    _trees: ClassVar[tuple[str, ...]] = ()

    @property
    def _bits(self) -> int:
        """How many bits a number has in computations."""
        return 64

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
    def _point_variance(self) -> float:
        """The variance of a data point itself."""
        return 0.0

    @abc.abstractmethod
    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        """Check what the entries of X mean, beyond being numbers, and return them as numbers."""

    # --- learning ---------------------------------------------------------------------------------------

    @property
    def _warm(self) -> bool:
        """Whether `fit` begins where the last one has ended."""
        return getattr(self, "warm_start", False) and FitRecord.of(self).has_fit

    def _fit_restarts(
        self,
        data: FitData,
        start: Callable[[int], Any],
        learner: Callable[[Any], EM[Any]],
        rule: Callable[[list[float]], Rule],
        steps: int,
        restarts: int,
        spares: Spares = NO_SPARES,
        sequences: float | None = None,
    ) -> Fitted:
        """Keep the best of some runs of batch EM, each from `start(number)`, of at most so many steps.

        `learner(model)` learns from a start, `rule(history)` says when a run with these log-likelihoods ends.
        """
        best: Fitted | None = None
        with Progress(self.verbose, steps) as progress:
            for restart in range(restarts):
                progress.begin(restart)
                model, history = self._callback.resume_from or (None, [])
                if model is None:
                    model = as_numpy(start(restart))
                run = Fitted(model, history, LIMIT)
                if len(history) < steps:
                    run = self._fit_once(model, history, data, learner(model), rule(history), progress, spares)
                progress.end(run.converged)
                if best is None or run.better_than(best):
                    best = run
                if self._callback.stopped:
                    break
        assert best is not None
        self._record(best, data.mass, sequences)
        return best

    def _record(self, run: Fitted, mass: float, sequences: float | None = None) -> None:
        """Hold the end of a run on data of this mass as attributes_."""
        self._keep(run.model)
        reached = run.history[-1] if run.history else -np.inf
        FitRecord(run.converged, len(run.history), reached, run.history, mass, 1, sequences).write(self)

    def set_callback(self, callback: FitCallback | None) -> Self:
        """Let a callback look at every iteration of `fit`, and end it; None takes it away. It is no part of a copy."""
        self._callback = NoCallback() if callback is None else callback
        return self

    @property
    def has_started(self) -> bool:
        """Whether there is a model yet: the first rows of a stream may be too few to start from."""
        return FitRecord.of(self).n_batches_seen is not None

    def _fit_once(
        self,
        model: Any,
        history: list[float],
        data: FitData,
        learner: EM[Any],
        rule: Rule,
        progress: Progress,
        spares: Spares,
    ) -> Fitted:
        """Run the loop, with an eye on components that are about to collapse and on the callback."""

        def record(infos: list[StepInfo]) -> None:
            gain = infos[-1].value - history[-1] if history else None
            history.extend(float(info.value) for info in infos)
            progress.step(history[-1], gain)

        def guard(after: Any, info: StepInfo) -> str | None:
            try:
                self._check_finite_fit(spares.removed(after), float(info.value) if info.finite else np.nan)
            except Collapse:  # the likelihood is on its way to infinity: what was there before is the last to keep
                return COLLAPSED_NEXT
            return None

        def callback(place: Place) -> str | None:
            def snapshot() -> Any:
                so_far = copy.copy(self)
                so_far._record(Fitted(spares.removed(place.model), list(history), STOPPED), data.mass)
                return so_far

            return STOPPED if self._callback.step(snapshot, history) else None

        place = begin(learner, spares.added(model), data, rule)
        someone_looks_on = bool(self.verbose) or not isinstance(self._callback, NoCallback)
        place, reason = fit(
            learner,
            place,
            data,
            rule,
            guard=guard,
            watch=is_clearly_sound,
            record=record,
            callback=callback,
            chunk=1 if someone_looks_on else 64,
        )
        return Fitted(spares.removed(place.model), history, reason)

    def _keep_step(
        self, model: Any, log_likelihood: float, points: float, sequences: float | None = None, *, first: bool
    ) -> None:
        """Hold the model that a step of online EM has made from so many points; the first are those it began with."""
        self._check_finite_fit(model, log_likelihood)
        record = FitRecord.of(self).add_step(log_likelihood, points, sequences, not first)
        self._keep(model)
        record.write(self)

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
        FitRecord(True, 0, -np.inf, None, 0.0, 0).write(new)
        return new

    def set_model(self, model: Any) -> Self:
        """Hold a model of the same shape as attributes_; what was counted stays. `to_model` is its inverse."""
        self._keep(model)
        return self

    @property
    def extent_seen(self) -> Extent | None:
        """How long the sequences of the fit are, on average; None where rows are independent."""
        return None

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a file that runs no code when it is read. A crash leaves no half file."""
        check_is_fitted(self)
        save(self, path)

    def check_attributes(self, numbers: int) -> None:
        """Raise unless attributes_ that came from a file, with so many numbers of the model, are those of one model."""
        if not self._trees:
            check_size(self, numbers)
        check_attributes(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an estimator of this kind from a file."""
        loaded, _ = load_with_command(path, cls)
        if not isinstance(loaded, cls):
            raise ValueError(f"{path} holds a {type(loaded).__name__}, not a {cls.__name__}.")
        return loaded

    # --- inside -----------------------------------------------------------------------------------------

    def _learning(self, learn: Callable[[Any, Any, Any], Any]) -> ProviderContext:
        """Return what data that lies elsewhere asks of this estimator."""
        return ProviderContext(learn, self._preparation)

    def _preparation(self) -> Preparation:
        """Return what makes data of further tables, as things stand: the check goes with a copy of the estimator."""
        names = vars(self).get("feature_names_in_")
        columns = Columns(type(self).__name__, self.n_features_in_, None if names is None else tuple(names))
        check = functools.partial(copy.copy(self)._check_values, first=False)
        return Preparation(columns, check, float(self._point_variance))

    def _check_finite_fit(self, model: Any, log_likelihood: float) -> None:
        check_finite_fit(model, log_likelihood, self._point_variance)

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
    def _fitted_attributes(self) -> dict[str, Any]:
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
        return {name: value for name, value in state.items() if name not in ("_built", "_checked", "_callback")}


def check_kind(model: Any, kind: type, estimator: type) -> None:
    """Raise unless a model is of the kind that an estimator can hold."""
    if type(model) is not kind:
        raise ValueError(f"model is a {_named(type(model))}: {estimator.__name__} needs a {_named(kind)}.")


def _writable(leaf: Any) -> np.ndarray:
    array = np.asarray(leaf)
    return array if array.flags.writeable else array.copy()


def _named(kind: type) -> str:
    return f"{'.'.join(kind.__module__.split('.')[:2])}.{kind.__name__}"


def _alike(one: list[Any] | None, other: list[Any]) -> bool:
    return one is not None and len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
