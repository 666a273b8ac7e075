"""Helmholtz machines: layers of binary units that generate rows, and a network that recognizes them."""

import zlib
from numbers import Integral, Real
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from kullback import models
from kullback.core import Batch
from kullback.estimators.constraints import Interval, StrOptions
from kullback.estimators.gradient._estimator import GRADIENT_CONSTRAINTS, GradientEstimator
from kullback.estimators.gradient._row_estimates import estimate_surprises
from kullback.learning import (
    AveragedIterates,
    Gradient,
    Learner,
    NaturalWakeSleep,
    Optimizer,
    ReweightedWakeSleep,
    WakeSleep,
    adaptive_jit,
    decaying_adam,
)
from kullback.runtime import computing

#: Rates to begin with: that of the natural gradient, and Adam's, which falls as (1 + steps / 400)^−0.7.
_NATURAL_RATE, _NATURAL_POWER = 0.3, 0.7  # of averaged steps
_ADAM_RATE, _ADAM_DELAY, _ADAM_POWER, _ADAM_B2 = 0.02, 400.0, 0.7, 0.99
#: Hidden layers of a machine at most.
_MOST_LAYERS = 64
#: Entries that are named in a sentence at most.
_SHOWN = 3


class HelmholtzMachine(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GradientEstimator):
    """Layers of binary units for tables of 0 and 1, such as black-and-white images: drawn from the top layer down.

    A second network goes the other way, and guesses what is hidden of a row. Both learn together: "wake-sleep" lets
    data teach the first and dreams the second; "reweighted" weighs several guesses for each row by how well they
    explain it; "natural" follows the same gradients by the Fisher metric of the layers, which takes a fraction of the
    steps to begin with.

    Parameters
    ----------
    hidden : sequence of int, or int
        Units of each hidden layer, the lowest first.
    method : "natural", "reweighted" or "wake-sleep"
        How it learns.
    draws : int or None
        Guesses of what is hidden for each row of a step; None is 10, and 1 for wake-sleep. A single one has nothing to
        be weighed against, so the other methods refuse 1.
    binarize : None, float, "threshold" or "sample"
        What makes entries 0 or 1. None: they must be. A number: entries above it are 1. Of entries in [0, 1]:
        "threshold" makes those above ½ 1, and "sample" draws each with its value for the probability: once for all
        epochs of a fit, anew for each call of `partial_fit`, and for a question about the same table alike.
    learning_rate : float or None
        The rate to begin with; None is 0.3 for "natural" and 0.02 for the others, which use Adam. Rates decay.
    damping : float
        What is added to the metric of "natural", whose rate must not be above it.
    fisher : "data" or "model"
        Whether the metric of "natural" is that of weighted guesses for data, or of dreams.
    inertia : float
        The share of each step of `partial_fit` that the machine dreams, as it was when the call began: the pull
        towards what was learned before. 0 is none.
    max_iter, batch_size, validation_fraction, n_iter_no_change, tol
        Epochs at most, rows of a step, the part of the rows that says when to end, and for how many epochs that part
        may gain less than `tol` nats per row.
    dtype : "float32" or "float64"
        In which numbers it learns.
    warm_start, random_state, verbose
        As in scikit-learn.

    Attributes
    ----------
    network_ : kullback.models.HelmholtzMachine
        Both networks. `generation_`, `recognition_` and `top_` are its matrices, with biases in their last rows.
    n_iter_, n_steps_, learning_curve_, lower_bounds_, validation_scores_, validation_errors_
        As in all estimators that learn by gradients: the curve is in nats per row, the bound of as many draws.
    combination_excess_ : tuple of two floats
        Of a machine that `combine` has made: how far it is from the mixture of those that were combined, in nats per
        row, and the standard error.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 100, axis=0)
    >>> machine = HelmholtzMachine(hidden=(2,), n_iter_no_change=3, random_state=0).fit(X)
    >>> bool(machine.score(X) > -1.0)  # the best is −log 2
    True
    >>> machine.impute([[1, np.nan, 0, np.nan]], method="mean").round().tolist()
    [[1.0, 1.0, 0.0, 0.0]]

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GRADIENT_CONSTRAINTS,
        "hidden": ["array-like", Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"natural", "reweighted", "wake-sleep"})],
        "draws": [Interval(Integral, 1, None, closed="left"), None],
        "binarize": [StrOptions({"threshold", "sample"}), Interval(Real, None, None, closed="neither"), None],
        "learning_rate": [Interval(Real, 0.0, None, closed="neither"), None],
        "damping": [Interval(Real, 0.0, None, closed="neither")],
        "fisher": [StrOptions({"data", "model"})],
        "inertia": [Interval(Real, 0.0, 1.0, closed="left")],
    }

    def __init__(
        self,
        hidden: Any = (200, 100, 50),
        *,
        method: str = "natural",
        draws: int | None = None,
        binarize: Any = None,
        learning_rate: float | None = None,
        damping: float = 0.3,
        fisher: str = "data",
        inertia: float = 0.0,
        max_iter: int = 100,
        batch_size: int = 32,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-3,
        dtype: str = "float32",
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.hidden = hidden
        self.method = method
        self.draws = draws
        self.binarize = binarize
        self.learning_rate = learning_rate
        self.damping = damping
        self.fisher = fisher
        self.inertia = inertia
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.dtype = dtype
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    _families = "bernoulli"
    _takes_missing: ClassVar[bool] = True
    _validation_draws: ClassVar[int] = 20

    # --- the network, and how it learns -----------------------------------------------------------------

    def _network(self, start: Batch, key: Any) -> models.HelmholtzMachine:
        there = jnp.ones_like(start.values) if start.observed is None else jnp.asarray(start.observed, self.dtype)
        weight = there * jnp.asarray(start.weight, self.dtype)[:, None]
        values = jnp.where(there > 0, jnp.asarray(start.values, self.dtype), 0)
        means = jnp.sum(weight * values, axis=0) / jnp.maximum(jnp.sum(weight, axis=0), 1e-30)
        means = jnp.where(jnp.sum(weight, axis=0) > 0, means, 0.5)  # a column without entries
        return models.HelmholtzMachine.start(means, self._layers, key, self.dtype)

    @property
    def _layers(self) -> tuple[int, ...]:
        return tuple(int(units) for units in np.ravel(self.hidden))

    @property
    def _learner(self) -> Learner[Any, Any, Any, Any]:
        natural, sleeps = self.method == "natural", self.method == "wake-sleep"
        draws = self.draws or (1 if sleeps else 10)
        rate = self.learning_rate or (_NATURAL_RATE if natural else _ADAM_RATE)
        if natural:
            streams = getattr(self, "began_with_stream_", False)
            batch = float(self.batch_size)
            step = NaturalWakeSleep(
                rate,
                power=_NATURAL_POWER,
                damping=self.damping,
                draws=draws,
                fisher=self.fisher,
                batch=batch,
                streams=streams,
                row_weight=getattr(self, "row_weight_", 1.0),
            )
            return AveragedIterates(step)
        numbers = {"learning_rate": rate, "delay": _ADAM_DELAY, "power": _ADAM_POWER, "b2": _ADAM_B2}
        objective = WakeSleep(draws) if sleeps else ReweightedWakeSleep(draws)
        return Gradient(objective, Optimizer(decaying_adam, **numbers))

    @property
    def _inertia(self) -> float:
        return float(self.inertia)

    def _forget(self, on_stream: bool) -> None:
        super()._forget(on_stream)
        # of a table the metric of the visible layer is known beforehand; that of a stream is followed
        self.began_with_stream_ = on_stream

    # --- questions --------------------------------------------------------------------------------------

    def transform(self, X: Any, layer: int = -1) -> np.ndarray:
        """Return the probabilities of hidden units, as the recognition network guesses them from the layer below.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; of missing entries the network sees what the machine expects.
        layer : int
            Which hidden layer: 0 is the lowest, −1 the top one.

        Returns
        -------
        array of shape (n_samples, units)

        """
        place = self._check_layer(layer)
        return self._ask(X, _upward_means)[:, slice(*self._ends[place : place + 2])]

    def inverse_transform(self, X: Any, layer: int = -1) -> np.ndarray:
        """Return the probabilities of entries, given those of the units of a hidden layer."""
        place = self._check_layer(layer)
        units = check_array(X, dtype=np.float64)
        expected = self.network_.sizes[1 + place]
        if units.shape[1] != expected:
            raise ValueError(f"X has {units.shape[1]} columns: hidden layer {layer} has {expected} units.")
        if ((units < 0) | (units > 1)).any():
            raise ValueError("X has entries outside of [0, 1]: units are 0 or 1, or probabilities of 1.")
        with computing(self._bits):
            found = self.network_.downward_means(units.astype(self.dtype), place + 1)
        return np.asarray(found, np.float64)

    def _row_surprises(self, X: Any) -> np.ndarray:
        rows, found = self._answers(X, None, estimate_surprises)
        return np.where(np.isnan(rows.X), np.nan, found.astype(np.float64))

    @property
    def generation_(self) -> tuple[Any, ...]:
        """The matrices of the network that generates: entry i leads from hidden layer i to the layer below it."""
        return self._held().generation

    @property
    def recognition_(self) -> tuple[Any, ...]:
        """The matrices of the network that recognizes: entry i leads to hidden layer i from the layer below it."""
        return self._held().recognition

    @property
    def top_(self) -> Any:
        """The log odds of the units of the top layer."""
        return self._held().top

    @property
    def _n_features_out(self) -> int:
        return int(self._held().sizes[-1])

    # --- what entries may be ------------------------------------------------------------------------------

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if isinstance(self.binarize, str):
            _refuse(
                X,
                (X < 0) | (X > 1),
                "must be in [0, 1]: scale them (divide pixels by 255), or set binarize to a number",
            )
            if self.binarize == "threshold":
                return _above(X, 0.5)
            return np.where(np.isnan(X), X, (self._thresholds(X) < X).astype(X.dtype))
        if self.binarize is not None:
            return _above(X, float(self.binarize))
        _refuse(X, (X != 0) & (X != 1), "must be 0 or 1, unless binarize is a number above which they count as 1")
        return X

    def _thresholds(self, X: np.ndarray) -> np.ndarray:
        """Return numbers in [0, 1), by which entries are drawn.

        They follow from the seed of the fit, the table and the steps until then, so that a fit that was stopped goes on
        with the same rows, and the parts of a stream have others.
        """
        steps = getattr(self, "n_steps_", 0) if self._callback.resume_from is None else 0
        table = zlib.crc32(np.ascontiguousarray(X, np.float64).tobytes())
        return np.random.default_rng([self.seed_, steps, table]).random(X.shape)

    def _validate_params(self) -> None:
        super()._validate_params()
        if isinstance(self.binarize, (bool, np.bool_)):
            raise ValueError(
                f"binarize is {self.binarize}: give the number above which entries are 1, such as 0.5, 'threshold' or "
                "'sample', or None where they are 0 or 1."
            )
        layers = np.asarray(self.hidden, dtype=object)
        counts = [
            units for units in layers.flat if isinstance(units, (int, np.integer)) and not isinstance(units, bool)
        ]
        whole = len(counts) == layers.size and all(units >= 1 for units in counts)
        if not 1 <= layers.size <= _MOST_LAYERS or layers.ndim > 1 or not whole:
            raise ValueError(
                f"hidden is {str(self.hidden)[:80]}: it must name the units of one hidden layer or more, at most "
                f"{_MOST_LAYERS}, such as (200, 100)."
            )
        if self.draws == 1 and self.method != "wake-sleep":
            raise ValueError(
                f"draws is 1, and {self.method!r} weighs several draws against each other: take 2 or more, such as 10; "
                "only wake-sleep takes 1."
            )
        rate = _NATURAL_RATE if self.learning_rate is None else self.learning_rate
        if self.method == "natural" and rate > self.damping:
            raise ValueError(
                f"learning_rate is {rate:g} and damping {self.damping:g}: a natural rate above the damping is unsafe, "
                "so lower the one or raise the other."
            )

    # --- inside -----------------------------------------------------------------------------------------

    def _held(self) -> models.HelmholtzMachine:
        check_is_fitted(self)
        network: models.HelmholtzMachine = self.network_
        return network

    @property
    def _ends(self) -> list[int]:
        """Where the units of hidden layers begin and end among those of all of them."""
        return [0, *np.cumsum(self.network_.sizes[1:]).tolist()]

    def _check_layer(self, layer: Any) -> int:
        count = len(self._held().generation)
        if not isinstance(layer, (int, np.integer)) or not -count <= layer < count:
            raise ValueError(f"layer is {layer!r}: the machine has {count} hidden layers, from 0, or −{count}, on.")
        return int(layer) % count


def _above(X: np.ndarray, threshold: float) -> np.ndarray:
    return np.where(np.isnan(X), X, (threshold < X).astype(X.dtype))


def _refuse(X: np.ndarray, bad: np.ndarray, must_be: str) -> None:
    """Raise if an entry that is there is bad."""
    bad = bad & ~np.isnan(X)
    if bad.any():
        found = ", ".join(map(_as_text, np.unique(X[bad])[:_SHOWN]))
        raise ValueError(f"X has entries such as {found}: they {must_be}.")


def _as_text(value: float) -> str:
    """Return a number in few digits, unless it looks like 0 or 1 in them."""
    short = f"{value:g}"
    return repr(float(value)) if short in ("-0", "0", "1") else short


@adaptive_jit
def _upward_means(model: Any, batch: Batch) -> Any:
    values = batch.values if batch.observed is None else model.fill(batch.values, batch.observed)
    return jnp.concatenate(model.upward_means(values), axis=-1)
