"""How a table becomes the data of a fit: the columns, what entries may be, weights and lengths."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from kullback.estimators._check_fit import check_total
from kullback.estimators.constraints import check_sample_weight
from kullback.estimators.data._rows import Rows
from kullback.estimators.data._sequences import Sequences, check_lengths

#: What scikit-learn's validation lets through: numbers, and NaN for what is missing.
TABLES: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}

#: Checks what the entries of a table mean, beyond being numbers, and returns them as numbers.
EntryCheck = Callable[[np.ndarray], np.ndarray]


class Columns(NamedTuple):
    """The columns of a fit, and the name of the estimator that has seen them."""

    estimator: str
    width: int
    names: tuple[str, ...] | None

    def validate(self, X: Any) -> np.ndarray:
        """Return a table of numbers, with these columns."""
        table = check_array(X, **TABLES, ensure_min_samples=0)
        self.check_width(table.shape[1])
        names = getattr(X, "columns", None)
        if self.names is not None and names is not None and tuple(names) != self.names:
            raise ValueError(f"X has the columns {list(names)}, where the fit has seen {list(self.names)}.")
        return table

    def check_width(self, width: int) -> None:
        """Raise unless a table has as many columns."""
        check_width(self.estimator, width, self.width)


def check_width(estimator: str, width: int, expected: int) -> None:
    """Raise unless X has as many columns as an estimator expects; scikit-learn's words."""
    if width != expected:
        raise ValueError(f"X has {width} features, but {estimator} is expecting {expected} features as input.")


@dataclasses.dataclass(frozen=True)
class Preparation:
    """What makes data of tables in a fit that has begun. It holds none: workers get it in place of an estimator."""

    columns: Columns
    check: EntryCheck
    point_variance: float

    def rows(self, X: Any, sample_weight: Any = None) -> Rows:
        """Return the rows that count."""
        return prepare_rows(self.columns.validate(X), sample_weight, self.check, self.point_variance)

    def sequences(self, X: Any, lengths: Any, sample_weight: Any = None, inputs: Any = None) -> Sequences:
        """Return the sequences that count."""
        table = self.columns.validate(X)
        return prepare_sequences(table, lengths, sample_weight, inputs, self.check, self.point_variance)


def prepare_rows(table: np.ndarray, sample_weight: Any, check: EntryCheck, point_variance: float) -> Rows:
    """Return the rows of a validated table. A row that never counts is no row: nothing starts from it."""
    weight = None
    if sample_weight is not None and len(table) > 0:
        weight = check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight is all zero: there is nothing to learn from.")
        check_total(weight)
        if not weight.all():
            table, weight = table[weight > 0], weight[weight > 0]
    return Rows(check(table), weight, point_variance)


def prepare_sequences(
    table: np.ndarray, lengths: Any, sample_weight: Any, inputs: Any, check: EntryCheck, point_variance: float
) -> Sequences:
    """Return the sequences of a validated table. A sequence that never counts is no sequence."""
    lengths = check_lengths(lengths, len(table))
    weight = _sequence_weights(sample_weight, lengths)
    starts = np.zeros(len(table), bool)
    if len(table):
        starts[np.cumsum(lengths) - lengths] = True
    known = None if inputs is None else _check_inputs(inputs, len(table))
    if weight is not None and not weight.all():
        kept = weight > 0
        table, starts, weight = table[kept], starts[kept], weight[kept]
        known = None if known is None else known[kept]
    return Sequences(check(table), starts, weight, known, None, point_variance)


def _sequence_weights(sample_weight: Any, lengths: np.ndarray) -> np.ndarray | None:
    """Return the weight of each row: that of its sequence."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != lengths.shape:
        raise ValueError(
            f"sample_weight has shape {weight.shape}: there are {len(lengths)} sequences, and each has one weight."
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError("sample_weight must be finite, not negative, and not all zero.")
    each = np.repeat(weight, lengths)
    check_total(each)
    return each


def _check_inputs(inputs: Any, rows: int) -> np.ndarray:
    table = np.asarray(inputs, dtype=np.float64)
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != rows:
        raise ValueError(f"inputs has shape {np.shape(inputs)}: X has {rows} rows, and each needs its inputs.")
    if not np.isfinite(table).all():
        raise ValueError("inputs has entries that are not finite: they must be known at every step.")
    return table
