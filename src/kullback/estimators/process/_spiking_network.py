"""A recurrent network of spiking units that learns a stream online, without going back in time."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kullback.core import Batch, TimeIndex
from kullback.estimators._anomalies import Anomalies, RowQuestions
from kullback.estimators._count import check_count
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._model_estimator import ModelEstimator, all_or_nothing
from kullback.estimators._prequential import rows_again
from kullback.estimators._progress import Progress
from kullback.estimators._sequence_estimator import RowScores
from kullback.estimators._stream import check_stream
from kullback.estimators.constraints import Interval
from kullback.estimators.data._columns import Shape, check_shape
from kullback.estimators.data._encoding import as_column
from kullback.estimators.data._families import chosen_family
from kullback.estimators.data._preparation import check_width
from kullback.estimators.data._sequences import check_lengths, padded_steps
from kullback.estimators.mixtures._family_mixture import N_CATEGORIES
from kullback.estimators.process._follow import Carry, blank_carry, score_rows
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

#: So many rows, or a window, are waited for before there is a network: its units of numbers are those of these rows.
_TO_START = 64
#: Windows that go through one compiled function at a time.
_AT_ONCE = 64
#: More numbers than this are not kept: traces have one for each weight of the memory, chain and replica.
_MOST_NUMBERS = 2**30


class _Rows(NamedTuple):
    """Rows that follow each other, and which of them begin a sequence."""

    X: np.ndarray
    starts: np.ndarray


class SpikingNetwork(ModelEstimator, RowQuestions):
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

    _has_time = True
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

    @all_or_nothing
    def fit(self, X: Any, lengths: Any = None) -> Self:
        """Learn from the rows of X once, in their order, as from a stream that begins and ends with them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            The rows of all sequences, one below the other. The first row of a sequence is given, and not predicted.
        lengths : array-like of int or None
            The number of rows of each sequence; None is one sequence.

        Returns
        -------
        self

        """
        self._validate_params()
        self._forget()
        rows = self._prepare(X, lengths, first=True)
        if len(rows.X) < 2:
            raise ValueError(f"X has {len(rows.X)} row(s): the first is given, so a fit needs 2 rows or more.")
        self._learn(rows, ends=True)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, lengths: Any = None, continues: bool = False) -> Self:
        """Learn from the rows of X, in their order. A call that raises leaves the estimator as it was.

        Parameters
        ----------
        X, lengths
            As in `fit`. A piece may have any length; one without rows says nothing.
        continues : bool
            Whether X goes on where the last call has ended, and the next call goes on from here. Rows that fill no
            window wait for it. A call with False ends the series that was open, and learns from the rows that wait; it
            may have no rows of its own.

        Returns
        -------
        self

        """
        self._validate_once()
        self._take_in(X, lengths, continues, new_series=False)
        return self

    @all_or_nothing
    def continue_stream(self, X: Any, lengths: Any = None, inputs: Any = None, new_series: bool = False) -> None:
        """Learn from the next rows of a stream of series. The first row goes on with the last, or begins a new one."""
        self._validate_once()
        self._check_no_inputs(inputs)
        self._take_in(X, lengths, True, new_series)

    @all_or_nothing
    def end_series(self) -> None:
        """Learn from the rows that wait: nothing comes after them."""
        if self._waiting_rows is not None:
            self._learn(None, ends=True)

    @all_or_nothing
    def novelty(self, X: Any, lengths: Any = None, continues: bool = True) -> np.ndarray:
        """Return −log p of each row given those before it, in nats, and learn from it afterwards.

        It is prequential: what a row says is learned only after the row, and its window, were predicted. A row that
        begins a sequence is given, and has 0. The numbers are the same however a stream is cut into pieces.

        Parameters
        ----------
        X, lengths, continues
            As in `partial_fit`; by default the series goes on.

        Returns
        -------
        array of shape (n_rows,)

        """
        check_is_fitted(self)
        self._validate_once()
        return self._take_in(X, lengths, continues, new_series=False)

    def fit_stream(self, batches: Iterable[Any], passes: int = 1) -> Self:
        """Go through the pieces of one series by `partial_fit(X, continues=True)`, with memory for one of them.

        The series ends with the last piece. When the iterable raises, what was learned until then stays; before
        anything was, the estimator is as it was.

        Parameters
        ----------
        batches : iterable of array-like
            The pieces, in order. More than one pass needs something that can be gone through again, like a list.
        passes : int
            How often to go through all of them; each pass is a series of its own.

        Returns
        -------
        self

        """
        self._validate_params()
        check_stream(batches, passes)
        before = dict(vars(self))
        self._forget()
        try:
            with Progress(self.verbose, None) as progress:
                progress.begin(0)
                for number in range(passes):
                    for X in batches:
                        with rows_again(self, number > 0):
                            self.partial_fit(X, continues=True)
                        progress.step(getattr(self, "lower_bound_", -np.inf))
                    with rows_again(self, number > 0):
                        self.end_series()
            if not self.has_started:
                raise ValueError(f"batches has too few rows to fit {type(self).__name__} to.")
        except BaseException:
            if not self.has_started:
                self.__dict__ = before
            raise
        return self

    def _take_in(self, X: Any, lengths: Any, continues: bool, new_series: bool) -> np.ndarray:
        """Learn from rows that go on with the open series or begin one; return the novelty of each."""
        begun = self.has_started or self._waiting_rows is not None
        rows = self._prepare(X, lengths, first=not begun)
        goes_on = continues and not new_series and self._waiting_rows is not None
        if goes_on and len(rows.X):
            rows.starts[0] = False
        elif not continues and len(rows.X):
            self.end_series()  # the series before
        if len(rows.X) == 0 and continues:
            return np.zeros(0)
        return self._learn(rows, ends=not continues)

    def _learn(self, rows: _Rows | None, ends: bool) -> np.ndarray:
        """Learn from rows that wait and new ones, window by window; return the novelty of the new ones.

        The last ones wait, unless the series `ends`.
        """
        waiting = self._waiting_rows
        if waiting is None:
            waiting = _Rows(np.zeros((0, self.n_features_in_)), np.zeros(0, bool))
        rows = waiting if rows is None else _Rows(*(np.concatenate(pair) for pair in zip(waiting, rows, strict=True)))
        early = len(waiting.X)
        enough = 2 if ends else max(self.window, _TO_START)
        if not self.has_started:
            if len(rows.X) < enough:
                if ends:
                    raise ValueError(
                        f"there are {len(rows.X)} row(s): the first is given, so a network needs 2 rows to start."
                    )
                self._hold_waiting(rows)
                return np.zeros(0)
            self._start(rows)
        whole = -(-len(rows.X) // self.window) if ends else len(rows.X) // self.window
        novelty = self._learn_windows(rows, whole)
        for name in ("waiting_", "waiting_starts_"):
            self.__dict__.pop(name, None)
        if not ends:
            rest = _Rows(rows.X[whole * self.window :], rows.starts[whole * self.window :])
            self._hold_waiting(rest)
            if len(rest.X):  # they are predicted as their whole window will be
                found = self._follow(self._place(), rest, 1)
                novelty = np.concatenate([novelty, self._novelty_of(found, rest, 1)])
        return novelty[early:]

    def _learn_windows(self, rows: _Rows, windows: int) -> np.ndarray:
        """Learn from so many windows; return the novelty of their rows."""
        place, found, per_window = self._place(), list[np.ndarray](), list[tuple[float, float]]()
        for first in range(0, windows, _AT_ONCE):
            count = min(_AT_ONCE, windows - first)
            here = slice(first * self.window, (first + count) * self.window)
            piece = _Rows(rows.X[here], rows.starts[here])
            place = self._follow(place, piece, count, first)
            found.append(self._novelty_of(place, piece, count))
            sizes = np.asarray(place.predicted)[:count].sum(axis=1)
            lost = np.asarray(place.novelty)[:count].sum(axis=1, dtype=np.float64) + sizes * self._log_volume.sum()
            per_window += zip((lost / np.maximum(sizes, 1)).tolist(), sizes.tolist(), strict=True)
        if windows:
            if not place.finite:
                raise ValueError(
                    "A step has led to numbers that are not finite: try a smaller learning_rate, or scale the input "
                    "data."
                )
            self._hold(place, rows, windows, per_window)
        return np.concatenate([np.zeros(0), *found])

    def _follow(self, place: Followed, rows: _Rows, count: int, ahead: int = 0) -> Followed:
        """Let the replicas learn from some windows, whose last may lack rows."""
        return follow_windows(
            self._learner,
            *(place.models, place.states, place.memories, place.standing),
            self._windows(rows),
            *(np.int32(count), np.int32(self.n_steps_ + ahead)),
            jax.random.key(self.seed_),
        )

    def _windows(self, rows: _Rows) -> Batch:
        """Return rows as a fixed number of windows; what is not there has no weight."""
        total, width = _AT_ONCE * self.window, self.n_features_in_
        values: np.ndarray = np.zeros((total, width), np.float32)
        starts = np.zeros(total, bool)
        weight = np.zeros(total, np.float32)
        values[: len(rows.X)] = self._units.standardize(rows.X)
        values[len(rows.X) :] = values[:1]
        starts[: len(rows.X)], weight[: len(rows.X)] = rows.starts, 1
        shape = (_AT_ONCE, self.window)
        values = values.reshape(*shape, width)
        batch = Batch(self._as_points(values).reshape(total, -1), weight, time=TimeIndex(starts))
        batch = jax.tree.map(lambda leaf: np.asarray(leaf), batch)
        variance = np.zeros(_AT_ONCE, np.float32)

        def stack(leaf: np.ndarray) -> np.ndarray:
            return variance if leaf.ndim == 0 else leaf.reshape(*shape, *leaf.shape[1:])

        stacked: Batch = jax.tree.map(stack, batch)
        return eqx.tree_at(lambda batch: batch.values, stacked, self._as_points(values))

    def _as_points(self, values: np.ndarray) -> np.ndarray:
        """Return rows as the model has them: a symbol is a single number."""
        return values[..., 0] if self._is_symbols else values

    def _novelty_of(self, found: Followed, rows: _Rows, count: int) -> np.ndarray:
        """Return the novelty of the rows of some windows, in the units of the data."""
        predicted, novelty = (np.asarray(part)[:count].ravel() for part in (found.predicted, found.novelty))
        return (novelty + predicted * self._log_volume.sum()).astype(np.float64)[: len(rows.X)]

    # --- questions --------------------------------------------------------------------------------------

    def score_next(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> RowScores:
        """Return how likely each row is given those before it, without learning. X goes on with rows of a `carry`.

        The first row of a sequence is given, and has 0. Hidden states are the share of chains in which a unit fires.
        """
        found, rows, carry = self._score(X, lengths, inputs, carry)
        predicted = ~rows.starts
        likelihood = np.asarray(found.log_likelihood, np.float64)[: len(rows.X)] - predicted * self._log_volume.sum()
        return RowScores(likelihood, np.asarray(found.states, np.float64)[: len(rows.X)], carry)

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Log-likelihood of each row given those before it, in nats, mixed over chains; nothing is learned.

        The first row of a sequence is given, and has 0.
        """
        return self.score_next(X, lengths).log_likelihood

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-likelihood of all rows of X given those before them, in nats: the sum of `score_samples`."""
        return float(self.score_samples(X, lengths).sum())

    def predict_next(self, X: Any = None) -> np.ndarray:
        """Return what is expected of the row after X, or of the row after the stream so far.

        Of one column of symbols it is the probability of each. Of other rows it is the mean of each column, and of
        columns of categories among them the most probable one.
        """
        check_is_fitted(self)
        if X is not None:
            _, _, carry = self._score(X, None, None, None)
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

    def predict_outlier(self, X: Any, lengths: Any = None, contamination: float = 0.01) -> np.ndarray:
        """Return which rows are less likely, given those before them, than all but this share of the model's own."""
        anomalies, likelihoods = Anomalies(self, contamination), self._row_log_likelihoods(X, lengths)
        return likelihoods < anomalies.threshold

    def _draw(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        with computing(self._bits):
            model = jax.tree.map(jnp.asarray, self.to_model())
            length = 1 << max(count - 1, 1).bit_length()  # few lengths: few compiled functions
            states, drawn = model.sample_sequence(jax.random.key(seed), length)
            drawn = np.asarray(drawn, np.float64)[:count].reshape(count, self.n_features_in_)
            return self._units.restore(drawn), np.asarray(states, np.float64)[:count]

    def _own_rows(self, count: int) -> tuple[np.ndarray, dict[str, Any]]:
        check_is_fitted(self)
        return self._draw(count, 0)[0], {}

    def _row_log_likelihoods(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> np.ndarray:
        return self.score_next(X, lengths, inputs, carry).log_likelihood

    def _row_surprises(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> np.ndarray:
        """Return −log p(entry | the rest of its row, the rows before) in nats; NaN where a row is given."""
        found, rows, _ = self._score(X, lengths, inputs, carry)
        surprise = np.asarray(found.without - found.log_likelihood[:, None], np.float64)[: len(rows.X)]
        return np.where(rows.starts[:, None], np.nan, surprise + self._log_volume)

    def _score(self, X: Any, lengths: Any, inputs: Any, carry: Any) -> tuple[Any, _Rows, Carry]:
        """Let new memories, or those of a carry, go along rows."""
        check_is_fitted(self)
        self._check_no_inputs(inputs)
        rows = self._prepare(X, lengths, first=False, learns=False)
        if len(rows.X) == 0:
            raise ValueError("X has no rows: there is nothing to answer for.")
        if carry is not None:
            rows.starts[0] = False
        size = padded_steps(len(rows.X))
        values = np.zeros((size, self.n_features_in_), np.float32)
        values[: len(rows.X)] = self._units.standardize(rows.X)
        starts, there = np.zeros(size, bool), np.arange(size) < len(rows.X)
        starts[: len(rows.X)] = rows.starts
        with computing(self._bits):
            model = self.to_model()
            carry = blank_carry(model, self.n_chains) if carry is None else carry
            found = score_rows(model, carry, self._as_points(values), starts, there, jax.random.key(self.seed_))
            found = as_numpy(found)
        return found, rows, found.carry

    def _open_carry(self) -> Carry:
        """Return the memories of the best network after the open series, with the rows that wait."""
        with computing(self._bits):
            place, waiting = self._place(), self._waiting_rows
            assert waiting is not None
            if len(waiting.X):
                place = self._follow(place, waiting, 1)
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

    @property
    def _waiting_rows(self) -> _Rows | None:
        """The rows that wait in the series that is open; None where none is."""
        held = vars(self)
        return _Rows(held["waiting_"], held["waiting_starts_"].astype(bool)) if "waiting_" in held else None

    def _hold_waiting(self, rows: _Rows) -> None:
        self.waiting_, self.waiting_starts_ = np.array(rows.X, np.float64), rows.starts.astype(np.int64)

    def _forget(self) -> None:
        """Begin anew: what an earlier fit has left goes."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _check_no_inputs(self, inputs: Any) -> None:
        if inputs is not None:
            raise ValueError(f"inputs are given, and {type(self).__name__} takes none: leave them out.")

    def _prepare(self, X: Any, lengths: Any, first: bool, learns: bool = True) -> _Rows:
        """Return rows as numbers that the fit knows, and where sequences begin."""
        table = np.asarray(self._read_table(as_column(X), first, learns, 0), np.float64)
        if not first:
            check_width(type(self).__name__, table.shape[1], self.n_features_in_)
        many, starts = check_lengths(lengths, len(table)), np.zeros(len(table), bool)
        if len(table):
            starts[np.cumsum(many) - many] = True
        return _Rows(self._check_values(table, first), starts)

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
        return X

    def _shape(self) -> Shape:
        return Shape(self.n_features_in_, np.asarray(self.n_categories_), 0)

    def _start(self, rows: _Rows) -> None:
        """Make the replicas, for rows like the first ones."""
        X = rows.X[: max(self.window, _TO_START)]
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        self.center_, self.scale_ = Units.of(X, self.family_)
        self.n_steps_, self.replica_nats_, self.replica_rows_ = 0, np.zeros(self.n_init, np.float32), 0.0
        self._check_memory()
        first = first_member(self.family_, self._shape(), X)
        trees = self._first_trees(first, *embedding_units(self.family_, self._shape(), X))
        self.network_, self.optimizer_state_, self.memory_ = as_numpy(trees)

    def _check_memory(self) -> None:
        inputs = self.n_units + len(embedding_units(self.family_, self._shape(), None)[0]) + 1
        numbers = self.n_init * (self.n_chains + 6) * inputs * self.n_units
        if numbers > _MOST_NUMBERS:
            raise ValueError(
                f"n_units = {self.n_units}, n_chains = {self.n_chains} and n_init = {self.n_init} keep {numbers:.1e} "
                f"numbers in memory, more than {_MOST_NUMBERS:.1e}: take fewer."
            )

    def _first_trees(self, member: Any, center: Any, scale: Any) -> tuple[Any, Any, Any]:
        """Return networks, states of their optimizers, and memories to begin with, for all replicas."""
        learner = self._learner

        def first(key: Any) -> tuple[Any, Any, Any]:
            one, other = jax.random.split(key)
            model = SpikingMemory.random(member, self.n_units, one, center=center, scale=scale, dtype=jnp.float32)
            return model, learner.init(model, lambda: None), learner.memory(model, lambda: None, other)

        keys = jax.random.split(jax.random.fold_in(jax.random.key(self.seed_), 2**31 - 1), self.n_init)
        replicas = [jax.tree.map(jnp.asarray, first(key)) for key in keys]
        stacked: tuple[Any, Any, Any] = jax.tree.map(lambda *leaves: jnp.stack(leaves), *replicas)
        return stacked

    def _place(self) -> Followed:
        """Return where the stream has led."""
        standing = Standing(np.asarray(self.replica_nats_, np.float32), np.float32(self.replica_rows_))
        nothing = np.zeros((0, self.window), np.float32)
        trees = self.network_, self.optimizer_state_, self.memory_
        return Followed(*trees, standing, nothing, nothing, True)

    def _hold(self, place: Followed, rows: _Rows, windows: int, per_window: list[tuple[float, float]]) -> None:
        """Hold where the stream has led as attributes_, and count what was learned."""
        place = as_numpy(place)
        self.network_, self.optimizer_state_, self.memory_ = place.models, place.states, place.memories
        self.replica_nats_, self.replica_rows_ = place.standing.nats, float(place.standing.rows)
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
        self._check_memory()
        with computing(self._bits):
            member = blank_member(self.family_, self._shape())
            units = embedding_units(self.family_, self._shape(), None)
            shapes: Any = eqx.filter_eval_shape(lambda: self._first_trees(member, *units))
        return dict(zip(self._trees, shapes, strict=True))
