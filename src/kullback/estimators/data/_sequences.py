"""Tables of rows that follow each other in time: sequences one below the other, as one padded batch."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kullback.core import Batch, Model, TimeIndex, replace
from kullback.estimators.data._distinct import find_distinct_rows
from kullback.estimators.data._rows import Rows
from kullback.estimators.data._start_rows import sample_pieces
from kullback.learning import Clock, Learner, Resident, gather_in_turn


def padded_steps(rows: int) -> int:
    """Round up to a few sizes, an eighth of an octave apart: batches of like lengths share one compiled function."""
    if rows <= 16:
        return 16
    eighth = max(1 << (rows - 1).bit_length() - 4, 8)
    return -(-rows // eighth) * eighth


def check_lengths(lengths: Any, rows: int) -> np.ndarray:
    """Return the lengths of sequences that are `rows` together; one sequence for None."""
    if lengths is None:
        return np.array([rows], dtype=np.int64)
    found = np.atleast_1d(np.asarray(lengths))
    number = found.dtype.kind in "iuf"
    if found.ndim != 1 or not number or not (found == np.floor(found)).all():
        raise ValueError(f"lengths must be a list of whole numbers, one for each sequence; it is {lengths!r}.")
    if len(found) and found.min() < 1:
        place = int(np.argmin(found))
        raise ValueError(f"lengths[{place}] is {found[place]}: every sequence needs a row, so leave it out.")
    if found.sum() != rows:
        raise ValueError(f"lengths array sums to {found.sum()} and doesn't sum to {rows} samples, the rows of X.")
    return found.astype(np.int64)


class Sequences:
    """Rows of sequences, one below the other, with a weight for each. NaN entries are missing.

    `first` marks the rows that begin a sequence, `ahead` those that are looked at and not counted yet, `inputs` are
    known from outside. `extremes` are rows among which are the highest entries and the largest totals of all the data.
    """

    def __init__(
        self,
        X: np.ndarray,
        first: np.ndarray,
        weight: np.ndarray | None = None,
        inputs: np.ndarray | None = None,
        ahead: np.ndarray | None = None,
        point_variance: float = 0.0,
        extremes: np.ndarray | None = None,
    ):
        self.X, self.starts, self.inputs = X, first, inputs
        self.extremes = X if extremes is None else extremes
        self.weight = np.ones(len(X)) if weight is None else weight
        self.lookahead = np.zeros(len(X), bool) if ahead is None else ahead
        self.rows = Rows(X, None, point_variance)
        self._steady = False

    def __len__(self) -> int:
        return len(self.X)

    @property
    def mass(self) -> float:
        """The weight of all rows that count."""
        return float(self.weight[~self.lookahead].sum())

    @property
    def n_begun(self) -> float:
        """The weight of all sequences that begin here."""
        return float(self.weight[self.starts & ~self.lookahead].sum())

    @property
    def absent(self) -> np.ndarray:
        """The columns that have no entry."""
        return np.isnan(self.X).all(axis=0)

    @property
    def in_part(self) -> bool:
        """Whether these are some rows of more."""
        return self.extremes is not self.X

    @functools.cached_property
    def to_start_from(self) -> "Sequences":
        """What a start looks at: all rows, or pieces of some sequences."""
        pieces = sample_pieces(self.lengths, self.weight[self.starts])
        if pieces is None:
            return self
        rows, first = pieces.rows, np.zeros(pieces.sizes.sum(), bool)
        first[np.cumsum(pieces.sizes) - pieces.sizes] = True
        known = None if self.inputs is None else self.inputs[rows]
        return Sequences(self.X[rows], first, self.weight[rows], known, None, self.rows.point_variance, self.extremes)

    @property
    def lengths(self) -> np.ndarray:
        """The number of rows of each sequence."""
        starts = np.flatnonzero(self.starts)
        return np.diff(np.append(starts, len(self.X)))

    def padded(self, values: np.ndarray, fill: Any) -> np.ndarray:
        """Return values with as many rows of padding as the batch has."""
        more = padded_steps(len(self.X)) - len(values)
        return np.concatenate([values, np.full((more, *values.shape[1:]), fill, dtype=values.dtype)])

    def allow_steady(self, steady: bool) -> None:
        """Say whether batches are `steady`: see `TimeIndex`."""
        self._steady = steady
        self.__dict__.pop("_plain", None)

    def batch(self, model: Model | None = None) -> Batch:
        """Return the batch, with the standardization in which the members of a model are quick."""
        standardization = None if model is None else self.rows.standardization_for(model)
        if standardization is None:
            return self._plain
        return self._plain.scaled(standardization)

    @functools.cached_property
    def _plain(self) -> Batch:
        values = self.padded(np.ascontiguousarray(self.X, dtype=np.float64), 0.0)
        values[len(self.X) :] = values[:1]
        observed = ~np.isnan(values) if self.rows.missing else None
        inputs = None if self.inputs is None else self.padded(self.inputs, 0.0)
        time = TimeIndex(self.padded(self.starts, True), self.padded(self.lookahead, False), self._steady)
        weight = self.padded(self.weight, 0.0)
        most = self.rows.most_missing if self.rows.missing else None
        plain = Batch(values, weight, self.rows.point_variance, observed, None, time, None, most, inputs)
        if inputs is not None:
            return plain
        return replace(plain, distinct=find_distinct_rows(np.asarray(plain.values), observed))

    def hand_over(self) -> None:
        """Hand the rows over once, for all steps of a fit. Call it in 64 bits."""
        self.__dict__["_plain"] = jax.tree.map(jnp.asarray, self._plain)

    # --- as the loop asks for it ------------------------------------------------------------------------

    whole, sites = True, 1

    def start(self) -> Batch:
        """Return all rows."""
        return self.batch()

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all sequences."""
        message, memory = gather_in_turn([self.batch(model)], learner, model, state, memories[0], clock.at_site(0))
        return message, (memory,)

    def resident(self, model: Any) -> Resident | None:
        """Return all sequences as one batch; None for models whose steps are long: compiling a loop of them is dear."""
        return None if model.goes_row_by_row else self.rows.as_resident(self._plain, model)
