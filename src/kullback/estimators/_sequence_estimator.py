"""Estimators of sequences: fit in batch, or from a series that never ends; score, filter, sample."""

import abc
import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kullback.core import Batch, Extent, TimeIndex
from kullback.estimators._anomalies import Anomalies, RowQuestions, row_surprises
from kullback.estimators._check_fit import ENDED_BEFORE_COLLAPSE_OF_STATE, check_answers, check_scale
from kullback.estimators._fit_record import FitRecord
from kullback.estimators._imputation import ImputeMethod, check_method, fill_table
from kullback.estimators._model_estimator import Fitted, ModelEstimator, all_or_nothing
from kullback.estimators._prequential import rows_again
from kullback.estimators._progress import Progress
from kullback.estimators._stream import check_stream
from kullback.estimators.data._collections import label_rows
from kullback.estimators.data._encoding import as_column
from kullback.estimators.data._fit_data import SequenceData, provider_of
from kullback.estimators.data._preparation import check_width, prepare_sequences
from kullback.estimators.data._sequences import Sequences
from kullback.learning import AT_ONCE, EM, OnlineEM, Rule, adaptive_jit, step
from kullback.runtime import as_numpy, computing, in_float64

#: The longest series that a combination looks at: usages have settled long before.
_HORIZON = 4096
#: Rows that a step towards a series needs. A state that was not expected has next to no inertia, and would jump to the
#: one row that has come; over some rows each state is expected about as often as it comes.
_ENOUGH = 50


class RowScores(NamedTuple):
    """log p(v_t | v_1 … v_t−1) of each row in nats, its hidden state given v_1 … v_t, and what the next rows need.

    Hidden states are probabilities of shape (rows, states), or means and covariances.
    """

    log_likelihood: np.ndarray
    states: Any
    carry: Any


class SequenceEstimator(ModelEstimator, RowQuestions):
    """A model of rows that follow each other in time. A subclass says how it starts, and what the entries may be.

    A series that never restarts is learned piece by piece, `partial_fit(X, continues=True)`. What is known of the
    hidden state is carried from piece to piece. The last `lag` rows of a piece are looked at, for what they say of the
    rows before them, and wait to be counted until the next piece has come. A step takes 50 rows or more: of shorter
    pieces all rows wait until there are as many besides these.
    """

    _has_time = True

    # --- what a subclass says ---------------------------------------------------------------------------

    #: Whether rows may have inputs beside them.
    _takes_inputs: ClassVar[bool] = False

    @abc.abstractmethod
    def _start(self, data: Sequences, turn: int, random: np.random.RandomState) -> Any:
        """Return the model to begin with, for the first time (turn 0) or again."""

    @abc.abstractmethod
    def _check_some(self, data: Any) -> None:
        """Raise unless there is something to start from."""

    @abc.abstractmethod
    def _prior(self, model: Any) -> Any:
        """Return what is added to the statistics of the data, or None."""

    @abc.abstractmethod
    def _later_prior(self, model: Any) -> Any:
        """Return what keeps parameters that are not learned as they are, with no prior; or None."""

    @abc.abstractmethod
    def _rule(self, history: list[float], mass: float) -> Rule:
        """Return what says when a fit with these log-likelihoods, in nats per row of data of this mass, is done."""

    @property
    @abc.abstractmethod
    def _steps(self) -> int:
        """How many steps of EM there are at most."""

    @property
    @abc.abstractmethod
    def _carry_names(self) -> tuple[str, ...]:
        """The attributes_ that hold what is known of the hidden state at the end of a series that goes on."""

    # --- learning ---------------------------------------------------------------------------------------

    def _fit_sequences(self, data: SequenceData) -> Fitted:
        """Keep the best of some runs of batch EM, on sequences that are here or on blocks of a cluster."""
        if len(data) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by a fit.")
        self._check_some(data)
        random = check_random_state(self.random_state)
        data.hand_over()

        def start(restart: int) -> Any:
            return self._start(data.to_start_from, restart, random)

        def learner(model: Any) -> EM[Any]:
            return EM(self._prior(model))

        def rule(history: list[float]) -> Rule:
            return self._rule(history, data.mass)

        best = self._fit_restarts(data, start, learner, rule, self._steps, self.n_init, sequences=data.n_begun)
        if best.collapsed:
            warnings.warn(ENDED_BEFORE_COLLAPSE_OF_STATE, ConvergenceWarning, stacklevel=4)  # the line that calls `fit`
        self._forget_series()
        return best

    def _partial_fit(self, data: Sequences, carry: Any, continues: bool) -> None:
        """Make one step of online EM towards rows of which the first may go on from the carry."""
        record = FitRecord.of(self)
        first = record.n_batches_seen is None
        if data.mass > 0:
            if first:
                self._check_some(data)
            rate = self._rate_at(*record.counts, data.mass)
            with computing():
                if first:
                    model = as_numpy(self._start(data, 0, check_random_state(self.random_state)))
                else:
                    model = self._current_model()
                batch = data.batch(model)
                # a prior is what was seen before the stream: it enters once
                prior = self._prior(model) if first else self._later_prior(model)
                found = step(OnlineEM(np.asarray(rate), prior), model, None, carry, (batch,), AT_ONCE)
                model, carry = jax.tree.map(np.array, (found.model, found.memory))
                value = float(found.info.value) if found.info.finite else np.nan
            self._keep_step(model, value, data.mass, data.n_begun, first=first)
        self._forget_series()
        if continues:
            self._wait(data, carry)

    def _wait(self, data: Sequences, carry: Any) -> None:
        """Keep the rows that are not counted yet, and what is known of the hidden state before them."""
        self.waiting_ = np.array(data.X[data.lookahead], dtype=np.float64)
        if data.inputs is not None:
            self.waiting_inputs_ = np.array(data.inputs[data.lookahead])
        begins = len(self.waiting_) > 0 and bool(data.starts[data.lookahead][0])
        if carry is not None and not begins:
            for name, value in zip(self._carry_names, jax.tree.leaves(carry), strict=True):
                setattr(self, name, np.asarray(value))

    def _forget_series(self) -> None:
        """The series has ended: nothing waits, nothing is carried on."""
        for name in ("waiting_", "waiting_inputs_", *self._carry_names):
            self.__dict__.pop(name, None)

    def end_series(self) -> None:
        """Count the rows that wait: nothing comes after them."""
        waiting = getattr(self, "waiting_", None)
        if waiting is not None and len(waiting):
            inputs = getattr(self, "waiting_inputs_", None)
            none = Sequences(waiting[:0], np.zeros(0, bool), None, None if inputs is None else inputs[:0])
            self._partial_fit(*self._with_waiting(none, False), False)
        self._forget_series()

    def _carry(self) -> Any:
        """Return what is known of the hidden state before the rows that wait, or None if they begin a series."""
        known = tuple(getattr(self, name, None) for name in self._carry_names)
        if known[0] is None:
            return None
        return known[0] if len(known) == 1 else self._carry_from(known)

    @abc.abstractmethod
    def _carry_from(self, known: tuple[Any, ...]) -> Any:
        """Return the carry whose leaves these are."""

    @all_or_nothing
    def continue_stream(self, X: Any, lengths: Any = None, inputs: Any = None, new_series: bool = False) -> None:
        """Move towards the next rows of a stream of series. The first row goes on with the last, or begins a new one.

        As `partial_fit` with `continues`, but that the rows that wait for more of their series are counted with these.
        """
        begun = hasattr(self, "n_batches_seen_") or hasattr(self, "waiting_")
        data, carry = self._with_waiting(self._sequences(X, lengths, None, not begun, inputs), True, new_series)
        self._partial_fit(data, carry, True)

    def _with_waiting(self, data: Sequences, continues: bool, anew: bool = False) -> tuple[Sequences, Any]:
        """Put the rows that wait before the new ones; the last of a series that goes on wait in turn.

        Where the new ones begin a sequence, those that wait are the end of the one before.
        """
        carry, waiting = self._carry(), getattr(self, "waiting_", None)
        X, first, weight, inputs = data.X, data.starts.copy(), data.weight, data.inputs
        goes_on = continues and not anew and waiting is not None and (carry is not None or len(waiting) > 0)
        if goes_on:
            first[0] = False
        if waiting is not None and len(waiting):
            X = np.concatenate([waiting, X])
            first = np.concatenate([np.arange(len(waiting)) == (-1 if carry is not None else 0), first])
            weight = np.concatenate([np.ones(len(waiting)), weight])
            inputs = None if inputs is None else np.concatenate([self.waiting_inputs_, inputs])
        elif not goes_on:
            carry = None
        ahead = np.zeros(len(X), bool)
        if continues:
            begins = np.flatnonzero(first)
            counted = max(len(X) - self.lag, begins[-1] if len(begins) else 0)
            few = counted < _ENOUGH and begins.max(initial=0) == 0
            ahead[0 if few else counted :] = True
        return Sequences(X, first, weight, inputs, ahead, self._point_variance), carry

    def fit_stream(self, batches: Iterable[Any], passes: int = 1) -> Self:
        """Go through the pieces of one series by `partial_fit(X, continues=True)`, with memory for one of them.

        The series ends with the last piece: what waits is counted then.

        When the iterable raises, what was learned until then stays; before anything was, the estimator is as it was.

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
        self._forget_series()
        FitRecord().write(self)  # parameters stay: a start may be told to keep them
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        try:
            with Progress(self.verbose, None) as progress:
                progress.begin(0)
                for number in range(passes):
                    for X in batches:
                        with rows_again(self, number > 0):
                            self._piece(X, continues=True)
                        progress.step(getattr(self, "lower_bound_", -np.inf))
                    with rows_again(self, number > 0):
                        self.end_series()
            if not hasattr(self, "n_batches_seen_"):
                raise ValueError(f"batches has too few rows to fit {type(self).__name__} to.")
        except BaseException:
            if not hasattr(self, "n_batches_seen_"):
                self.__dict__ = before
            raise
        return self

    @abc.abstractmethod
    def _piece(self, X: Any, continues: bool) -> Any:
        """Learn from one piece of a series by `partial_fit`."""

    # --- questions --------------------------------------------------------------------------------------

    def score_next(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> RowScores:
        """Return how likely each row is given those before it. With the `carry` of other rows, X goes on with them."""
        data, model = self._question(X, lengths, inputs)
        if carry is not None:
            data.starts[0] = False
        with computing():
            values, states, carry = jax.tree.map(np.array, _score_rows(model, data.batch(model), carry))
        return RowScores(values[: len(data)], jax.tree.map(lambda leaf: leaf[: len(data)], states), carry)

    def impute(
        self,
        X: Any,
        lengths: Any = None,
        inputs: Any = None,
        method: ImputeMethod = "draw",
        n: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Fill in the missing entries of X, those that are NaN, given all the rest. What is there stays as it is.

        "draw" draws all that is missing of a sequence together: imputations that vary as the data does. "mean" is the
        conditional mean given the whole sequence, the best guess by squared error; of categories it is the most
        probable one, and of angles the mean direction. "mode" is the most probable value; a hidden Markov model chooses
        the most probable path of states first, then the values that are the most probable in them. Draws and modes of
        counts are whole.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Rows of sequences, with NaN for what is missing.
        lengths : array-like of int, optional
            The rows of each sequence, one below the other; all are one sequence by default.
        inputs : array-like of shape (n_rows, n_inputs), optional
            What is known from outside, for models that take inputs.
        method : "draw", "mean" or "mode"
            What to fill in.
        n : int, optional
            How many different draws to return. A draw with the same integer seed is the same again: to have several,
            as multiple imputation needs them, ask for `n` of them in one call.
        random_state : int, RandomState or None
            The seed of draws; that of the estimator by default.

        Returns
        -------
        array of shape (n_rows, n_columns), or (n, n_rows, n_columns) where n is given
            Of a frame it is a frame like it, or a list of n frames.

        """
        count = check_method(method, n)
        data, model = self._question(X, lengths, inputs)
        random = check_random_state(self.random_state if random_state is None else random_state)
        batches = ((slice(0, len(data)), data.batch()) for _ in range(1))
        return self._restore(fill_table(np.asarray(data.X, dtype=np.float64), batches, model, method, count, random), X)

    def predict_outlier(
        self, X: Any, lengths: Any = None, inputs: Any = None, contamination: float = 0.01
    ) -> np.ndarray:
        """Return which rows are less likely, given those before them, than all but this share of the model's own rows.

        Rows with missing entries are compared with drawn rows that lack the same ones; a row without any entry is none.
        """
        anomalies, likelihoods = Anomalies(self, contamination), self._row_log_likelihoods(X, lengths, inputs)
        return likelihoods < anomalies.thresholds(self._question(X, lengths, inputs)[0].X)

    def contributions(self, X: Any, lengths: Any = None, inputs: Any = None) -> np.ndarray:
        """Return which columns make a row unlikely: how much more surprising each entry is than usual, in nats.

        The surprise of an entry is −log p(entry | the rest of its row, the rows before), exact because what is missing
        is summed out; what is usual is its average over 10,000 rows that are drawn from the model. So it is about 0 for
        ordinary entries, whatever the units of a column. It is 0 where an entry is missing, inf where it alone makes
        the row impossible, and 0 where the row is impossible without it too. Where columns belong together, as counts
        of one total do, all have the surprise of the row.

        Returns
        -------
        array of shape (n_rows, n_columns)

        """
        return Anomalies(self).contributions(X, lengths=lengths, inputs=inputs)

    def _row_log_likelihoods(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> np.ndarray:
        """Return the log-likelihood of each row given those before it, in nats: that of `score_next`."""
        return self.score_next(X, lengths, inputs, carry).log_likelihood

    def _row_surprises(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> np.ndarray:
        """Return −log p(entry | the rest of its row, the rows before) in nats; NaN where there is no such number.

        With the `carry` of other rows, that `score_next` returns, X goes on with them.
        """
        data, model = self._question(X, lengths, inputs)
        if carry is not None:
            data.starts[0] = False
        with computing():
            return np.asarray(row_surprises(model, data.batch(), carry))[: len(data)]

    def to_batch(self, X: Any, lengths: Any = None, inputs: Any = None) -> Batch:
        """Return sequences as the fitted model sees them: `to_model()` can be asked about this batch."""
        data, _ = self._question(X, lengths, inputs)
        values = np.ascontiguousarray(data.X, dtype=np.float64)
        observed = ~np.isnan(values) if data.rows.missing else None
        return Batch(values, observed=observed, time=TimeIndex.of_lengths(data.lengths), inputs=data.inputs)

    @computing()
    def _question(self, X: Any, lengths: Any, inputs: Any = None) -> tuple[Sequences, Any]:
        """Return sequences to answer for, and the model that answers."""
        check_is_fitted(self)
        if inputs is not None and not self._takes_inputs:
            raise ValueError(f"inputs are given, and {type(self).__name__} takes none: leave them out.")
        data = self._sequences(X, lengths, None, False, inputs, learns=False)
        if len(data) == 0:
            raise ValueError("X has no rows: there is nothing to answer for.")
        model = self.to_model()
        check_width(type(self).__name__, data.X.shape[1], self._shape_of(model)["n_features_in_"])
        return data, model

    @in_float64
    def _answer(self, X: Any, lengths: Any, question: Callable[..., Any], *args: Any, inputs: Any = None) -> Any:
        """Ask the model about each row: arrays whose first axis is the rows."""
        data, model = self._question(X, lengths, inputs)
        answers = question(model, data.batch(model), *args)
        return check_answers(jax.tree.map(lambda leaf: np.asarray(leaf)[: len(data)], answers))

    def _check_is_fitted(self) -> None:
        check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self._fitted_markers)

    @property
    @abc.abstractmethod
    def _fitted_markers(self) -> tuple[str, ...]:
        """The attributes_ that make an estimator fitted; they may be set by hand."""

    # --- inside -----------------------------------------------------------------------------------------

    def _all_sequences(self, X: Any, lengths: Any, sample_weight: Any, inputs: Any = None) -> Any:
        """Return the sequences of a fit: of a table that is here, or where a collection has them."""
        provider = provider_of(X)
        if provider is None:
            return self._sequences(X, lengths, sample_weight, True, inputs)
        X, columns = self._encode_collection(X, True)
        context = self._learning(functools.partial(self._learn_columns, columns))
        return provider.sequences(X, lengths, sample_weight, inputs, context)

    def _learn_columns(self, columns: Any, X: Any, sample_weight: Any, highest: Any) -> Sequences:
        """Learn the columns from rows of a collection, among which are those with the highest entries."""
        return self._sequences(label_rows(X, columns), None, None, True)

    def _sequences(
        self, X: Any, lengths: Any, sample_weight: Any, first: bool, inputs: Any = None, learns: bool = True
    ) -> Sequences:
        table = self._read_table(as_column(X), first, learns, 0)
        check = functools.partial(self._check_values, first=first)
        data = prepare_sequences(table, lengths, sample_weight, inputs, check, self._point_variance)
        if first:
            check_scale(data.X)
        return data

    @property
    def extent_seen(self) -> Extent:
        """The extent of a sequence of the average length that the fit has seen, each row with an equal part of 1."""
        record = FitRecord.of(self)
        sequences = 1.0 if record.n_sequences_seen is None else max(record.n_sequences_seen, 1.0)
        length = int(np.clip(round((record.n_points_seen or 0.0) / sequences), 2, _HORIZON))
        return Extent.of_lengths(length, 1 / length)


@adaptive_jit
def _score_rows(model: Any, batch: Batch, carry: Any) -> Any:
    return model.log_likelihood(batch, carry), *model.filter(batch, carry)
