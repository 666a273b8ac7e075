"""A search over spins, and the checks of what it is given."""

import operator
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from kullback.families import Ising
from kullback.numerics import Numeric
from kullback.search._search import Moments, Search
from kullback.search.spins._markov_field import MarkovField, spin_distribution


class SpinMethod(Search):
    """A search over points of {−1, +1}ⁿ, which starts at the uniform distribution.

    It computes in the default dtype. Only the order of the values is used; equal values count the same. The `spread` of
    a spin is 1 where nothing is known and 0 where it is settled. A state has the natural coordinates, `natural`, of the
    spins and the pairs.
    """

    n: eqx.AbstractVar[int]
    pairs: eqx.AbstractVar[Int[Numeric, "k 2"]]

    @property
    def dimension(self) -> int:
        """The number of spins."""
        return self.n

    def distribution(self, state: Any) -> Ising | MarkovField:
        """Return the distribution, an `Ising` member up to 20 spins."""
        return spin_distribution(np.asarray(state.natural), self.n, np.asarray(self.pairs))

    def moments(self, state: Any) -> Moments:
        """Return the spread; rules for spins look at no mean and no condition number."""
        spread = self.spread(state)
        return Moments(jnp.zeros_like(spread), spread, jnp.ones((), spread.dtype))


def check_spins(n: Any) -> int:
    """Return the number of spins; raise where it is none."""
    try:
        spins = operator.index(n)
    except TypeError:
        raise TypeError(f"n is {n!r}: it must be a whole number, how many entries of −1 and +1 a point has.") from None
    if spins < 1:
        raise ValueError(f"n is {spins}: it must be 1 or more, how many entries of −1 and +1 a point has.")
    return spins


def check_rate(rate: Any, standard: float, most: float) -> float:
    """Return the rate, the standard one for None; raise unless it is positive and at most `most`."""
    if rate is None:
        return standard
    if not 0 < rate <= most:
        limit = "" if most == float("inf") else f" and at most {most:g}"
        raise ValueError(f"rate is {rate}: it must be above 0{limit}.")
    return float(rate)
