"""Coordinates that are whole numbers: f sees them rounded, and they stay alive."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kullback.families import DiagonalGaussian, Gaussian


def check_integers(integers: Any, n: int) -> NDArray[np.bool_]:
    """Return which of n coordinates are whole numbers, from their places or from a mask; raise where they are bad."""
    mask = np.zeros(n, dtype=bool)
    if integers is None:
        return mask
    given = np.asarray(integers)
    if given.dtype == bool and given.shape == (n,):
        return given.copy()
    if given.dtype == bool or given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise ValueError(
            f"integers is {integers!r}: it must be places of coordinates, or True or False for each of {n}."
        )
    if given.size and not (-n <= given.min() and given.max() < n):
        raise ValueError(f"integers is {integers!r}: x0 has the coordinates 0 to {n - 1}.")
    mask[given.astype(int)] = True
    return mask


def least_spread(dimension: int, population: int) -> float:
    """Return the least standard deviation of a whole number: ½/Φ⁻¹(1 − 1/(2nm)).

    From the middle of an integer, of the m·n coordinates of a population, one leaves it on average. Hamano, Saito,
    Nomura, Shirakawa, CMA-ES with margin (2022).
    """
    return float(0.5 / ndtri(1 - 1 / (2 * max(dimension * population, 2))))


class Stretch(NamedTuple):
    """y = center + factor·u: between the coordinates u of a search and those in which whole numbers are one unit apart.

    The factor of a whole number grows as its spread gets smaller, so that y never has less than `least_spread`. The
    search sees nothing of it: its steps may become as small as the other coordinates need.
    """

    center: NDArray[np.float64]
    factor: NDArray[np.float64]

    @classmethod
    def identity(cls, n: int) -> Self:
        """Return y = u."""
        return cls(np.zeros(n), np.ones(n))

    def apply(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y of u."""
        return self.center + self.factor * points

    def distribution(self, p: Any) -> Any:
        """Return the distribution of y, for a Gaussian p of u."""
        if np.all(self.factor == 1):
            return p
        mean, factor = self.apply(p.mean), self.factor
        if isinstance(p, Gaussian):
            return Gaussian(mean, p.covariance * factor[:, None] * factor)
        return DiagonalGaussian(mean, np.square(factor) * p.variance)

    def widen(
        self, mean: NDArray[np.float64], spread: NDArray[np.float64], whole: NDArray[np.bool_], population: int
    ) -> "Stretch":
        """Return the stretch for the next population: the mean of y stays where it is."""
        least = least_spread(len(mean), population)
        factor = np.where(whole, np.maximum(self.factor, least / spread), self.factor)
        return Stretch(self.center + (self.factor - factor) * mean, factor)
