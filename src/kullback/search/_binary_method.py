"""The contract of a search over spins, and what its ways have in common."""

import abc
import operator
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from kullback.families import Ising
from kullback.search._markov_field import MarkovField


class BinaryMethod(eqx.Module):
    """Minimize f on {−1, +1}ⁿ by minimizing E_p[f] over a family of distributions p, a population of points at a time.

    ```python
    state = search.init(key)
    points, state = search.ask(state)
    state = search.tell(state, points, values)
    ```

    All are pure functions for `jit` and `scan`, and compute in the default dtype. The least value is the best, NaN the
    worst, and only the order of the values is used; equal values count the same.
    """

    n: eqx.AbstractVar[int]
    population: eqx.AbstractVar[int]

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
    def distribution(self, state: Any) -> Ising | MarkovField:
        """Return the distribution from which `ask` draws."""

    @abc.abstractmethod
    def spread(self, state: Any) -> Float[Array, " n"]:
        """Return the standard deviation of each spin, 1 where nothing is known and 0 where it is settled."""


def checked_spins(n: Any) -> int:
    """Return the number of spins; raise where it is none."""
    try:
        spins = operator.index(n)
    except TypeError:
        raise TypeError(f"n is {n!r}: it must be a whole number, how many entries of −1 and +1 a point has.") from None
    if spins < 1:
        raise ValueError(f"n is {spins}: it must be 1 or more, how many entries of −1 and +1 a point has.")
    return spins


def checked_rate(rate: Any, standard: float, most: float) -> float:
    """Return the rate, the standard one for None; raise unless it is positive and at most `most`."""
    if rate is None:
        return standard
    if not 0 < rate <= most:
        limit = "" if most == float("inf") else f" and at most {most:g}"
        raise ValueError(f"rate is {rate}: it must be above 0{limit}.")
    return float(rate)
