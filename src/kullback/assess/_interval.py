"""What every bound of the room answers with, and the checks that all of them share."""

from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

Side = Literal["both", "lower", "upper"]


class ConfidenceInterval(NamedTuple):
    """The values from `lower` to `upper`, numbers or arrays of the same shape.

    `approximate` says that the level is that of a limit (many rows, a normal mean) and no guarantee at this number of
    rows. Where `lower` is above `upper` the set is empty: no value agrees with all that was seen.
    """

    lower: Any
    upper: Any
    approximate: bool = False

    @property
    def width(self) -> Float[np.ndarray, "..."]:
        """How far it reaches; 0 where it is empty."""
        return np.asarray(np.maximum(np.subtract(self.upper, self.lower), 0.0))

    @property
    def empty(self) -> Bool[np.ndarray, "..."]:
        """Whether no value is in it."""
        return np.asarray(np.greater(self.lower, self.upper))

    def contains(self, value: ArrayLike) -> Bool[np.ndarray, "..."]:
        """Return whether a value is in it."""
        return np.asarray(np.less_equal(self.lower, value) & np.less_equal(value, self.upper))


def as_number(value: ArrayLike) -> Any:
    """Return an array of no axes as a plain number, and others as they are."""
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array


def check_delta(name: str, delta: float) -> None:
    """Raise unless this is the probability of an error."""
    if not 0 < delta < 1:
        raise ValueError(f"{name} is {delta}: it is the probability of an error, between 0 and 1.")


def check_side(side: str) -> None:
    """Raise unless an interval has such a side."""
    if side not in ("both", "lower", "upper"):
        raise ValueError(f"side is {side!r}: it must be 'both', 'lower' or 'upper'.")


def check_entries(name: str, values: ArrayLike, least: float = -np.inf, most: float = np.inf) -> np.ndarray:
    """Return values as an array of doubles, or raise at the first that is not finite or out of range."""
    array = np.asarray(values, dtype=np.float64)
    bad = ~(np.isfinite(array) & (array >= least) & (array <= most))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f"{name}[{', '.join(map(str, place))}]" if place else name
        allowed = "a finite number" if np.isinf(least) and np.isinf(most) else f"in [{least:g}, {most:g}]"
        raise ValueError(f"{where} is {array[place]:.6g}: it must be {allowed}.")
    return array


def check_rows(name: str, rows: ArrayLike, least: int) -> np.ndarray:
    """Return numbers of rows, or raise where there are too few."""
    array = np.asarray(rows, dtype=np.float64)
    if not (np.isfinite(array) & (array >= least)).all():
        shown = float(array.min()) if np.isfinite(array).all() else float("nan")
        raise ValueError(f"{name} is {shown:g}: it must be a number of rows, at least {least}.")
    return array
