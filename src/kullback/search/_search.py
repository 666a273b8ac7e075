"""The contract of a search: a distribution over points that moves to where a function is small."""

import abc
import operator
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float


class Moments(NamedTuple):
    """What stopping rules see of a distribution: means, standard deviations, and the covariance's condition number."""

    mean: Float[Array, " n"]
    spread: Float[Array, " n"]
    condition: Float[Array, ""]


class Search(eqx.Module):
    """Minimize f by minimizing E_p[f] over a family of distributions p, a population of points at a time.

    ```python
    state = search.init(key)
    points, state = search.ask(state)
    state = search.tell(state, points, values)
    ```

    All are pure functions, and the state is a tuple of arrays, for `jit`, `vmap` and `scan`. The least value is the
    best; NaN and +∞ count as the worst. Only the order of the values is used unless a method says otherwise.
    """

    population: eqx.AbstractVar[int]

    @property
    @abc.abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of a point."""

    @property
    def compiles_quickly(self) -> bool:
        """Whether little is won by what XLA could do in ten times as long."""
        return True

    @abc.abstractmethod
    def init(self, key: Array) -> Any:
        """Return the state before the first population."""

    @abc.abstractmethod
    def ask(self, state: Any) -> tuple[Float[Array, "population n"], Any]:
        """Draw a population of points."""

    @abc.abstractmethod
    def tell(self, state: Any, points: Any, values: Any) -> Any:
        """Move the distribution towards the points with smaller values."""

    @abc.abstractmethod
    def distribution(self, state: Any) -> Any:
        """Return the distribution from which `ask` draws."""

    @abc.abstractmethod
    def spread(self, state: Any) -> Float[Array, " n"]:
        """Return the standard deviation of each coordinate."""

    @abc.abstractmethod
    def moments(self, state: Any) -> Moments:
        """Return what stopping rules see of the distribution."""


def check_population(population: Any, standard: int) -> int:
    """Return the size of a population, the standard one for None; raise where it is too small."""
    if population is None:
        return standard
    size = operator.index(population)
    if size < 2:
        raise ValueError(f"population is {population}: this search needs 2 points or more.")
    return size
