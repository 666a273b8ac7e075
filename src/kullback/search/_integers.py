"""Coordinates that are whole numbers: f sees them rounded, and they stay alive."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri


def checked_integers(integers: Any, n: int) -> NDArray[np.bool_]:
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


def widened(
    points: NDArray[np.float64],
    mean: NDArray[np.float64],
    spread: NDArray[np.float64],
    mask: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Stretch the whole numbers of points around the mean to their least spread, where they have less.

    A search that is told of the stretched points learns that spread.
    """
    least = least_spread(len(mean), len(points))
    factor = np.where(mask, np.maximum(1, least / np.maximum(spread, np.finfo(float).tiny)), 1)
    return mean + (points - mean) * factor
