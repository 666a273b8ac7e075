"""Linear conditionals at the front door: Fisher scoring, in batch, online and over sites."""

import copy
import warnings
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kullback.estimators._fit_callback import NoCallback
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._model_estimator import STOPPED
from kullback.estimators._progress import Progress
from kullback.estimators.data._pairs import Pairs
from kullback.families import Kind, Role
from kullback.learning import (
    CONVERGED,
    Clock,
    FisherScoring,
    GainBelow,
    Place,
    PointRate,
    StepInfo,
    begin,
    fit,
    step,
)
from kullback.models import LinearConditional, Ridge
from kullback.runtime import as_numpy

#: Iterations of Fisher scoring at most, and the gain in nats per row that is none, where no numbers are given.
_MAX_ITER, _TOLERANCE = 100, 1e-9

#: Points for each parameter with which a stream begins by a fit, of so many iterations at most.
_ENOUGH, _FIRST_ITER = 10, 32
#: Points for each parameter that settle a stream that has begun by a fit.
_SETTLED = (4.0,)

#: A spread that has fallen by this factor, in logarithms, is none: the fit ends before.
_LEAST_SPREAD = np.log(1e-6)
_WITHOUT_ERROR = (
    "The inputs foretell the targets without error, as they do where there are as many of them as rows: the spread has "
    "fallen to a millionth of what it was, and the fit ends there. Use fewer inputs, more rows, or a larger alpha."
)


class _Floor(eqx.Module):
    """Ends a fit where the spread of a Gaussian falls to 0, as the likelihood has no bound then.

    It is a tree, of which the least log scales are leaves: another fit compiles nothing for it.
    """

    least: np.ndarray

    @classmethod
    def below(cls, start: LinearConditional) -> "_Floor":
        """Return the floor of a fit that begins here."""
        is_scale = np.array([role is Role.LOG_SCALE for role in start.kind.roles])
        return cls(np.where(is_scale, np.asarray(start.coefficients)[:, 0] + _LEAST_SPREAD, -np.inf))

    def __call__(self, model: Any) -> Any:
        """Whether a model is far from it. It is traced."""
        return jnp.all(jnp.asarray(model.coefficients)[:, 0] > self.least + 1)

    def refuse(self, model: Any, info: StepInfo) -> str | None:
        """Return the reason to end before a model, or None."""
        return _WITHOUT_ERROR if (np.asarray(model.coefficients)[:, 0] < self.least).any() else None


class LinearMethod:
    """Free coordinates that are linear in the inputs."""

    arrays: ClassVar[tuple[str, ...]] = ("coefficients_", "information_")
    trees: ClassVar[tuple[str, ...]] = ()
    settings: ClassVar[tuple[str, ...]] = ("dispersion",)

    def check(self, estimator: Any) -> None:
        """Raise where parameters do not go with this method."""
        if estimator._components > 1:
            raise ValueError(
                f"n_components is {estimator._components} and method 'linear': mixtures are for method='network'."
            )

    def fit(self, estimator: Any, pairs: Pairs) -> None:
        """Iterate Fisher scoring until there is little left to gain."""
        history: list[float] = []
        steps = estimator.max_iter or _MAX_ITER
        tolerance = _TOLERANCE if estimator.tol is None else estimator.tol
        start = self.to_model(estimator) if hasattr(estimator, "coefficients_") else self._start(estimator, pairs)
        learner, rule = FisherScoring(self._prior(estimator)), GainBelow(tolerance, steps, falling=False)
        with Progress(estimator.verbose, steps) as progress:
            progress.begin(0)

            def record(infos: list[StepInfo]) -> None:
                gain = infos[-1].value - history[-1] if history else None
                history.extend(float(info.value) for info in infos)
                progress.step(history[-1], gain)

            def callback(place: Place) -> str | None:
                def snapshot() -> Any:
                    so_far = copy.copy(estimator)
                    self._keep(so_far, _best_so_far(place))
                    FitRecord(False, len(history), history[-1], list(history), pairs.mass, 1).write(so_far)
                    return so_far

                return STOPPED if estimator._callback.step(snapshot, history) else None

            someone_looks_on = bool(estimator.verbose) or not isinstance(estimator._callback, NoCallback)
            floor = _Floor.below(start)
            place, reason = fit(
                learner,
                begin(learner, start, pairs, rule),
                pairs,
                rule,
                guard=floor.refuse,
                watch=floor,
                record=record,
                callback=callback,
                chunk=1 if someone_looks_on else 64,
            )
            progress.end(reason == CONVERGED)
        self._keep(estimator, _best_so_far(place) if reason == STOPPED else place.model)
        FitRecord(reason == CONVERGED, len(history), history[-1], history, pairs.mass, 1).write(estimator)
        if reason == _WITHOUT_ERROR:
            warnings.warn(_WITHOUT_ERROR, ConvergenceWarning, stacklevel=4)  # the line that calls `fit`
        elif reason not in (CONVERGED, STOPPED):
            warnings.warn(
                f"Fisher scoring has not converged in max_iter = {steps} iterations: increase max_iter or alpha, or "
                "tol. Where inputs foretell a class without error coefficients grow without bound.",
                ConvergenceWarning,
                stacklevel=4,  # the line that calls `fit`
            )

    def partial_fit(self, estimator: Any, pairs: Pairs, first: bool) -> None:
        """Move towards some more rows by one step of online Fisher scoring, or by several where they are many.

        The first rows, if they are enough, are fitted as all at once: a step from the marginal would leave a poor
        model, that counts for as many points.
        """
        if first and self._fit_first(estimator, pairs):
            return
        record = FitRecord.of(estimator)
        rate = PointRate(*(_SETTLED if record.converged else ())) if estimator.rate is None else estimator.rate
        learner = FisherScoring(self._prior(estimator), rate)
        model = self._start(estimator, pairs) if first else self.to_model(estimator)
        for _, batch in pairs.batches():
            number, points = record.counts
            clock = Clock(np.int32(number), np.asarray(points))
            model, _, _, info, _ = step(learner.at(number, points)[0], model, None, None, (batch,), clock)
            if not info.finite:
                raise ValueError(
                    "A step has led to numbers that are not finite: scale the inputs or the targets, or fit all rows "
                    "at once, where steps that go too far are taken back."
                )
            record = record.add_step(float(info.value), float(info.mass), None, not first)
        self._keep(estimator, model)
        record.write(estimator)

    def _fit_first(self, estimator: Any, pairs: Pairs) -> bool:
        """Fit the first rows of a stream until there is little left to gain, and return whether it was done."""
        start = self._start(estimator, pairs)
        if min(len(pairs), pairs.mass) < _ENOUGH * len(start.parameters):
            return False
        learner, rule = FisherScoring(self._prior(estimator)), GainBelow(_TOLERANCE, _FIRST_ITER, falling=False)
        seen: list[StepInfo] = []
        floor, place = _Floor.below(start), begin(learner, start, pairs, rule)
        place, reason = fit(
            learner, place, pairs, rule, guard=floor.refuse, watch=floor, record=seen.extend, chunk=_FIRST_ITER
        )
        if reason != CONVERGED:
            return False
        self._keep(estimator, place.model)
        FitRecord(converged=True).add_step(float(seen[0].value), pairs.mass, None, False).write(estimator)
        return True

    def to_model(self, estimator: Any) -> LinearConditional:
        """Return the fitted model."""
        kind = estimator._kind
        return LinearConditional(estimator.coefficients_, kind, self.varies(estimator, kind), estimator.information_)

    def free(self, model: Any, matrix: np.ndarray) -> np.ndarray:
        """Return the free coordinates of rows of the design."""
        return matrix @ model.coefficients[:, 1:].T + model.coefficients[:, 0]

    def tree_shapes(self, estimator: Any) -> dict[str, Any]:
        """Return nothing: there are no trees."""
        return {}

    def n_parameters(self, estimator: Any) -> int:
        """Return the number of coefficients that count."""
        return len(estimator.information_)

    @staticmethod
    def varies(estimator: Any, kind: Kind) -> tuple[bool, ...]:
        """Return which free coordinates follow the inputs."""
        if estimator._dispersion == "linear":
            return (True,) * kind.size
        spreads = {place for group in kind.free_groups if group.dispersion for place in group.coordinates}
        return tuple(place not in spreads for place in range(kind.size))

    def _start(self, estimator: Any, pairs: Pairs) -> LinearConditional:
        kind = estimator._kind
        member = estimator._targets.marginal(pairs.targets, pairs.weight)
        return LinearConditional.start(kind, estimator._design.width, self.varies(estimator, kind), member)

    @staticmethod
    def _prior(estimator: Any) -> Ridge | None:
        """Return the penalty of coefficients, which are penalized in the units of the inputs."""
        if estimator.alpha == 0:
            return None
        kind, scale = estimator._kind, estimator._design.scale
        table = np.zeros((kind.size, 1 + len(scale)))
        table[:, 1:] = estimator.alpha / np.square(scale)
        return Ridge(table, estimator._coupling)

    @staticmethod
    def _keep(estimator: Any, model: Any) -> None:
        model = as_numpy(model)
        estimator.coefficients_ = np.array(model.coefficients, dtype=np.float64)
        estimator.information_ = np.array(model.information, dtype=np.float64)


def _best_so_far(place: Place) -> LinearConditional:
    """Return the model with the parameters that were best: the next ones are not tried yet, and may go too far."""
    found: LinearConditional = place.model.at(place.state.parameters)
    return found


METHOD = LinearMethod()
