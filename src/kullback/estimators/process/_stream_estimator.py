"""Estimators that learn a stream online, window by window, with constant memory: predict, then learn."""

import abc
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kullback.estimators._anomalies import Anomalies, RowQuestions
from kullback.estimators._model_estimator import ModelEstimator, all_or_nothing
from kullback.estimators._prequential import rows_again
from kullback.estimators._progress import Progress
from kullback.estimators._sequence_estimator import RowScores
from kullback.estimators._stream import check_stream
from kullback.estimators.data._encoding import as_column
from kullback.estimators.data._preparation import check_width
from kullback.estimators.data._sequences import check_lengths
from kullback.estimators.process._rows import StreamRows

#: So many rows, or a window, are waited for before there is a model: its units of numbers are those of these rows.
TO_START = 64


class StreamEstimator(ModelEstimator, RowQuestions):
    """A model that goes through the rows of a stream once, in windows of `window` rows. A subclass says how it learns.

    Rows of a series that goes on wait until they fill a window: they are predicted, and not yet learned from.
    """

    _has_time = True
    window: int

    @abc.abstractmethod
    def _start(self, rows: StreamRows) -> None:
        """Begin with a model for rows like the first ones."""

    @abc.abstractmethod
    def _learn_windows(self, rows: StreamRows, windows: int) -> np.ndarray:
        """Learn from so many windows, the last of which may lack rows; return the novelty of their rows."""

    @abc.abstractmethod
    def _follow(self, X: Any, lengths: Any, inputs: Any, carry: Any) -> tuple[Any, StreamRows, Any]:
        """Let new memories, or those of a carry, go along rows; return scores, the rows, and a carry."""

    @abc.abstractmethod
    def _draw(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence of rows, and the hidden states before each."""

    @property
    @abc.abstractmethod
    def _log_volume(self) -> np.ndarray:
        """The log of what each column's density is divided by in the units of the data."""

    @abc.abstractmethod
    def _foresee(self, rows: StreamRows) -> np.ndarray:
        """Return the novelty of rows that fill no window, as it will be when the window is full."""

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
        self._forget_all()
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
        self._forget_all()
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

    def _learn(self, rows: StreamRows | None, ends: bool) -> np.ndarray:
        """Learn from rows that wait and new ones, window by window; return the novelty of the new ones.

        The last ones wait, unless the series `ends`.
        """
        waiting = self._waiting_rows or StreamRows.blank(self.n_features_in_)
        rows, early = waiting if rows is None else waiting.then(rows), len(waiting.X)
        if not self.has_started:
            if ends and len(rows.X) < 2:
                raise ValueError(
                    f"there are {len(rows.X)} row(s): the first is given, so a network needs 2 rows to start."
                )
            if not ends and len(rows.X) < max(self.window, TO_START):
                self._hold_waiting(rows)
                return np.zeros(len(rows.X) - early)
            self._start(rows)
        whole = -(-len(rows.X) // self.window) if ends else len(rows.X) // self.window
        novelty = self._learn_windows(rows, whole)
        for name in ("waiting_", "waiting_starts_"):
            self.__dict__.pop(name, None)
        if not ends:
            left = rows.part(whole * self.window)
            self._hold_waiting(left)
            novelty = np.concatenate([novelty, self._foresee(left)]) if len(left.X) else novelty
        return novelty[early:]

    # --- questions --------------------------------------------------------------------------------------

    def score_next(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> RowScores:
        """Return how likely each row is given those before it, without learning. X goes on with rows of a `carry`.

        The first row of a sequence is given, and has 0. Hidden states are the share of chains in which a unit fires.
        """
        found, rows, carry = self._follow(X, lengths, inputs, carry)
        predicted = ~rows.starts
        likelihood = np.asarray(found.log_likelihood, np.float64) - predicted * self._log_volume.sum()
        return RowScores(likelihood, np.asarray(found.states, np.float64), carry)

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Log-likelihood of each row given those before it, in nats, mixed over chains; nothing is learned.

        The first row of a sequence is given, and has 0.
        """
        return self.score_next(X, lengths).log_likelihood

    def score(self, X: Any, lengths: Any = None) -> float:
        """Log-likelihood of all rows of X given those before them, in nats: the sum of `score_samples`."""
        return float(self.score_samples(X, lengths).sum())

    def predict_outlier(self, X: Any, lengths: Any = None, contamination: float = 0.01) -> np.ndarray:
        """Return which rows are less likely, given those before them, than all but this share of the model's own."""
        anomalies, likelihoods = Anomalies(self, contamination), self._row_log_likelihoods(X, lengths)
        return likelihoods < anomalies.threshold

    def _own_rows(self, count: int) -> tuple[np.ndarray, dict[str, Any]]:
        check_is_fitted(self)
        return self._draw(count, 0)[0], {}

    def _row_log_likelihoods(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> np.ndarray:
        return self.score_next(X, lengths, inputs, carry).log_likelihood

    def _row_surprises(self, X: Any, lengths: Any = None, inputs: Any = None, carry: Any = None) -> np.ndarray:
        """Return −log p(entry | the rest of its row, the rows before) in nats; NaN where a row is given."""
        found, rows, _ = self._follow(X, lengths, inputs, carry)
        surprise = np.asarray(found.without - found.log_likelihood[:, None], np.float64)
        return np.where(rows.starts[:, None], np.nan, surprise + self._log_volume)

    # --- inside -----------------------------------------------------------------------------------------

    @property
    def _waiting_rows(self) -> StreamRows | None:
        """The rows that wait in the series that is open; None where none is."""
        held = vars(self)
        return StreamRows(held["waiting_"], held["waiting_starts_"].astype(bool)) if "waiting_" in held else None

    def _hold_waiting(self, rows: StreamRows) -> None:
        self.waiting_, self.waiting_starts_ = np.array(rows.X, np.float64), rows.starts.astype(np.int64)

    def _forget_all(self) -> None:
        """Begin anew: what an earlier fit has left goes."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _check_no_inputs(self, inputs: Any) -> None:
        if inputs is not None:
            raise ValueError(f"inputs are given, and {type(self).__name__} takes none: leave them out.")

    def _prepare(self, X: Any, lengths: Any, first: bool, learns: bool = True) -> StreamRows:
        """Return rows as numbers that the fit knows, and where sequences begin."""
        table = np.asarray(self._read_table(as_column(X), first, learns, 0), np.float64)
        if not first:
            check_width(type(self).__name__, table.shape[1], self.n_features_in_)
        return StreamRows.of_lengths(self._check_values(table, first), check_lengths(lengths, len(table)))
