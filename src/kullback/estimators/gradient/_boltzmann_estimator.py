"""What estimators of restricted Boltzmann machines have in common, whatever their visible units are."""

import abc
import warnings
import zlib
from collections import OrderedDict
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kullback.core import Batch
from kullback.estimators._count import check_count
from kullback.estimators._model_estimator import all_or_nothing
from kullback.estimators.constraints import Interval
from kullback.estimators.data._rows import Rows
from kullback.estimators.gradient._check import check_answers, check_errors
from kullback.estimators.gradient._estimator import GRADIENT_CONSTRAINTS, GradientEstimator
from kullback.estimators.gradient._history import History
from kullback.learning import LIMIT, AveragedIterates, ContrastiveDivergence, Place, adaptive_jit
from kullback.models import MOST_SPREAD, RestrictedBoltzmannMachine, untrusted
from kullback.runtime import as_numpy, computing

#: What every constructor takes.
BOLTZMANN_CONSTRAINTS: dict[str, list[Any]] = {
    **{name: GRADIENT_CONSTRAINTS[name] for name in ("batch_size", "learning_rate", "dtype", "warm_start")},
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "n_iter": [Interval(Integral, 1, None, closed="left")],
    "n_chains": [Interval(Integral, 1, None, closed="left")],
    "n_gibbs": [Interval(Integral, 1, None, closed="left")],
    "persistent": ["boolean"],
    "centered": ["boolean"],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
#: Temperatures of annealing, and how many constants are kept.
_TEMPERATURES, _KEPT = 1000, 8
#: The part of what independent columns have that a fit may lose before it is said to have diverged.
_LOST = 0.1
#: The average of a stream is that of about a fifth of so many steps.
_HORIZON = 1000.0
#: Rows that say what independent columns have, about.
_LOOKED_AT = 4096


class Constant(NamedTuple):
    """log Z, with its standard error, and the standard deviation of the log weights that it comes from."""

    value: float
    error: float
    spread: float


class BoltzmannEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GradientEstimator):
    """A restricted Boltzmann machine. A subclass says what its visible units are."""

    _takes_missing: ClassVar[bool] = True
    #: `fit` takes all of its epochs: nothing is kept for validation, and the last machine is the one that is kept.
    _takes_all_epochs: ClassVar[bool] = True
    _foretells: ClassVar[bool] = False  # log Z has an error that rows share
    validation_fraction: ClassVar[float] = 0.0
    n_iter_no_change: ClassVar[None] = None
    tol: ClassVar[float] = 0.0

    # --- what a subclass says ---------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def _damping(self) -> float | None:
        """The damping of the natural gradient; None for the gradient."""

    @abc.abstractmethod
    def _nats_of_columns(self, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return the mean log-likelihood of each column with these moments, by itself."""

    # --- learning ---------------------------------------------------------------------------------------

    @property
    def max_iter(self) -> int:
        """How many epochs a fit has: `n_iter`, by the name that other networks have for it."""
        return int(self.n_iter)

    @property
    def _learner(self) -> AveragedIterates[Any, Any, Any]:
        planned = getattr(self, "schedule_", None)
        first, steps = planned or (0, np.inf)
        walk = ContrastiveDivergence(
            float(self.learning_rate),
            float(steps),
            float(first),
            int(self.n_chains),
            int(self.n_gibbs),
            bool(self.persistent),
            bool(self.centered),
            self._damping,
        )
        return AveragedIterates(walk, first=float(first), horizon=np.inf if planned else _HORIZON)

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go through the rows of X once, in their order: a step for each `batch_size` of them, at a rate that stays.

        There may be any number of rows: each phase is divided by its own count. The parameters are those of `fit`. A
        call that raises leaves the estimator as it was.
        """
        self.__dict__.pop("schedule_", None)
        return super().partial_fit(X, y, sample_weight)

    def _forget(self, on_stream: bool) -> None:
        super()._forget(on_stream)
        for name in ("schedule_", "gibbs_calls_"):
            self.__dict__.pop(name, None)

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        train, held = super()._split(rows)
        self._independent = self._score_of_columns(train)
        if self._callback.resume_from is None or not hasattr(self, "schedule_"):
            self._plan(int(self.n_iter) * -(-len(train) // int(self.batch_size)))
        return train, held

    def _plan(self, steps: int) -> None:
        self.schedule_ = [int(getattr(self, "n_steps_", 0)), steps]

    def _hold_fit(self, place: Place, history: History, reason: str) -> None:
        super()._hold_fit(place._replace(best=None), history, reason)
        self.converged_ = reason == LIMIT  # at the end of the schedule, where the rate is 0
        alone = self.__dict__.pop("_independent", -np.inf)
        if reason == LIMIT:
            self._check_gained(alone)

    def _score_of_columns(self, rows: Rows) -> float:
        """Return the mean log-likelihood of rows, or of some of them, under independent columns of their own."""
        some = slice(None, None, max(1, len(rows) // _LOOKED_AT))
        X, weight = rows.X[some].astype(float), np.ones(len(rows)) if rows.weight is None else rows.weight
        there = weight[some, None] * ~np.isnan(X)
        mass = np.sum(there, axis=0)
        share = there / np.where(mass > 0, mass, 1)
        mean = np.sum(share * np.nan_to_num(X), axis=0)
        variance = np.sum(share * np.square(np.nan_to_num(X - mean)), axis=0)
        return float(self._nats_of_columns(mean, variance) @ mass / max(np.sum(weight[some]), np.finfo(float).tiny))

    def _check_gained(self, alone: float) -> None:
        """Warn where a fit has ended far below independent columns: its numbers are finite."""
        ended = self.lower_bounds_[-1]
        if ended < alone - _LOST * (1 + abs(alone)):
            self.converged_ = False
            warnings.warn(
                f"The fit has diverged: after step {self.n_steps_:,} its rows have {ended:.6g} nats each, and "
                f"{alone:.6g} as independent columns, so try a smaller learning_rate.",
                ConvergenceWarning,
                stacklevel=5,  # the line that calls `fit`
            )

    # --- questions --------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Return the probabilities of hidden units given each row; of missing entries guesses of means are seen."""
        return self._ask(X, _hidden_means)

    def gibbs(self, v: Any) -> np.ndarray:
        """Return rows after one step of Gibbs sampling: hidden units given v, then visible ones given these.

        Another call draws again: calls are counted from the fit on.
        """
        check_is_fitted(self)
        calls = getattr(self, "gibbs_calls_", 0)
        rows, model = self._question(v, least=1)
        batch = self._batch(rows, np.arange(len(rows)))
        with computing(self._bits):
            key = jax.random.fold_in(jax.random.key(self.seed_), calls)
            found = check_answers(np.asarray(_sweep(model, batch, key), np.float64))
        self.gibbs_calls_ = calls + 1
        return found

    def log_partition(self, draws: int = 100) -> tuple[float, float]:
        """Return log Z and its standard error: 0 where a layer has up to 20 binary units, whose states are counted.

        Otherwise it is annealed importance sampling with so many chains; where these tell too little a warning says
        that the number is not to be trusted.
        """
        constant = self._constant(self.to_model(), check_count("draws", draws))
        return check_answers(constant.value), check_errors(constant.error)

    def _estimates(self, model: Any, rows: Rows, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(v) of each row: log Z is found once for all of them."""
        constant = self._constant(model, draws)
        if rows.missing and not _sums_out(model):
            found, errors = super()._estimates(_Unnormalized(model), rows, draws)
        else:
            wide, found = _in_64_bits(model), np.empty(len(rows))
            for here, batch in rows.batches_with_places():
                with computing():
                    found[here] = np.asarray(_unnormalized(wide, batch))[: here.stop - here.start]
            errors = np.zeros(len(rows))
        return found - constant.value, np.hypot(errors, constant.error)

    def _row_surprises(self, X: Any) -> np.ndarray:
        return np.asarray(self._answers(X, None, _surprises)[1], np.float64)

    def _constant(self, model: Any, draws: int) -> Constant:
        parts = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves(as_numpy(model))]
        name = (zlib.crc32(b"".join(part.tobytes() for part in parts)), parts[0].shape, draws, self._bits)
        if name not in _constants:
            _constants[name] = _find_constant(model, draws, self.seed_, self._bits)
            while len(_constants) > _KEPT:
                _constants.popitem(last=False)
        constant = _constants[name]
        if constant.spread > MOST_SPREAD:
            warnings.warn(untrusted(constant.spread), ConvergenceWarning, stacklevel=4)
        return constant

    # --- attributes_ that scikit-learn's class has ----------------------------------------------------------

    @property
    def components_(self) -> np.ndarray:
        """The weights, a row for each hidden unit."""
        return np.asarray(self._held().weights).T

    @property
    def intercept_hidden_(self) -> np.ndarray:
        """The biases of hidden units."""
        return np.asarray(self._held().hidden_bias)

    @property
    def intercept_visible_(self) -> np.ndarray:
        """The biases of visible units."""
        return np.asarray(self._held().visible_bias)

    @property
    def h_samples_(self) -> np.ndarray | None:
        """The hidden units of the persistent chains; None where chains begin at the data."""
        self._held()
        return None if self.memory_.hidden is None else np.asarray(self.memory_.hidden)

    @property
    def path_log_partition_(self) -> tuple[float, float]:
        """Log Z as the chains beside the training know it, with its standard error: what the curve is made with.

        It is that of the machine after the last step, and not of the average of machines that is kept. The error is
        infinite where the machine has moved too far for them: see `curve_is_likelihood_`.
        """
        self._held()
        if self.memory_.path is None:
            return 0.0, np.inf
        with computing(self._bits):
            found = self.memory_.path.log_partition_estimate
        return float(found.value), float(found.standard_error)

    @property
    def curve_is_likelihood_(self) -> bool:
        """Whether `learning_curve_` and `lower_bounds_` are log-likelihoods to their end.

        A large machine at a large rate may move too far for the chains that know log Z: from then on they are
        pseudo-likelihoods of binary columns, and `score` is asked for likelihoods. Of Gaussian columns they are not to
        be trusted then.
        """
        return bool(np.isfinite(self.path_log_partition_[1]))

    @property
    def lower_bound_errors_(self) -> list[float]:
        """A standard error for each of `lower_bounds_`: that of log Z at the end, for errors add up in a fit."""
        if not self.curve_is_likelihood_:
            return []
        return [self.path_log_partition_[1]] * len(getattr(self, "lower_bounds_", ()))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    # --- inside -----------------------------------------------------------------------------------------

    def _held(self) -> RestrictedBoltzmannMachine:
        check_is_fitted(self)
        network: RestrictedBoltzmannMachine = self.network_
        return network

    def _read_table(self, X: Any, first: bool, learns: bool, least: int) -> np.ndarray:
        if scipy.sparse.issparse(X):
            X = X.toarray()
        return super()._read_table(X, first, learns, least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Unnormalized(NamedTuple):
    """A machine whose estimates lack log Z, for rows whose missing entries have to be summed out by chains."""

    machine: Any

    def estimate_log_likelihood(self, batch: Batch, key: Any, draws: int) -> Any:
        return self.machine.estimate_unnormalized(batch, key, draws)


#: Constants of the machines that were asked last, by a checksum of their numbers.
_constants: OrderedDict[Any, Constant] = OrderedDict()


def _find_constant(model: RestrictedBoltzmannMachine, draws: int, seed: int, bits: int) -> Constant:
    if model.enumerable:
        with computing():
            return Constant(float(_exact_log_partition(_in_64_bits(model))), 0.0, 0.0)
    with computing(bits):
        value, error, spread = _annealed_log_partition(model, jax.random.key(seed), draws)
    return Constant(float(value), float(error), float(spread))


def _in_64_bits(model: RestrictedBoltzmannMachine) -> RestrictedBoltzmannMachine:
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), as_numpy(model))


def _sums_out(model: RestrictedBoltzmannMachine) -> bool:
    """Whether missing entries are summed out by going through the states of hidden units."""
    return len(model.hidden_bias) <= 14


def moments(start: Batch, dtype: Any) -> tuple[Any, Any]:
    """Return means and standard deviations of columns, of rows that may lack entries."""
    values, weight = jnp.asarray(start.values, dtype), jnp.asarray(start.weight, dtype)[:, None]
    there = jnp.ones_like(values) if start.observed is None else jnp.asarray(start.observed, dtype)
    mass = jnp.sum(weight * there, axis=0)
    share = jnp.where(mass > 0, weight * there / jnp.where(mass > 0, mass, 1), 0)
    values = jnp.where(there > 0, values, 0)
    means = jnp.sum(share * values, axis=0)
    return means, jnp.sqrt(jnp.sum(share * jnp.square(values - means), axis=0))


@adaptive_jit
def _hidden_means(model: Any, batch: Batch) -> Any:
    v = model.as_visible(batch.values)
    filled = v if batch.observed is None else model.fill(v, batch.observed)
    return jax.nn.sigmoid(model.hidden_logits(filled))


@adaptive_jit
def _sweep(model: Any, batch: Batch, key: Any) -> Any:
    v = model.as_visible(batch.values)
    return model.sweep(key, v if batch.observed is None else model.fill(v, batch.observed))


@adaptive_jit
def _surprises(model: Any, batch: Batch) -> Any:
    return model.surprises(batch)


@adaptive_jit
def _unnormalized(model: Any, batch: Batch) -> Any:
    return model.unnormalized(batch)


_exact_log_partition = jax.jit(lambda model: model.exact_log_partition())


def _anneal(model: Any, key: Any, draws: int) -> Any:
    found = model.anneal_log_partition(key, draws, _TEMPERATURES)
    return found.value, found.standard_error, found.spread


_annealed_log_partition = jax.jit(_anneal, static_argnums=2)
