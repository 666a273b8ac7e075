"""What the states of a hidden Markov model emit: the contract between an estimator and each kind of emission."""

import abc
import dataclasses
import functools
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from kullback.estimators.data._columns import check_table
from kullback.estimators.data._sequences import Sequences
from kullback.estimators.hidden_markov._starts import StateStart
from kullback.families import Independent
from kullback.models import HiddenMarkovModel
from kullback.numerics import with_article
from kullback.runtime import in_float64


class ModelDescription(NamedTuple):
    """What a model says of the estimator that can hold it."""

    parameters: dict[str, Any]  # of the constructor
    shape: dict[str, Any]  # the attributes_ that say what data it is for: `n_features_in_`, and what else there is


@dataclasses.dataclass(frozen=True)
class Emission(abc.ABC):
    """What the states emit: one final class for each kind.

    Fields are parameters of the estimator, by their names; `of` reads them whenever an emission is needed. What was
    learned, or set by hand, are attributes_ of the estimator, which comes in as `holder`: an emission reads them, and
    sets none.
    """

    n_components: int
    params: str
    init_params: str

    #: The letters of `params` and `init_params` that stand for emissions.
    letters: ClassVar[str] = "e"
    #: Whether draws are whole numbers.
    integers: ClassVar[bool] = False
    #: How many rows before and after a row k-means sees with it.
    neighbors: ClassVar[int] = 0
    #: The parameter that keeps emissions that were never seen possible, if there is one.
    remedy: ClassVar[str | None] = None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Return the emission that the parameters of an estimator describe."""
        return cls(*(getattr(estimator, name, default) for name, default in _parameters(cls)))

    @property
    @abc.abstractmethod
    def families(self) -> Any:
        """What the entries of columns mean: the name of a family for all of them, or one for each."""

    @property
    def tied(self) -> tuple[str, ...]:
        """The parameters that all states have in common."""
        return ()

    @property
    def point_variance(self) -> float:
        """The variance of a data point."""
        return 0.0

    # --- data ---------------------------------------------------------------------------------------------

    def check(self, X: np.ndarray, holder: Any, first: bool) -> None:
        """Raise unless the entries of X are what the states can emit."""
        check_table(X, self.families)

    def read(self, X: np.ndarray, holder: Any) -> dict[str, Any]:
        """Return what the first rows say besides numbers, as attributes_: how many symbols there are."""
        return {}

    def features(self, X: np.ndarray, holder: Any) -> np.ndarray:
        """Return what a row by itself shows of its state: numbers whose distances mean something."""
        return X

    # --- emissions ----------------------------------------------------------------------------------------

    @abc.abstractmethod
    def start(self, data: Sequences, start: StateStart, holder: Any) -> Any:
        """Return the emissions that states start with; those that are not in `init_params` as they are."""

    @abc.abstractmethod
    def from_attributes(self, holder: Any) -> Any:
        """Return the emissions of the attributes_."""

    @abc.abstractmethod
    def attributes(self, emissions: Any) -> dict[str, np.ndarray]:
        """Return the attributes_ that hold emissions."""

    def prior(self, emissions: Any, first: bool) -> Any:
        """Return the prior of the emissions, or None. It enters with the first step of a stream, or with each of a fit.

        It keeps what is not in `params` as it is; after the first step it does only that.
        """
        return None

    @in_float64
    def means(self, emissions: Any) -> np.ndarray:
        """Return what each state emits on average."""
        return np.asarray(emissions.column_means).reshape(self.n_components, -1)

    @abc.abstractmethod
    def count_parameters(self, holder: Any) -> dict[str, int]:
        """Return the number of free parameters of the emissions of all states, by their letters."""

    @classmethod
    @abc.abstractmethod
    def describe(cls, model: Any) -> ModelDescription:
        """Return what the estimator of a model is; raise unless it can hold it."""

    # --- for subclasses -----------------------------------------------------------------------------------

    def starts(self, letter: str, name: str, holder: Any) -> bool:
        """Say whether a start makes this attribute_: it is asked for, or was never set."""
        return letter in self.init_params or not hasattr(holder, name)


@functools.cache
def _parameters(emission: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a kind of emission, and what they are by default."""
    return tuple((field.name, field.default) for field in dataclasses.fields(emission))


def broadcast(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a parameter with one entry for each of a model's; one number stands for all of them."""
    array = np.asarray(value, dtype=np.float64)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} has shape {array.shape}: it must be a number, or of shape {shape}.") from None


def broadcast_columns(name: str, value: Any, k: int, n: int) -> np.ndarray:
    """Return a parameter with one entry for each state and column.

    A list of numbers has one for each column, as hmmlearn takes it; where there is another number of states, it may
    have one for each of these, as hmmlearn says it.
    """
    array = np.asarray(value, dtype=np.float64)
    per_state = array.ndim == 1 and len(array) == k != n
    return broadcast(name, array[:, None] if per_state else array, (k, n))


def check_hidden_markov(model: Any) -> None:
    """Raise unless an estimator can hold a model of this kind."""
    if not isinstance(model, HiddenMarkovModel):
        raise ValueError(f"the model is {with_article(type(model).__name__)}: it must be a HiddenMarkovModel.")
    if model.ending is not None:
        raise ValueError("the model has an ending: the sequences of these estimators end when the data does.")


def emissions_of(model: Any, kinds: tuple[type, ...], needs: str) -> Any:
    """Return the emissions of a hidden Markov model, or their columns, if they are what an estimator can hold."""
    check_hidden_markov(model)
    found = model.emissions.columns if isinstance(model.emissions, Independent) else model.emissions
    if type(found) not in kinds:
        raise ValueError(f"the model emits {type(found).__name__}: {needs}.")
    return found


def check_rows_sum_to_1(name: str, rows: np.ndarray) -> None:
    """Raise unless each row holds probabilities; hmmlearn's words where they do not sum to 1."""
    if not np.allclose(rows.sum(axis=1), 1):
        raise ValueError(f"{name} rows must sum to 1 (got row sums of {rows.sum(axis=1)})")
    if (rows < 0).any():
        raise ValueError(f"{name} must not be negative; its rows are {rows.tolist()}")


def normalize(probabilities: Any) -> np.ndarray:
    """Return probabilities that sum to 1, of those that were typed with a few digits."""
    array = np.asarray(probabilities, dtype=np.float64)
    total = array.sum(axis=-1, keepdims=True)
    return array if (np.abs(total - 1) < 1e-9).all() else array / total
