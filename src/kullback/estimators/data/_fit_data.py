"""The data of a fit, here or elsewhere: what an estimator asks of it, and who provides it for which collections."""

import functools
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, NamedTuple, Protocol

import numpy as np

from kullback.estimators.data._pairs import Pairs
from kullback.estimators.data._preparation import Preparation
from kullback.estimators.data._rows import Rows
from kullback.estimators.data._sequences import Sequences
from kullback.learning import Data


class FitData(Data, Protocol):
    """Data of a fit, whose size is known."""

    @property
    def mass(self) -> float:
        """The weight of all rows."""


class RowData(FitData, Protocol):
    """Independent rows: `Rows`, or rows that lie elsewhere."""

    @property
    def to_start_from(self) -> Rows:
        """The rows that a start looks at: all, or some of them."""

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of all rows; what is missing counts as the mean of its column."""


class SequenceData(FitData, Protocol):
    """Sequences: `Sequences`, or sequences that lie elsewhere."""

    def __len__(self) -> int: ...

    @property
    def n_begun(self) -> float:
        """The weight of all sequences."""

    @property
    def absent(self) -> np.ndarray:
        """The columns that have no entry."""

    @property
    def to_start_from(self) -> Sequences:
        """What a start looks at: all rows, or pieces of some sequences."""

    def hand_over(self) -> None:
        """Hand what is here over to the device, once for all steps of a fit."""


class PairData(FitData, Protocol):
    """Inputs with their targets: `Pairs`, or pairs that lie elsewhere."""

    @property
    def targets(self) -> np.ndarray:
        """The targets that a start looks at: all, or some of them."""

    @property
    def weight(self) -> np.ndarray | None:
        """Their weights; None is 1 for each."""


class ProviderContext(NamedTuple):
    """What data that lies elsewhere asks of the front door of a fit.

    `learn(X, sample_weight, highest)` learns the columns from rows that a start looks at, and returns them; `highest`
    are the highest entries of all rows. `prepare()` returns what turns further tables into data, as things stand.
    """

    learn: Callable[[Any, Any, Any], Any]
    prepare: Callable[[], Preparation]


class PairContext(NamedTuple):
    """What inputs and targets that lie elsewhere ask of the front door of a fit.

    `learn(X, y, sample_weight, found)` learns columns and targets from rows that a start looks at, and returns them;
    `found` are the different targets of all rows, or, of numbers, the highest of each column on one row. `prepare()`
    returns what turns a block (X, y, sample_weight) into pairs, as things stand.
    """

    learn: Callable[[Any, np.ndarray, Any, np.ndarray], Pairs]
    prepare: Callable[[], Callable[[Any, Any, Any], Pairs]]


class Provider(NamedTuple):
    """Who makes data of the collections of one library: of their rows, of their sequences, of rows with targets."""

    rows: Callable[[Any, Any, ProviderContext, bool], RowData]
    sequences: Callable[[Any, Any, Any, Any, ProviderContext], SequenceData]
    pairs: Callable[[Any, Any, Any, PairContext], PairData]


def provider_of(X: Any) -> Provider | None:
    """Return who makes data of a collection that lies elsewhere; None for a table that is here.

    Providers are entry points of the group `kullback.data`, by the name of the library of the collection.
    """
    library = type(X).__module__.partition(".")[0]
    provider = None if library in ("builtins", "numpy") else _load(library)
    if provider is None and hasattr(type(X), "__dask_graph__"):  # it would be taken for a table, and all of it fetched
        raise ValueError(
            f"X is a collection of {library}, and nothing that is installed provides its data: install kullback anew, "
            "as 'kullback[distributed]'."
        )
    return provider


@functools.cache
def _load(library: str) -> Provider | None:
    return next((point.load() for point in entry_points(group="kullback.data", name=library)), None)
