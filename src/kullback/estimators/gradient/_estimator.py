"""Estimators whose models are trained by gradients: networks of a table of independent rows."""

import abc
import copy
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
from kullback.estimators._count import check_count
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._model_estimator import STOPPED, all_or_nothing
from kullback.estimators._progress import Progress
from kullback.estimators._table_estimator import TableEstimator
from kullback.estimators._tree_check import check_trees
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.data._fit_data import provider_of
from kullback.estimators.data._rows import Rows
from kullback.estimators.gradient._check import check_answers, check_errors, check_weight
from kullback.estimators.gradient._history import History, place_of
from kullback.estimators.gradient._row_estimates import estimate_rows
from kullback.learning import (
    LIMIT,
    NO_GAIN,
    Epochs,
    Learner,
    Minibatches,
    Place,
    StepInfo,
    WithDreams,
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


#: Attributes_ that a new fit does not keep, besides the trees.
_OF_A_FIT = (
    "unfinished_",
    "n_steps_",
    "n_points_given_",
    "row_weight_",
    "n_points_seen_",
    "learning_curve_",
    "prequential_",
    "combination_excess_",
)


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
    n_points_given_ : float
        The weight of the rows that it was given, each counted once for all epochs: `combine` weighs by it.
    row_weight_ : float
        What a row weighed on average when it began, so that weights may be in any units.
    lower_bounds_ : list of float
        The mean objective of each epoch of the last fit.
    validation_scores_, validation_errors_ : list of float
        The mean log-likelihood of the validation part after each of them, and its standard error over rows.

    """

    #: Draws of what is hidden for each row of the validation part.
    _validation_draws: ClassVar[int] = 100
    #: A network takes long to say what is usual for it: rows that it draws for that, and patterns of missing entries.
    _usual_rows: ClassVar[int] = 1_000
    _most_patterns: ClassVar[float] = 16
    #: Whether the objective and the likelihood look at which entries of a batch are observed.
    _takes_missing: ClassVar[bool] = False
    #: Whether a fit takes all of its epochs, whatever they gain: a planned rate, or a game of two networks.
    _takes_all_epochs: ClassVar[bool] = False

    # --- what a subclass says ---------------------------------------------------------------------------

    @abc.abstractmethod
    def _network(self, start: Batch, key: Any) -> Model:
        """Return a new network to begin with, for rows like these: its shapes follow from columns and parameters."""

    @property
    @abc.abstractmethod
    def _learner(self) -> Learner[Any, Any, Any, Any]:
        """What learns: often `Gradient(objective, Optimizer(learning_rate=self.learning_rate))`."""

    def _check_learns(self) -> None:
        """Raise if what was fitted cannot learn from rows, and so not from dreams."""

    @property
    def _inertia(self) -> float:
        """The share of a step of `partial_fit` that is dreamt by the model as it was before the call."""
        return 0.0

    #: Whether the value of a step is −log p of its rows, or a bound of it: `prequential_` is the mean of these.
    _foretells: ClassVar[bool] = True

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
        unfinished = self.__dict__.pop("unfinished_", None) if self._callback.resume_from is not None else None
        goes_on = self._warm or self._callback.resume_from is not None
        if goes_on:
            self._check_goes_on()
        else:
            self._forget(on_stream=False)
        rows = self._rows(X, sample_weight, first=not goes_on, least=2)
        self._check_missing(rows)
        check_weight(rows.weight, self.dtype)
        if not goes_on:
            _check_entries(rows)
            self.row_weight_ = rows.mass / len(rows)
        self.n_points_given_ = rows.mass
        train, held = self._split(rows)
        data = Minibatches(functools.partial(self._batch, train), len(train), self.batch_size, self.seed_)
        rule = self._rule
        with Progress(self.verbose, self.max_iter, "epochs") as progress:
            progress.begin(0)
            history = History(progress) if unfinished is None else History.resume(progress, unfinished)

            def validate(model: Any) -> float:
                score, error = self._validation_score(model, held)
                history.scores.append(score)
                history.errors.append(error)
                return score

            def callback(place: Place) -> str | None:
                history.close(place)

                def snapshot() -> Any:
                    so_far = copy.copy(self)
                    so_far._hold_fit(place, history, STOPPED)
                    return so_far

                return STOPPED if self._callback.step(snapshot, history.bounds) else None

            place, reason = fit(
                self._learner,
                self._place(data, rule, unfinished),
                data,
                rule,
                validate=validate if len(held) else None,
                record=history.add,
                callback=callback,
                seed=self.seed_,
            )
            history.close(place)
            progress.end(reason == NO_GAIN)
        self._hold_fit(place, history, reason)
        if reason == LIMIT and not self._takes_all_epochs:
            reason = f"The fit has not converged in max_iter = {self.max_iter} epochs: increase max_iter, or tol."
        if reason not in (NO_GAIN, STOPPED, LIMIT):
            warnings.warn(reason, ConvergenceWarning, stacklevel=3)  # the line that calls `fit`
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go through the rows of X once, in their order, a step of the optimizer for each `batch_size` of them.

        The parameters are those of `fit`. A call that raises leaves the estimator as it was.
        """
        self._validate_once()
        first = not hasattr(self, "n_batches_seen_")
        if first:
            self._forget(on_stream=True)
        rows = self._rows(X, sample_weight, first, least=1 if first else 0)
        if len(rows) == 0:
            return self
        self._check_missing(rows)
        check_weight(rows.weight, self.dtype)
        if first:
            _check_entries(rows)
            self.row_weight_ = rows.mass / len(rows)
        data: Any = Minibatches(functools.partial(self._batch, rows), len(rows), self.batch_size, shuffle=False)
        if self._inertia and not first:
            seed = self.seed_ + self.n_steps_
            data = WithDreams(data, self.network_, self._inertia, min(self.batch_size, len(rows)), seed)
        seen: list[StepInfo] = []
        rule = Epochs(1)
        place, reason = fit(self._learner, self._place(data, rule), data, rule, record=seen.extend, seed=self.seed_)
        if reason != LIMIT or not all(info.finite for info in seen):
            raise ValueError(
                "A step has led to numbers that are not finite: try a smaller learning_rate, or scale the input data."
            )
        self.n_points_given_ = getattr(self, "n_points_given_", 0.0) + rows.mass
        self._hold(place)
        mass = sum(info.mass for info in seen)
        self.lower_bound_ = sum(info.value * info.mass for info in seen) / mass
        if not first and self._foretells and not self._inertia:  # dreams are among the points of a step with inertia
            FitRecord.of(self).foretell(seen).write(self)
        return self

    # --- questions --------------------------------------------------------------------------------------

    def score_samples(self, X: Any, draws: int = 100, return_std: bool = False) -> Any:
        """Log-likelihood of each row, in nats; an estimate by draws of what is hidden where the model has no exact one.

        An estimate by importance is, on average, at most the true one: more draws bring it nearer. A row has the same
        number wherever it stands.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN entries are missing, where the model takes them.
        draws : int
            Draws of what is hidden for each row.
        return_std : bool
            Whether the standard error of each number is returned too; that of a single draw is infinite.

        Returns
        -------
        array of shape (n_samples,), or two of them

        """
        check_is_fitted(self)
        rows, model = self._question(X, least=1)
        found, errors = self._estimates(model, rows, check_count("draws", draws))
        check_answers(found, logarithms=True)
        check_errors(errors)
        found, errors = (each.astype(rows.X.dtype, copy=False) for each in (found, errors))
        return (found, errors) if return_std else found

    def sample(self, n_samples: int = 1) -> np.ndarray:
        """Draw points from the fitted model."""
        return check_answers(np.asarray(super().sample(n_samples), np.float64))

    def _ask(self, X: Any, question: Callable[[Any, Batch], Any]) -> np.ndarray:
        return check_answers(super()._ask(X, question), logarithms=True)

    def _own_rows(self, count: int) -> tuple[np.ndarray, dict[str, Any]]:
        return super()._own_rows(min(count, self._usual_rows))

    def _row_surprises(self, X: Any) -> np.ndarray:
        """Raise: a network has no likelihood of a part of a row."""
        raise ValueError(f"{type(self).__name__} cannot leave out an entry of a row: it has no surprise of its own.")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Average log-likelihood of the rows, in nats."""
        check_is_fitted(self)
        rows, model = self._question(X, sample_weight, least=1)
        return float(check_answers(np.asarray(self._mean_score(model, rows, 100)[0]), logarithms=True))

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
    def _rule(self) -> Epochs:
        if self._takes_all_epochs:
            return Epochs(self.max_iter, keeps_best=False)
        return Epochs(self.max_iter, self.n_iter_no_change, self.tol)

    @property
    def _trees(self) -> tuple[str, ...]:  # type: ignore[override]
        beside = ("last_network_",) if hasattr(self, "unfinished_") else ()
        return ("network_", "optimizer_state_", "memory_", *beside)

    def _forget(self, on_stream: bool) -> None:
        """Begin anew, with a table or with a stream: what an earlier fit has left goes, and there is a new seed."""
        for name in (*self._trees, *_OF_A_FIT):
            self.__dict__.pop(name, None)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))

    def _validate_once(self) -> None:
        before = getattr(self, "_checked", None)
        super()._validate_once()
        if self._checked is not before and hasattr(self, "network_"):
            self._check_goes_on()

    def _check_goes_on(self) -> None:
        """Raise unless what was fitted can learn from rows, and is the network that the parameters describe."""
        self._check_learns()
        check_trees(self)

    def _plan(self, steps: int) -> None:
        """Prepare the learner for so many steps from now on, where it has to know how many there will be."""

    def _place(self, data: Any, rule: Epochs, unfinished: dict[str, Any] | None = None) -> Place:
        """Return the place to go on from, or to begin at."""
        if not hasattr(self, "network_"):
            network = as_numpy(self._network(data.start(), jax.random.key(self.seed_)))
            return begin(self._learner, network, data, rule, self.seed_)
        counts = self.n_steps_, self.n_points_seen_, self.learning_curve_
        if unfinished is not None:
            last = self.__dict__.pop("last_network_")
            return place_of(unfinished, last, self.network_, self.optimizer_state_, self.memory_, counts)
        step, points, curve = counts
        state = self.optimizer_state_, (self.memory_,)
        return Place(self.network_, *state, step=step, points=points, rule=rule.init(), curve=curve)

    def _hold(self, place: Place) -> None:
        """Hold a place as attributes_."""
        for name in ("unfinished_", "last_network_"):
            self.__dict__.pop(name, None)
        place = as_numpy(place)
        self.network_, self.optimizer_state_, (self.memory_,) = place.found, place.state, place.memories
        self.n_steps_, self.n_points_seen_, self.learning_curve_ = place.step, place.points, place.curve
        self.n_batches_seen_ = place.step

    def _hold_fit(self, place: Place, history: History, reason: str) -> None:
        """Hold a fit that has ended as attributes_; one that was stopped can go on."""
        self._hold(place)
        self.__dict__.pop("prequential_", None)  # epochs see rows again
        if reason == STOPPED:
            self.last_network_, self.unfinished_ = as_numpy(place.model), history.unfinished(place)
        self.n_iter_, self.converged_ = len(history.bounds), reason == NO_GAIN
        self.lower_bounds_ = list(history.bounds)
        self.validation_scores_, self.validation_errors_ = list(history.scores), list(history.errors)
        self.lower_bound_ = history.bounds[-1] if history.bounds else -np.inf

    def _tree_shapes(self) -> dict[str, Any]:
        """Return the trees that the parameters describe, with shapes in the place of arrays: nothing is allocated."""
        row = jax.ShapeDtypeStruct((1, self.n_features_in_), self.dtype)
        with computing(self._bits):
            key, learner = jax.random.key(0), self._learner

            def state_of(model: Any, values: Any) -> Any:
                return learner.init(model, lambda: Batch(values))

            def memory_of(model: Any, values: Any) -> Any:
                return learner.memory(model, lambda: Batch(values), key)

            network = self._network_shapes(row)
            state = eqx.filter_eval_shape(state_of, network, row)
            memory = eqx.filter_eval_shape(memory_of, network, row)
        return {"network_": network, "optimizer_state_": state, "memory_": memory, "last_network_": network}

    def _network_shapes(self, row: Any) -> Any:
        """Return a network for rows of this shape, with shapes in the place of arrays."""
        return eqx.filter_eval_shape(lambda values: self._network(Batch(values), jax.random.key(0)), row)

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

    def _estimates(self, model: Any, rows: Rows, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(v) of each row, with its standard error."""
        self._check_missing(rows)
        return estimate_rows(model, functools.partial(self._batch, rows), len(rows), draws, self.seed_, self._bits)

    def _validation_score(self, model: Any, rows: Rows) -> tuple[float, float]:
        """Return the mean of what says which epoch was best, over rows that are not learned from, and its error."""
        return self._mean_score(model, rows, self._validation_draws)

    def _mean_score(self, model: Any, rows: Rows, draws: int) -> tuple[float, float]:
        """Return the mean log-likelihood of rows, and its standard error as another draw of rows would have it."""
        return mean_of_rows(self._estimates(model, rows, draws)[0], rows)


def _check_entries(rows: Rows) -> None:
    """Raise if a network would begin with a table that says nothing."""
    if rows.missing and np.isnan(rows.X).all():
        raise ValueError("X has no entries: all are missing (NaN), so begin with other rows.")


def mean_of_rows(scores: np.ndarray, rows: Rows) -> tuple[float, float]:
    """Return the mean of numbers of rows by their weights, and its standard error as another draw would have it."""
    weight = np.ones(len(scores)) if rows.weight is None else rows.weight
    mean, share = float(np.average(scores, weights=weight)), weight / weight.sum()
    return mean, float(np.sqrt(np.sum(np.square(share * (scores - mean)))))
