"""Networks at the front door: epochs, a part that is held out, and the best epoch."""

import functools
import itertools
import warnings
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kullback.core import Batch
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._progress import Progress
from kullback.estimators.data._pairs import Pairs
from kullback.estimators.gradient._history import History
from kullback.learning import (
    LIMIT,
    NO_GAIN,
    AllAtOnce,
    Epochs,
    Gradient,
    Minibatches,
    NaturalGradient,
    Optimizer,
    Place,
    StepInfo,
    adaptive_jit,
    begin,
    fit,
    negative_log_likelihood,
)
from kullback.models import Conditional, MixtureKind, Network, ensemble, even_mixture
from kullback.runtime import as_numpy, computing, filter_jit, light_jit

#: Epochs at most, the rate of Adam, and the gain in nats per row that is none, where no numbers are given.
_MAX_ITER, _RATE, _TOLERANCE = 300, 1e-3, 1e-4
#: The most numbers that the layers of a network in a file may have.
_MOST = 1 << 27
#: Layers and components of one in a file at most.
_MOST_LAYERS, _MOST_COMPONENTS = 256, 1024
#: Networks of an ensemble at most.
_MOST_MEMBERS = 1024
#: The share of their spread that targets may lose by rounding.
_LOST = 0.05
#: The longest range of targets in 32 bits; the shortest one is its inverse. Logarithms of scales lie between ±40.
_FARTHEST = 1e15
#: Rows that are scored at once.
_SCORED = 4096


class NetworkMethod:
    """Free coordinates that a neural network answers with."""

    arrays: ClassVar[tuple[str, ...]] = ()
    trees: ClassVar[tuple[str, ...]] = ("network_", "optimizer_state_")
    settings: ClassVar[tuple[str, ...]] = ("n_components", "hidden_layer_sizes", "solver", "dtype")

    def check(self, estimator: Any) -> None:
        """Raise where parameters do not go with this method."""
        sizes = list(np.ravel(estimator.hidden_layer_sizes))
        if any(not isinstance(size, (int, np.integer)) or not 1 <= size <= _MOST for size in sizes):
            raise ValueError(
                f"hidden_layer_sizes is {estimator.hidden_layer_sizes!r}: each layer has a whole number of units, 1 or "
                f"more and at most {_MOST:,}."
            )

        if len(sizes) + 2 > _MOST_LAYERS or estimator._components > _MOST_COMPONENTS:
            raise ValueError(
                f"A network has at most {_MOST_LAYERS - 2} hidden layers and {_MOST_COMPONENTS} components."
            )

    def fit(self, estimator: Any, pairs: Pairs) -> None:
        """Train epoch by epoch until the part that is held out gains no more."""
        _check_precision(estimator, pairs.targets)
        learned, held = pairs.split(estimator.validation_fraction, estimator.seed_)
        learner, data = self._learner(estimator), self._data(estimator, learned)
        epochs = estimator.max_iter or _MAX_ITER
        rule = Epochs(epochs, estimator.n_iter_no_change, _TOLERANCE if estimator.tol is None else estimator.tol)
        with Progress(estimator.verbose, epochs) as progress:
            progress.begin(0)
            history = History(progress)

            def validate(model: Any) -> float:
                history.scores.append(self._mean_score(estimator, model, held))
                return history.scores[-1]

            place, reason = fit(
                learner,
                self._place(estimator, learned, learner, data, rule),
                data,
                rule,
                validate=validate if len(held) else None,
                record=history.add,
                callback=history.close,
                seed=estimator.seed_,
            )
            history.close(place)
            progress.end(reason == NO_GAIN)
        bounds = history.bounds
        if not bounds:
            raise ValueError("The first step has led to numbers that are not finite: scale y, or use dtype='float64'.")
        self._keep(estimator, place)
        if history.scores:
            estimator.validation_scores_ = history.scores
        FitRecord(reason == NO_GAIN, len(bounds), bounds[-1], bounds, learned.mass, place.step).write(estimator)
        if reason == LIMIT and len(held):
            reason = f"The network still gains after max_iter = {epochs} epochs: increase max_iter, or tol."
        if reason not in (NO_GAIN, LIMIT):
            warnings.warn(reason, ConvergenceWarning, stacklevel=4)  # the line that calls `fit`

    def partial_fit(self, estimator: Any, pairs: Pairs, first: bool) -> None:
        """Go through some more rows once, in their order, a step for each `batch_size` of them."""
        if first:
            _check_precision(estimator, pairs.targets)
        rule = Epochs(1)
        learner, data = self._learner(estimator), self._data(estimator, pairs, shuffle=False)
        seen: list[StepInfo] = []
        place = self._place(estimator, pairs, learner, data, rule)
        place, _ = fit(learner, place, data, rule, record=seen.extend, seed=estimator.seed_)
        if not all(info.finite for info in seen):
            raise ValueError("A step has led to numbers that are not finite: try a smaller learning_rate.")
        self._keep(estimator, place)
        mass = sum(info.mass for info in seen)
        value = sum(info.value * info.mass for info in seen) / mass
        record = FitRecord.of(estimator)._replace(lower_bound=float(value), n_points_seen=float(place.points))
        record = record._replace(n_batches_seen=place.step, learning_curve=place.curve)
        (record if first else record.foretell(seen)).write(estimator)

    def to_model(self, estimator: Any) -> Conditional:
        """Return the fitted model."""
        return Conditional(estimator.network_, estimator._kind)

    def free(self, model: Any, matrix: np.ndarray) -> np.ndarray:
        """Return the free coordinates of rows of the design, in one of few sizes."""
        dtype = next(leaf.dtype for leaf in jax.tree.leaves(model.network) if np.ndim(leaf) == 2)
        size = 1 << max(len(matrix) - 1, 15).bit_length()
        rows = np.zeros((size, matrix.shape[1]), dtype)
        rows[: len(matrix)] = matrix
        return np.asarray(_free(model, rows))[: len(matrix)]

    def tree_shapes(self, estimator: Any) -> dict[str, Any]:
        """Return the network and the state of its optimizer that the parameters describe, as shapes."""
        sizes = [estimator._design.width, *self._widths(estimator), estimator._kind.size]
        if sum(a * b + b for a, b in itertools.pairwise(sizes)) > _MOST:
            raise ValueError("its network has more numbers than a file may hold.")
        if len(sizes) > _MOST_LAYERS or estimator._components > _MOST_COMPONENTS:
            raise ValueError(f"its network has more than {_MOST_LAYERS} layers or {_MOST_COMPONENTS} components.")
        members = getattr(estimator, "n_members_", 1)
        if not 1 <= members <= _MOST_MEMBERS:
            raise ValueError(f"n_members_ is {members}: it must be between 1 and {_MOST_MEMBERS}.")
        with computing(estimator._bits):
            network: Any = self._network(estimator, self._plain(estimator))
            if members > 1:
                one = Conditional(network, estimator._targets.kind(estimator._components))
                network = ensemble([one] * members, np.full(members, 1 / members)).network
            like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), network)
            learner = self._learner(estimator)
            model = Conditional(network, estimator._kind)
            state = eqx.filter_eval_shape(lambda: learner.init(model, lambda: None)) if members == 1 else ()
        return {"network_": like, "optimizer_state_": state}

    def n_parameters(self, estimator: Any) -> int:
        """Return the number of weights."""
        model = self.to_model(estimator)
        return sum(np.size(leaf) for leaf in jax.tree.leaves(eqx.filter(model, model.trainable())))

    # --- inside -----------------------------------------------------------------------------------------

    @staticmethod
    def _widths(estimator: Any) -> tuple[int, ...]:
        return tuple(int(size) for size in np.ravel(estimator.hidden_layer_sizes))

    @staticmethod
    def _learner(estimator: Any) -> Any:
        if estimator.solver == "natural":
            return NaturalGradient()
        return Gradient(negative_log_likelihood, Optimizer(learning_rate=estimator.learning_rate or _RATE))

    @staticmethod
    def _data(estimator: Any, pairs: Pairs, shuffle: bool = True) -> Any:
        if estimator.solver == "natural":
            return AllAtOnce(pairs.batch(slice(None), estimator.dtype))
        prepare = functools.partial(pairs.batch, dtype=estimator.dtype)
        return Minibatches(prepare, len(pairs), estimator.batch_size, estimator.seed_, shuffle)

    def _place(self, estimator: Any, pairs: Pairs, learner: Any, data: Any, rule: Epochs) -> Place:
        """Return the place to go on from, or to begin at: the network that answers with the marginal."""
        if not hasattr(estimator, "network_"):
            marginal = estimator._targets.marginal(pairs.targets, pairs.weight)
            if estimator._components > 1:
                whole = ~np.isnan(pairs.targets).any(axis=1)
                weight = None if pairs.weight is None else pairs.weight[whole]
                batch = Batch(pairs.targets[whole], weight)
                with computing():
                    marginal = as_numpy(even_mixture(marginal, estimator._components, batch))
            model = Conditional(self._network(estimator, marginal), estimator._kind)
            return begin(learner, model, data, rule, estimator.seed_)
        record = FitRecord.of(estimator)
        steps, points = record.counts
        curve = np.zeros((0, 4)) if record.learning_curve is None else record.learning_curve
        place = Place(self.to_model(estimator), estimator.optimizer_state_, (None,), rule=rule.init())
        return place._replace(step=steps, points=points, curve=curve)

    def _network(self, estimator: Any, member: Any) -> Network:
        return Network.start(
            member,
            estimator._design.width,
            self._widths(estimator),
            seed=estimator.seed_,
            dtype=np.dtype(estimator.dtype),
        )

    @staticmethod
    def _plain(estimator: Any) -> Any:
        """Return any member or mixture of the kind of the targets."""
        kind, plain = estimator._targets.kind(estimator._components), estimator._targets.plain
        if not isinstance(kind, MixtureKind):
            return plain
        with computing():
            return as_numpy(kind.at("free", np.zeros(kind.size)))

    @staticmethod
    def _keep(estimator: Any, place: Place) -> None:
        place = as_numpy(place)
        estimator.network_, estimator.optimizer_state_ = place.found.network, place.state

    def _mean_score(self, estimator: Any, model: Any, pairs: Pairs) -> float:
        found = []
        for start in range(0, len(pairs), _SCORED):
            places = np.arange(start, min(start + _SCORED, len(pairs)))
            size = min(1 << (len(places) - 1).bit_length(), _SCORED)  # few sizes: few compiled functions
            filled = np.concatenate([places, np.full(size - len(places), places[0])])
            scores = _log_likelihood(model, pairs.batch(filled, estimator.dtype))
            found.append(np.asarray(scores, dtype=np.float64)[: len(places)])
        return float(np.average(np.concatenate(found), weights=pairs.weight))


def _check_precision(estimator: Any, targets: np.ndarray) -> None:
    """Raise where targets cannot be told apart in 32 bits."""
    if estimator.dtype != "float32" or len(targets) < 2:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(targets - targets.astype(np.float32))
        largest, spread = np.fmax.reduce(error), np.nanstd(targets, axis=0)
        alike = np.fmax.reduce(targets) == np.fmin.reduce(targets)  # this is for their family to judge
    if not np.all(alike | (largest <= _LOST * spread)):
        raise ValueError(
            "y loses its differences when it is rounded to float32: subtract a constant or use other units, or "
            "dtype='float64'."
        )
    if not np.all(alike | (spread > 1 / _FARTHEST) & (spread < _FARTHEST)):
        raise ValueError("y spreads too little or too much for float32: use other units, or dtype='float64'.")


@functools.partial(filter_jit, compiler=light_jit)  # every epoch asks for it
def _log_likelihood(model: Any, batch: Batch) -> Any:
    return model.log_likelihood(batch)


@adaptive_jit
def _free(model: Any, inputs: Any) -> Any:
    return model.free(inputs)


METHOD = NetworkMethod()
