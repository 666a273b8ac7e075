"""A recurrent network of spiking units that learns a stream online, without going back in time."""

from numbers import Integral, Real
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kullback.estimators._count import check_count
from kullback.estimators._fit_record import FitRecord
from kullback.estimators.constraints import Interval
from kullback.estimators.data._columns import Shape, check_shape
from kullback.estimators.data._families import chosen_family
from kullback.estimators.data._sequences import padded_steps
from kullback.estimators.mixtures._family_mixture import N_CATEGORIES
from kullback.estimators.process._follow import MOST_ROWS, Carry, Scores, blank_carry, score_rows
from kullback.estimators.process._replicas import AT_ONCE, check_memory, first_replicas, windows_of
from kullback.estimators.process._rows import StreamRows
from kullback.estimators.process._stream_estimator import TO_START, StreamEstimator
from kullback.estimators.process._stream_file import check_columns, check_standing
from kullback.estimators.process._visible_rows import (
    Units,
    blank_member,
    check_column_families,
    embedding_units,
    first_member,
    next_row,
)
from kullback.families import Categorical
from kullback.learning import Followed, Optimizer, ProcessGradient, Standing, StepInfo, follow_windows
from kullback.models import SpikingMemory
from kullback.runtime import as_numpy, computing


class SpikingNetwork(StreamEstimator):
    """A recurrent network of binary units that fire at random, learned online from a stream: predict, then learn.

    Each unit fires with log odds that are linear in what all units did, the last row, and 1; the next row is predicted
    from the same. Several memories (chains) follow the stream at once, and blame what a row costs on what they did
    before it, discounted by `discount` for each row between. Nothing is kept of the past but the state of the units and
    a trace for each weight: memory is constant, however long the stream is. Weights move after each `window` of rows.

    It is for streams that need a memory of some rows, that change, or never end: novelty, drift, devices. It is not for
    text and other large alphabets, for streams that are really small hidden Markov models (`CategoricalHMM`), or for
    clocks. What pays off after L rows is seen with a share of discount^L: longer lags need a `discount` nearer to 1.

    Parameters
    ----------
    n_units : int
        The number of units. A lag of L rows of a binary stream needs L units at least, and learns sooner with 3L.
    n_chains : int
        How many memories follow the stream. One alone learns much worse.
    discount : float in [0, 1]
        The share of the blame that is left after one more row.
    window : int
        Rows of one step. Those that fill no window wait (`waiting_`).
    learning_rate : float
        The step of Adam.
    family : str, list or dict
        What columns hold: 'categorical', 'bernoulli', 'gaussian' or 'poisson', for all columns or for each; 'auto' goes
        by what they hold. Given the memory, columns are independent.
    n_categories : int, list or None
        The number of categories; None reads it off the first rows, and what comes later is refused.
    n_init : int
        How many networks learn side by side. The one that has predicted best lately, before it learned, answers.
    random_state : int, RandomState or None
        The seed.
    verbose : int
        Whether `fit_stream` shows a line of progress.

    Attributes
    ----------
    network_ : SpikingMemory
        All networks, with a first axis of length `n_init`; `to_model` returns the best of them.
    replica_nats_ : ndarray of shape (n_init,)
        What each has predicted lately, in nats per row.
    center_, scale_ : ndarray of shape (n_features,)
        What columns of numbers are standardized by, of the first 64 rows.
    n_failures_ : int
        The last windows in a row that would have led to numbers that are not finite, and were not learned from.
    waiting_ : ndarray of shape (n_waiting, n_features)
        Rows of a series that goes on which fill no window yet.
    prequential_ : ndarray of shape (4,)
        Windows and rows that were predicted before they were learned from, the mean of −log p, and its spread.
    learning_curve_ : ndarray
        How well windows were predicted, along the stream.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.tile([0, 0, 1], 700)[:, None]
    >>> network = SpikingNetwork(n_units=6, random_state=0).fit(x)
    >>> bool(network.novelty(x[:300])[100:].mean() < 0.2)
    True

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_units": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "discount": [Interval(Real, 0.0, 1.0, closed="both")],
        "window": [Interval(Integral, 2, None, closed="left")],
        "learning_rate": [Interval(Real, 0.0, None, closed="neither")],
        "family": [str, list, tuple, dict],
        "n_categories": N_CATEGORIES,
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _trees = ("network_", "optimizer_state_", "memory_")

    def __init__(
        self,
        n_units: int = 24,
        *,
        n_chains: int = 8,
        discount: float = 0.9,
        window: int = 16,
        learning_rate: float = 5e-3,
        family: Any = "categorical",
        n_categories: Any = None,
        n_init: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_units = n_units
        self.n_chains = n_chains
        self.discount = discount
        self.window = window
        self.learning_rate = learning_rate
        self.family = family
        self.n_categories = n_categories
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    # --- learning ---------------------------------------------------------------------------------------

    def _learn_windows(self, rows: StreamRows, windows: int) -> np.ndarray:
        """Learn from so many windows; return the novelty of their rows."""
        place, found, per_window = self._place(), list[np.ndarray](), list[tuple[float, float]]()
        for first in range(0, windows, AT_ONCE):
            count = min(AT_ONCE, windows - first)
            piece = rows.part(first * self.window, (first + count) * self.window)
            place = self._learn_from(place, piece, count, first)
            found.append(self._novelty_of(place, piece, count))
            sizes = np.asarray(place.predicted)[:count].sum(axis=1)
            lost = np.asarray(place.novelty)[:count].sum(axis=1, dtype=np.float64) + sizes * self._log_volume.sum()
            per_window += zip((lost / np.maximum(sizes, 1)).tolist(), sizes.tolist(), strict=True)
        if windows:
            if not place.sound or int(place.standing.failures) == self.n_steps_ + windows:
                raise ValueError(
                    "Steps have led to numbers that are not finite: try a smaller learning_rate, or scale the input "
                    "data."
                )
            self._hold(place, rows, windows, per_window)
        return np.concatenate([np.zeros(0), *found])

    def _learn_from(self, place: Followed, rows: StreamRows, count: int, ahead: int = 0) -> Followed:
        """Let the replicas learn from some windows, whose last may lack rows."""
        return follow_windows(
            self._learner,
            *(place.models, place.states, place.memories, place.standing),
            windows_of(self._points(rows.X), rows.starts, self.window),
            *(np.int32(count), np.int32((self.n_steps_ + ahead) % 2**31)),  # its random numbers begin anew after that
            jax.random.key(self.seed_),
        )

    def _foresee(self, rows: StreamRows) -> np.ndarray:
        return self._novelty_of(self._learn_from(self._place(), rows, 1), rows, 1)

    def _points(self, X: np.ndarray) -> np.ndarray:
        """Return rows as the model has them: a symbol is a single number."""
        points: np.ndarray = self._units.standardize(X).astype(np.float32)
        return points[:, 0] if self._is_symbols else points

    def _novelty_of(self, found: Followed, rows: StreamRows, count: int) -> np.ndarray:
        """Return the novelty of the rows of some windows, in the units of the data."""
        predicted, novelty = (np.asarray(part)[:count].ravel() for part in (found.predicted, found.novelty))
        return (novelty + predicted * self._log_volume.sum()).astype(np.float64)[: len(rows.X)]

    # --- questions --------------------------------------------------------------------------------------

    def predict_next(self, X: Any = None) -> np.ndarray:
        """Return what is expected of the row after X, or of the row after the stream so far.

        Of one column of symbols it is the probability of each. Of other rows it is the mean of each column, and of
        columns of categories among them the most probable one.
        """
        check_is_fitted(self)
        if X is not None:
            _, _, carry = self._follow(X, None, None, None)
        elif self._waiting_rows is None:
            raise ValueError(
                "no series is open: give X, the rows after which to predict, or learn with continues=True."
            )
        else:
            carry = self._open_carry()
        with computing(self._bits):
            found = self.to_model().prediction(jnp.asarray(carry.z), jnp.asarray(carry.last))
            if isinstance(found, Categorical):
                return np.asarray(found.probabilities, np.float64).mean(axis=0)
            return self._units.restore(next_row(found))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence of rows, and the units that fire before each, from the model p(z', x' | z, x)."""
        check_is_fitted(self)
        n_samples = check_count("n_samples", n_samples)
        random = check_random_state(self.random_state if random_state is None else random_state)
        return self._draw(n_samples, int(random.randint(2**31)))

    def _draw(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        with computing(self._bits):
            model = jax.tree.map(jnp.asarray, self.to_model())
            length = 1 << max(count - 1, 1).bit_length()  # few lengths: few compiled functions
            states, drawn = model.sample_sequence(jax.random.key(seed), length)
            drawn = np.asarray(drawn, np.float64)[:count].reshape(count, self.n_features_in_)
            return self._units.restore(drawn), np.asarray(states, np.float64)[:count]

    def _follow(self, X: Any, lengths: Any, inputs: Any, carry: Any) -> tuple[Any, StreamRows, Carry]:
        """Let new memories, or those of a carry, go along rows."""
        check_is_fitted(self)
        self._check_no_inputs(inputs)
        rows = self._prepare(X, lengths, first=False, learns=False)
        if len(rows.X) == 0:
            raise ValueError("X has no rows: there is nothing to answer for.")
        if carry is not None:
            rows.starts[0] = False
        several, size = list[Scores](), min(padded_steps(len(rows.X)), MOST_ROWS)
        with computing(self._bits):
            model, key = self.to_model(), jax.random.key(self.seed_)
            carry = blank_carry(model, self.n_chains) if carry is None else carry
            for first in range(0, len(rows.X), size):
                part = rows.part(first, first + size)
                points, count = self._points(part.X), len(part.X)
                points = np.concatenate([points, np.repeat(points[:1], size - count, axis=0)])
                starts, there = np.concatenate([part.starts, np.zeros(size - count, bool)]), np.arange(size) < count
                several.append(as_numpy(score_rows(model, carry, points, starts, there, key)))
                carry = several[-1].carry
        parts = list(zip(*several, strict=True))[:-1]
        likelihood, without, states = (np.concatenate(part)[: len(rows.X)] for part in parts)
        return Scores(likelihood, without, states, carry), rows, carry

    def _open_carry(self) -> Carry:
        """Return the memories of the best network after the open series, with the rows that wait."""
        with computing(self._bits):
            place, waiting = self._place(), self._waiting_rows
            assert waiting is not None
            if len(waiting.X):
                place = self._learn_from(place, waiting, 1)
            best = int(np.argmax(self.replica_nats_))
            memory = jax.tree.map(lambda leaf: leaf[best], place.memories)
            return as_numpy(Carry(memory.z, memory.last, np.int32(0)))

    # --- between attributes_ and models -------------------------------------------------------------------

    def to_model(self) -> SpikingMemory:
        """Return the best network, with NumPy arrays, for rows in units of `center_` and `scale_`."""
        check_is_fitted(self)
        best = int(np.argmax(self.replica_nats_))
        model: SpikingMemory = jax.tree.map(lambda leaf: np.asarray(leaf)[best], self.network_)
        return model

    def _attributes(self, model: Any) -> dict[str, np.ndarray]:
        return {}

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        return {}

    def _shape_of(self, model: Any) -> dict[str, Any]:
        if not hasattr(self, "n_features_in_"):
            raise ValueError("SpikingNetwork cannot be made from a model alone: fit it, or load it from a file.")
        return {"n_features_in_": self.n_features_in_}

    def _n_parameters(self) -> int:
        model = self.to_model()
        return sum(np.size(leaf) for leaf in jax.tree.leaves(eqx.filter(model, model.trainable())))

    @property
    def _bits(self) -> int:
        return 32

    @property
    def _families(self) -> Any:
        chosen = vars(self).get("family_")
        return chosen if chosen is not None else self.family

    def _choose_families(self, kinds: list[str]) -> None:
        chosen = chosen_family(self.family, kinds, getattr(self, "feature_names_in_", None))
        self.family_ = [chosen] * len(kinds) if isinstance(chosen, str) else list(chosen)
        check_column_families(self.family_)

    @property
    def _is_symbols(self) -> bool:
        return list(self.family_) == ["categorical"]

    def check_attributes(self, numbers: int) -> None:
        """Raise unless attributes_ that came from a file are those of one stream."""
        super().check_attributes(numbers)
        check_standing(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    # --- inside -----------------------------------------------------------------------------------------

    @property
    def _learner(self) -> ProcessGradient[SpikingMemory]:
        return ProcessGradient(Optimizer(learning_rate=self.learning_rate), self.discount, self.n_chains)

    @property
    def _units(self) -> Units:
        return Units(self.center_, self.scale_)

    @property
    def _log_volume(self) -> np.ndarray:
        return self._units.log_volume

    def _check_values(self, X: np.ndarray, first: bool) -> np.ndarray:
        if np.isnan(X).any():
            row, place = np.argwhere(np.isnan(X))[0]
            raise ValueError(
                f"X[{row}, {place}] is missing (NaN): a memory sees all of a row, so leave such rows out, or impute "
                "them first."
            )
        if first and len(X) == 0:
            raise ValueError("X has no rows: the first piece of a stream says what its columns hold.")
        check_shape(self, X, list(self.family_), self.n_categories, first)
        if hasattr(self, "center_"):
            self._units.check(X)
        return X

    def _shape(self) -> Shape:
        return Shape(self.n_features_in_, np.asarray(self.n_categories_), 0)

    def _start(self, rows: StreamRows) -> None:
        """Make the replicas, for rows like the first ones."""
        X = rows.X[: max(self.window, TO_START)]
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        self.center_, self.scale_ = Units.of(X, self.family_)
        self._units.check(rows.X, "the stream")
        self.n_steps_, self.n_failures_ = 0, 0
        self.replica_nats_, self.replica_rows_ = np.zeros(self.n_init, np.float32), 0.0
        units = self._checked_units(X)
        trees = self._first_trees(first_member(self.family_, self._shape(), X), self.seed_, units)
        self.network_, self.optimizer_state_, self.memory_ = as_numpy(trees)

    def _checked_units(self, X: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return what embedded rows are standardized by; raise where networks for them would be too large."""
        units = embedding_units(self.family_, self._shape(), X)
        check_memory(self.n_units, self.n_chains, self.n_init, len(units[0]))
        return units

    def _first_trees(self, member: Any, seed: int, units: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any, Any]:
        return first_replicas(self._learner, member, self.n_units, self.n_init, seed, *units)

    def _place(self) -> Followed:
        """Return where the stream has led."""
        failures = np.int32(vars(self).get("n_failures_", 0))  # files of before have none
        standing = Standing(np.asarray(self.replica_nats_, np.float32), np.float32(self.replica_rows_), failures)
        nothing = np.zeros((0, self.window), np.float32)
        trees = self.network_, self.optimizer_state_, self.memory_
        return Followed(*trees, standing, nothing, nothing, True)

    def _hold(self, place: Followed, rows: StreamRows, windows: int, per_window: list[tuple[float, float]]) -> None:
        """Hold where the stream has led as attributes_, and count what was learned."""
        place = as_numpy(place)
        self.network_, self.optimizer_state_, self.memory_ = place.models, place.states, place.memories
        self.replica_nats_, self.replica_rows_ = place.standing.nats, float(place.standing.rows)
        self.n_failures_ = int(place.standing.failures)
        learned = min(windows * self.window, len(rows.X))
        begun = float(rows.starts[:learned].sum())
        record, left = FitRecord.of(self), float(learned)
        for number, (lost, size) in enumerate(per_window):
            points = min(float(self.window), left)
            left -= points
            record = record.add_step(-lost, points, begun if number == 0 else 0.0, foretold=False)
            if size:
                record = record.foretell([StepInfo(-lost, size)])
        self.n_steps_ += windows
        record.write(self)

    def _tree_shapes(self) -> dict[str, Any]:
        """Return the trees that the parameters describe, with shapes in the place of arrays: nothing is allocated."""
        check_columns(self)
        check_column_families(self.family_)
        units = self._checked_units(None)
        with computing(self._bits):
            member = blank_member(self.family_, self._shape())
            shapes: Any = eqx.filter_eval_shape(lambda: self._first_trees(member, 0, units))
        return dict(zip(self._trees, shapes, strict=True))
