"""Bounds: a search that moves freely, folded into a box."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds

Vector = NDArray[np.float64]


class Box(NamedTuple):
    """A box, and how wide its soft edges are. A side without a bound is infinite.

    A free coordinate y is folded into [l, u] with the edges a: x = y between l + a and u − a, and
    x = l + (y − l + a)²/(4a) between l − a and l + a, and so at u. What lies beyond is the mirror image of what lies
    before it. So x is a smooth function of y, every y has an x inside, and a minimum at l is one at y = l − a with a
    slope of zero, as inside the box.
    """

    lower: Vector
    upper: Vector
    edge: Vector

    def fold(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points of the box that belong to free points."""
        lower, upper, edge = self
        below, above = np.isfinite(lower), np.isfinite(upper)
        with np.errstate(invalid="ignore"):  # ∞ − ∞, in what is not taken
            first, last = lower - edge, upper + edge
            length = last - first
            along = np.mod(points - first, 2 * length)
            both = first + np.minimum(along, 2 * length - along)
            y = np.where(below & above, both, np.where(below, 2 * first - points, 2 * last - points))
            y = np.where((points >= first) & (points <= last), points, y)
            x = np.where(y < lower + edge, lower + (y - first) ** 2 / (4 * edge), y)
            x = np.where(y > upper - edge, upper - (last - y) ** 2 / (4 * edge), x)
        return np.clip(x, lower, upper)

    def unfold(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the free points nearest to the box that belong to points of it."""
        lower, upper, edge = self
        with np.errstate(invalid="ignore"):
            low = lower - edge + 2 * np.sqrt(edge * np.maximum(points - lower, 0))
            high = upper + edge - 2 * np.sqrt(edge * np.maximum(upper - points, 0))
        return np.where(points < lower + edge, low, np.where(points > upper - edge, high, points))

    def contains(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say of each point whether it is inside."""
        return np.all((points >= self.lower) & (points <= self.upper), axis=-1)

    @property
    def closed(self) -> bool:
        """Whether there is a bound on every side."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())


def check_box(bounds: Any, scale: Vector) -> Box | None:
    """Return the box for coordinates that are searched at these scales, None if nothing is bounded; raise where bounds
    are bad.
    """
    if bounds is None:
        return None
    n = len(scale)
    lower, upper = (np.broadcast_to(side, n).astype(float) for side in _sides(bounds, n))
    bad = np.isnan(lower) | np.isnan(upper) | (lower >= upper) | (lower == np.inf) | (upper == -np.inf)
    if bad.any():
        place = int(np.argmax(bad))
        raise ValueError(
            f"bounds has {lower[place]:g} and {upper[place]:g} for coordinate {place}: "
            f"the lower bound must be a number below the upper one."
        )
    if np.isinf(lower).all() and np.isinf(upper).all():
        return None
    return Box(lower, upper, np.minimum((upper - lower) / 10, scale))


def _sides(bounds: Any, n: int) -> tuple[Any, Any]:
    if isinstance(bounds, Bounds):
        sides = np.asarray(bounds.lb, dtype=float), np.asarray(bounds.ub, dtype=float)
        if all(side.shape in ((), (1,), (n,)) for side in sides):
            return sides
        raise ValueError(f"bounds has {sides[0].size} and {sides[1].size} numbers: x0 has {n} coordinates.")
    try:
        pairs = [tuple(pair) if np.ndim(pair) else pair for pair in bounds]
        if len(pairs) == 2 and all(np.ndim(side) == 0 for side in pairs):  # one pair for all
            pairs = [tuple(pairs)] * n
        if len(pairs) == n and all(len(pair) == 2 for pair in pairs):
            return (
                np.array([-np.inf if low is None else low for low, _ in pairs], dtype=float),
                np.array([np.inf if high is None else high for _, high in pairs], dtype=float),
            )
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"bounds must be a pair (lower, upper) for all coordinates or one for each of the {n}, with None for a side "
        f"that is open; it is {bounds!r}."
    )
