"""Confidence sequences by betting: intervals for a mean that hold at every look."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Means that are asked after, evenly from the lowest to the highest.
_GRID = 1001
#: The share of its capital that a bet may lose at most.
_TRUNCATION = 0.5


class BettingSequence:
    """An interval for the mean of numbers with known bounds, however often it is looked at (hedged capital).

    For each possible mean two gamblers bet, one that it is higher and one that it is lower, stakes depending on the
    past alone. A mean is out, for good, once the two together have 1/alpha times what they began with.

    Waudby-Smith, Ramdas, Estimating means of bounded random variables by betting (2024).

    Parameters
    ----------
    low, high : float
        Bounds that no number exceeds.
    alpha : float
        The probability that the mean is ever outside.

    Examples
    --------
    >>> sequence = BettingSequence(0.0, 1.0, alpha=0.05)
    >>> sequence.update(np.random.default_rng(0).random(1000) < 0.3)
    >>> low, high = sequence.interval
    >>> low < 0.3 < high, high - low < 0.12
    (True, True)

    """

    def __init__(self, low: float, high: float, alpha: float):
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"low and high are {low!r} and {high!r}: they must be finite, the lower one first.")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha!r}: it must be between 0 and 1.")
        self._low, self._width, self.alpha = float(low), float(high) - float(low), float(alpha)
        self.count, self._sum, self._squares = 0, 0.5, 0.25  # as if there had been one number in the middle
        self._means = np.linspace(0, 1, _GRID)
        self._capital = np.zeros((2, _GRID))  # logarithms
        self._inside = np.ones(_GRID, dtype=bool)

    def update(self, values: Any) -> None:
        """Take some more numbers, in their order."""
        x = (np.asarray(values, dtype=np.float64).ravel() - self._low) / self._width
        if not ((x >= -1e-12) & (x <= 1 + 1e-12)).all():
            raise ValueError(f"values must be from {self._low:g} to {self._low + self._width:g}.")
        if len(x) == 0:
            return
        stakes = self._stakes(x)[:, None]
        with np.errstate(divide="ignore"):
            up = np.minimum(stakes, _TRUNCATION / self._means)
            down = np.minimum(stakes, _TRUNCATION / (1 - self._means))
        off = x[:, None] - self._means
        capital = self._capital[:, None] + np.cumsum([np.log1p(up * off), np.log1p(-down * off)], axis=1)
        self._capital = capital[:, -1]
        richest = capital.max(axis=(0, 1)) - math.log(2)
        # a mean that all are against would leave nothing: then it varies, and what is nearest to the middle stays
        still = self._inside & (richest < -math.log(self.alpha))
        self._inside = still if still.any() else self._inside & (richest == richest[self._inside].min())

    def _stakes(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the stake on each number, from those before it: √(2·log(2/α) / (σ̂²·t·log(1 + t)))."""
        t = self.count + np.arange(1, len(x) + 1)
        means = (self._sum + np.cumsum(x)) / (t + 1)
        squares = self._squares + np.cumsum((x - means) ** 2)
        before = np.concatenate([[self._squares], squares[:-1]]) / t
        self.count, self._sum, self._squares = int(t[-1]), self._sum + float(x.sum()), float(squares[-1])
        return np.sqrt(2 * math.log(2 / self.alpha) / (before * t * np.log1p(t)))

    @property
    def interval(self) -> tuple[float, float]:
        """The lowest and the highest mean that is not out; half a step of the grid is added to both sides."""
        inside, step = self._means[self._inside], 0.5 / (_GRID - 1)
        low, high = max(inside[0] - step, 0.0), min(inside[-1] + step, 1.0)
        return self._low + float(low) * self._width, self._low + float(high) * self._width
