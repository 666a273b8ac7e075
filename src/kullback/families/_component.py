"""What a model of rows says of itself, so that mixtures, chains, files and pages need no list of families."""

import abc
import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kullback.core import Batch, ClosedFormModel, Completion, Want
from kullback.families._marginal import Marginal
from kullback.numerics import with_article


class Support(NamedTuple):
    """The values that the entries of a row may have.

    `contains` takes entries to bools; `must_be` ends the sentence "it must be …". Of `codes`, numbers 0, 1, … of
    categories, the data says how many there are. `total` is what every row sums to: a number, or the "same" for all
    rows, which the data says too.
    """

    contains: Callable[[NDArray[Any]], NDArray[Any]]
    must_be: str
    discrete: bool = False
    codes: bool = False
    total: float | Literal["same"] | None = None


def is_whole(x: NDArray[Any]) -> NDArray[Any]:
    """Say which entries are 0, 1, 2, …"""
    return (x >= 0) & (np.floor(x) == x)


def is_count(x: NDArray[Any]) -> NDArray[Any]:
    """Say which entries are counts: beyond the largest of them numbers have gaps."""
    return is_whole(x) & (x <= 2.0**53)


#: The supports of several families.
REALS = Support(np.isfinite, "a finite number")
COUNTS = Support(is_count, "a count 0, 1, 2, … up to 2^53", discrete=True)


class Component(ClosedFormModel):
    """A model of single rows that can be the components of a mixture, or what the states of a chain emit.

    It is batched over leading axes. What is said here has a default, apart from shapes and means; a family that
    overrides none of it can be learned, but not be named in `family=`, for want of a member to begin with.
    """

    #: What the entries of a row may be.
    support: ClassVar[Support] = REALS
    #: Whether distances between rows mean something as they are, so that clusters are looked for without scaling.
    euclidean: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes: how many members are held."""

    @property
    @abc.abstractmethod
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one point."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of coordinates of a member."""

    @property
    @abc.abstractmethod
    def column_means(self) -> Any:
        """The mean of each column: of angles their direction, of categories that of their numbers.

        It can be asked under jit, unless the members have an embedding of their own.
        """

    @property
    def mode(self) -> Any:
        """The most probable point. Where a density has no maximum, the point of its support next to where it grows."""
        raise NotImplementedError(f"{type(self).__name__} has no mode: define `mode`, the most probable point.")

    @property
    def column_variances(self) -> Any:
        """The variance of each column, where all columns are sizes; otherwise None."""
        return None

    @property
    def codes(self) -> int:
        """How many categories each column has; 0 where entries are no numbers of categories."""
        return 0

    @property
    def row_total(self) -> int:
        """What every row sums to, where the members say it; 0 elsewhere."""
        return 0

    @property
    def visible_levels(self) -> tuple[tuple[float, ...], ...]:
        """The values that each entry of a point may have; () for one that has countless."""
        return ((),) * math.prod(self.event_shape)

    # --- the lowest energy, and draws -------------------------------------------------------------------

    def completed(self, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
        """Return the rows with what is missing at its mode, or drawn: nothing is hidden."""
        self.check_single()
        if want == ("h",):
            name = with_article(type(self).__name__)
            raise ValueError(f"want is ('h',): nothing is hidden in {name}, so ask for 'v', what is missing of rows.")
        if temperature == 0:
            v = self.conditional_mode(batch)
        else:
            v = (self if temperature == 1 else self.tempered(temperature)).impute(batch, key)
        return Completion(v, None, -self.log_likelihood(batch.filled(v)), True)

    def check_single(self) -> None:
        """Raise where there are several members: rows are completed by one."""
        if self.batch_shape:
            raise ValueError(
                f"{type(self).__name__} holds members of batch shape {self.batch_shape}: rows are completed by one, so "
                "pick it, or make a Mixture of them."
            )

    # --- names and a place to begin ---------------------------------------------------------------------

    @classmethod
    def family_name(cls) -> str:
        """Return the name in `family=`: that of the class, in small letters with underscores."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @classmethod
    def column_name(cls) -> str | None:
        """Return the name in a list with one family for each column; None where columns depend on each other."""
        return None

    @classmethod
    def plain(cls, members: int, columns: int, categories: int = 0, trials: int = 0) -> "Component":
        """Return members that are all alike, for rows of so many columns: learning begins with them."""
        raise NotImplementedError(f"{cls.__name__} has no plain member: define `plain` to name it in `family=`.")

    @classmethod
    def least_parameters(cls, columns: int, categories: int = 0) -> int:
        """Return how many numbers a member has at least, so that no file can claim a model larger than itself."""
        return columns

    @classmethod
    def cluster_view(cls, column: NDArray[Any], categories: int = 0) -> NDArray[Any]:
        """Return a column of the data as features, (rows, features), whose distances k-means can compare."""
        return column[:, None]

    # --- parameters -------------------------------------------------------------------------------------

    def validate(self) -> Self:
        """Return the same members, made anew by the constructor, which checks their parameters."""
        return type(self)(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})

    def raise_zeros(self, least: float) -> Self:
        """Return members that rule out no category and no count: probabilities and rates of 0 become `least`."""
        return self

    # --- pictures ---------------------------------------------------------------------------------------

    def moments(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return the means and covariance matrices of K members, where all columns are sizes."""
        variances = self.column_variances
        if variances is None:
            return None
        means = np.asarray(self.column_means, dtype=float)
        return means, np.asarray(variances, dtype=float)[..., None] * np.eye(means.shape[-1])

    def marginals(self, totals: NDArray[Any] | None = None) -> list[Marginal]:
        """Return what a picture of each column draws of K members; `totals` are those of the data's rows.

        Without a rule of its own the columns of a family cannot be drawn.
        """
        count = int(np.prod(self.event_shape))
        return [Marginal(None, type(self).__name__, {}) for _ in range(count)]
