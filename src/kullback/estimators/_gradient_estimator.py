"""Estimators whose models are trained by gradients: networks of a table of independent rows."""

import abc
import functools
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kullback.core import Batch, Model
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators._progress import Progress
from kullback.estimators._table_estimator import TableEstimator
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.data._fit_data import provider_of
from kullback.estimators.data._rows import Rows
from kullback.learning import (
    LIMIT,
    NO_GAIN,
    Epochs,
    Gradient,
    Minibatches,
    Optimizer,
    Place,
    StepInfo,
    adaptive_jit,
    begin,
    fit,
)
from kullback.runtime import as_numpy, computing

#: What every constructor takes, as it is named in scikit-learn's own networks.
GRADIENT_CONSTRAINTS: dict[str, list[Any]] = {
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0.0, None, closed="neither")],
    "validation_fraction": [Interval(Real, 0.0, 1.0, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="left")],
    "dtype": [StrOptions({"float32", "float64"})],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
#: Rows that are scored at once, and draws of the hidden variables for each of them.
_SCORED_ROWS, _DRAWS = 1024, 64


class GradientEstimator(TableEstimator):
    """A network of independent rows. A subclass says how it is made, and which objective is made least.

    Its constructor takes `max_iter` (epochs), `batch_size`, `learning_rate`, `validation_fraction`, `n_iter_no_change`,
    `tol`, `dtype`, `warm_start`, `random_state` and `verbose`, and what the network needs. A part of the rows,
    `validation_fraction`, is never learned from: the network that is kept is the one that was best on it, and `fit`
    ends when it has not gained `tol` nats per row for `n_iter_no_change` epochs.

    Numbers have 32 bits in training, unless `dtype` says otherwise; scores are averaged in 64 bits.

    Attributes
    ----------
    network_ : Model
        The network, with NumPy arrays.
    n_iter_, n_steps_ : int
        Epochs of the last fit, and steps of the optimizer since the first.
    learning_curve_ : ndarray of shape (up to 512, 4)
        Steps, points seen, the objective before it was learned from (nats per row, more is better), and of how many
        points it is the mean.
    lower_bounds_, validation_scores_ : list of float
        The mean objective of each epoch of the last fit, and the log-likelihood of the validation part after it.

    """

    _trees: ClassVar[tuple[str, ...]] = ("network_", "optimizer_state_", "memory_")
    #: Whether the objective and the likelihood look at which entries of a batch are observed.
    _takes_missing: ClassVar[bool] = False

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _network(self, n_features: int, key: Any) -> Model:
        """Return a new network for rows of so many columns. Its shapes follow from the parameters alone."""

    @property
    @abc.abstractmethod
    def _objective(self) -> Callable[..., Any]:
        """The objective: a function of a module, (model, batch, memory, key) → `kullback.learning.Loss`."""

    @property
    @abc.abstractmethod
    def _chains(self) -> Callable[..., Any] | None:
        """What makes the memory of a stream, a function of a module; None where there is none."""

    # --- learning ---------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X, epoch by epoch, in batches drawn without replacement.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN entries are missing, where the model takes them.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None
            How often each row counts.

        Returns
        -------
        self

        """
        self._validate_params()
        if provider_of(X) is not None:
            raise ValueError("X is a Dask collection: go through its blocks with fit_stream, or pass an array.")
        goes_on = self._warm
        rows = self._rows(X, sample_weight, first=not goes_on, least=2)
        self._check_missing(rows)
        if not goes_on:
            self._forget()
        train, held = self._split(rows)
        data = Minibatches(functools.partial(self._batch, train), len(train), self.batch_size, self.seed_)
        bounds: list[float] = []
        scores: list[float] = []

        def validate(model: Any) -> float:
            scores.append(self._mean_score(model, held))
            return scores[-1]

        with Progress(self.verbose, self.max_iter) as progress:
            progress.begin(0)
            epoch = EpochMeans(bounds, progress)
            rule = Epochs(self.max_iter, self.n_iter_no_change, self.tol)
            place, reason = fit(
                self._learner,
                self._place(data, rule),
                data,
                rule,
                validate=validate if len(held) else None,
                record=epoch.add,
                callback=epoch.close,
                seed=self.seed_,
            )
            epoch.close(place)
            progress.end(reason == NO_GAIN)
        self._hold(place)
        self.n_iter_, self.converged_ = len(bounds), reason == NO_GAIN
        self.lower_bounds_, self.validation_scores_ = bounds, scores
        self.lower_bound_ = bounds[-1]
        if reason == LIMIT:
            reason = f"The fit has not converged in max_iter = {self.max_iter} epochs: increase max_iter, or tol."
        if reason != NO_GAIN:
            warnings.warn(reason, ConvergenceWarning, stacklevel=3)  # the line that calls `fit`
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go through the rows of X once, in their order, a step of the optimizer for each `batch_size` of them.

        The parameters are those of `fit`. A call that raises leaves the estimator as it was.
        """
        self._validate_once()
        first = not hasattr(self, "n_batches_seen_")
        rows = self._rows(X, sample_weight, first, least=1 if first else 0)
        if len(rows) == 0:
            return self
        self._check_missing(rows)
        if first:
            self._forget()
        data = Minibatches(functools.partial(self._batch, rows), len(rows), self.batch_size, shuffle=False)
        seen: list[StepInfo] = []
        rule = Epochs(1)
        place, reason = fit(self._learner, self._place(data, rule), data, rule, record=seen.extend, seed=self.seed_)
        if reason != LIMIT or not all(info.finite for info in seen):
            raise ValueError(
                "A step has led to numbers that are not finite: try a smaller learning_rate, or scale the input data."
            )
        self._hold(place)
        mass = sum(info.mass for info in seen)
        self.lower_bound_ = sum(info.value * info.mass for info in seen) / mass
        return self

    # --- questions --------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each row, in nats; an estimate where the model has none that is exact."""
        check_is_fitted(self)
        rows, model = self._question(X, least=1)
        return self._scores(model, rows).astype(rows.X.dtype, copy=False)

    def _row_surprises(self, X: Any) -> np.ndarray:
        """Raise: a network has no likelihood of a part of a row."""
        raise ValueError(f"{type(self).__name__} cannot leave out an entry of a row: it has no surprise of its own.")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Average log-likelihood of the rows, in nats."""
        check_is_fitted(self)
        rows, model = self._question(X, sample_weight, least=1)
        return self._mean_score(model, rows)

    # --- between attributes_ and models -------------------------------------------------------------------

    def to_model(self) -> Model:
        """Return the fitted network, with NumPy arrays."""
        check_is_fitted(self)
        network: Model = self.network_
        return network

    def _attributes(self, model: Any) -> dict[str, np.ndarray]:
        return {}

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        return {}

    def _shape_of(self, model: Any) -> dict[str, Any]:
        if not hasattr(self, "n_features_in_"):
            raise ValueError(
                f"{type(self).__name__} cannot be made from a model alone: fit it, or load it from a file."
            )
        return {"n_features_in_": self.n_features_in_}

    def _n_parameters(self) -> int:
        parameters = eqx.filter(self.to_model(), self.to_model().trainable())
        return sum(np.size(leaf) for leaf in jax.tree.leaves(parameters))

    @property
    def _least_rows(self) -> int:
        return 1

    @property
    def _bits(self) -> int:
        return 64 if self.dtype == "float64" else 32

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    # --- inside -----------------------------------------------------------------------------------------

    @property
    def _learner(self) -> Gradient[Any]:
        return Gradient(self._objective, Optimizer(learning_rate=self.learning_rate), self._chains)

    def _forget(self) -> None:
        """Begin anew: what an earlier fit has left goes, and there is a new seed."""
        for name in ("network_", "optimizer_state_", "memory_", "n_steps_", "n_points_seen_", "learning_curve_"):
            self.__dict__.pop(name, None)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))

    def _place(self, data: Minibatches, rule: Epochs) -> Place:
        """Return the place to go on from, or to begin at."""
        if not hasattr(self, "network_"):
            network = as_numpy(self._network(self.n_features_in_, jax.random.key(self.seed_)))
            return begin(self._learner, network, data, rule, self.seed_)
        return Place(
            self.network_,
            self.optimizer_state_,
            (self.memory_,),
            step=self.n_steps_,
            points=self.n_points_seen_,
            rule=rule.init(),
            curve=self.learning_curve_,
        )

    def _hold(self, place: Place) -> None:
        """Hold a place as attributes_."""
        place = as_numpy(place)
        self.network_, self.optimizer_state_, (self.memory_,) = place.found, place.state, place.memories
        self.n_steps_, self.n_points_seen_, self.learning_curve_ = place.step, place.points, place.curve
        self.n_batches_seen_ = place.step

    def _tree_shapes(self) -> dict[str, Any]:
        """Return the trees that the parameters describe, with shapes in the place of arrays: nothing is allocated."""

        def start() -> Batch:
            return Batch(np.zeros((1, self.n_features_in_), self.dtype))

        with computing(self._bits):
            key, learner = jax.random.key(0), self._learner
            network = eqx.filter_eval_shape(lambda: self._network(self.n_features_in_, key))
            state = eqx.filter_eval_shape(lambda model: learner.init(model, start), network)
            memory = eqx.filter_eval_shape(lambda model: learner.memory(model, start, key), network)
        return {"network_": network, "optimizer_state_": state, "memory_": memory}

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows to learn from, and those that are kept for validation."""
        count = len(rows)
        held = min(max(round(self.validation_fraction * count), 1), count - 1) if self.validation_fraction else 0
        order = np.random.default_rng(self.seed_).permutation(count)
        return rows.take(np.sort(order[held:])), rows.take(np.sort(order[:held]))

    def _batch(self, rows: Rows, places: np.ndarray) -> Batch:
        """Return some rows as a batch of the type in which the network computes."""
        values = np.asarray(rows.X[places], dtype=self.dtype)
        weight = np.ones(len(places), self.dtype) if rows.weight is None else rows.weight[places].astype(self.dtype)
        return Batch(values, weight, 0.0, ~np.isnan(values) if rows.missing else None)

    def _check_missing(self, rows: Rows) -> None:
        """Raise if entries are missing and the network would take them for zeros."""
        if rows.missing and not self._takes_missing:
            raise ValueError(f"X has missing entries (NaN), and {type(self).__name__} takes none: impute them first.")

    def _scores(self, model: Any, rows: Rows) -> np.ndarray:
        self._check_missing(rows)
        found = []
        for first in range(0, len(rows), _SCORED_ROWS):
            places = np.arange(first, min(first + _SCORED_ROWS, len(rows)))
            size = min(1 << (len(places) - 1).bit_length(), _SCORED_ROWS)  # few sizes: few compiled functions
            padded = np.concatenate([places, np.full(size - len(places), places[0])])
            with computing(self._bits):
                key = jax.random.fold_in(jax.random.key(self.seed_), first)
                scores = _estimate(model, self._batch(rows, padded), key, _DRAWS)
            found.append(np.asarray(scores, dtype=np.float64)[: len(places)])
        return np.concatenate(found)

    def _mean_score(self, model: Any, rows: Rows) -> float:
        return float(np.average(self._scores(model, rows), weights=rows.weight))


class EpochMeans:
    """Takes in steps, and keeps their mean when an epoch ends."""

    def __init__(self, means: list[float], progress: Progress):
        self._means, self._progress = means, progress
        self._total, self._mass = 0.0, 0.0

    def add(self, infos: list[StepInfo]) -> None:
        """Take in the steps of a chunk; those that were left out do not count."""
        for info in infos:
            if info.finite:
                self._total, self._mass = self._total + info.value * info.mass, self._mass + info.mass

    def close(self, place: Place) -> None:
        """Keep the mean if an epoch has ended here: of data that is one batch, each step is one."""
        if (place.position is None or place.position[1] == 0) and self._mass:
            self._means.append(self._total / self._mass)
            self._progress.step(self._means[-1])
            self._total, self._mass = 0.0, 0.0


@adaptive_jit
def _estimate(model: Any, batch: Batch, key: Any, draws: int) -> Any:
    return model.estimate_log_likelihood(batch, key, draws).value
