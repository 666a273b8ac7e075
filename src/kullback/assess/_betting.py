"""Confidence sequences: intervals of a mean that hold at every look, however often and whenever one looks.

Somebody bets against every value m that the mean could have, by what was seen before: with capital K⁺ that rows will
lie above m, with K⁻ that they will lie below. If m is the mean no bet wins in the long run, and by Ville's inequality
the capital ever reaches 1/α with a probability of at most α. What has reached it is left out for good.
"""

import math
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import ArrayLike

from kullback.assess._interval import ConfidenceInterval, as_number, check_delta, check_entries, check_rows

#: Values of the mean that are bet against, evenly spaced by the angle φ of sin²φ, in which coins have equal errors.
_VALUES = 8192
#: No bet risks more than this share of the capital.
_TRUNCATION = 0.5
#: Rows times values of one block, and its rows at most: factors of ½ are multiplied within it.
_BLOCK, _BLOCK_ROWS = 2**17, 256


class BettingSequence:
    """Where the mean of bounded rows lies, with probability 1 − alpha at all looks together (hedged capital).

    It holds for rows whose mean given the rows before is always the same, independent or not, and needs bounds that
    were known beforehand: the 0-1 loss, coverage, differences of scores that were clipped. Intervals only ever shrink.
    Memory and the time of a row do not grow; ends are rounded outwards to one of 8,192 values. One row at a time or
    many at once end at the same interval.

    Parameters
    ----------
    alpha : float
        The probability that the mean is ever left out.
    support : tuple of two floats
        Within which all rows lie.

    Attributes
    ----------
    n : int
        Rows seen.
    mean : float
        Of the rows seen; the middle of the support before the first.
    interval : ConfidenceInterval
        The interval after the last row. It is empty where no constant mean agrees with the rows, as when it drifts.

    References
    ----------
    Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, 2024.

    Examples
    --------
    >>> sequence = BettingSequence(alpha=0.05)
    >>> found = sequence.update(np.tile([0.0, 0.0, 0.0, 1.0], 250))
    >>> sequence.n, round(sequence.mean, 3), round(float(sequence.interval.lower), 2)
    (1000, 0.25, 0.19)
    >>> found.upper.shape  # after each row
    (1000,)

    """

    def __init__(self, alpha: float = 0.05, support: tuple[float, float] = (0.0, 1.0)) -> None:
        check_delta("alpha", alpha)
        low, high = (float(end) for end in support)
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(f"support is {support}: it must be two finite numbers, the lower one first.")
        self.alpha, self.support = float(alpha), (low, high)
        self.n = 0
        values = np.sin(np.linspace(0.0, np.pi / 2, _VALUES)) ** 2
        values[-1] = 1.0
        # capital is logarithms: of bets on "above" at values that may yet be too low, on "below" at those too high
        self._above, self._below = values, values
        self._log_above, self._log_below = np.zeros(_VALUES), np.zeros(_VALUES)
        self._ends = 0.0, 1.0
        self._sum, self._squares = 0.0, 0.0  # of rows, and of (row − mean after it)²

    @property
    def mean(self) -> float:
        """The mean of the rows seen."""
        return self._outside(self._sum / self.n if self.n else 0.5)

    @property
    def interval(self) -> ConfidenceInterval:
        """The interval after the last row."""
        low, high = self._ends
        return ConfidenceInterval(self._outside(low), self._outside(high))

    def update(self, rows: ArrayLike) -> ConfidenceInterval:
        """Take a row or several, one after the other, and return the interval after each of them."""
        given = np.atleast_1d(check_entries("rows", rows, *self.support))
        if given.ndim != 1:
            raise ValueError(f"rows has shape {given.shape}: it must be a number, or one number for each row.")
        low, high = self.support
        x = (given - low) / (high - low)
        bets = self._bets(x)
        lower, upper = np.empty(len(x)), np.empty(len(x))
        first = 0
        while first < len(x):
            wide = max(len(self._above), len(self._below), 1)
            part = slice(first, first + min(max(_BLOCK // wide, 1), _BLOCK_ROWS))
            lower[part], upper[part] = self._advance(x[part], bets[part])
            first += len(x[part])
        self.n += len(x)
        return ConfidenceInterval(self._outside(lower), self._outside(upper))

    def _outside(self, share: Any) -> Any:
        """Return shares of the support in the units of the rows."""
        low, high = self.support
        return low + (high - low) * share

    def _bets(self, x: np.ndarray) -> np.ndarray:
        """Return how much is bet on each row, by the rows before it: √(2 log(2/α) / (variance · t · log(t + 1)))."""
        t = self.n + np.arange(1, len(x) + 1)
        sums = np.cumsum(np.concatenate([[self._sum], x]))
        means = (0.5 + sums[1:]) / (t + 1)
        squares = np.cumsum(np.concatenate([[self._squares], (x - means) ** 2]))
        variance = (0.25 + squares[:-1]) / t
        self._sum, self._squares = float(sums[-1]), float(squares[-1])
        return np.asarray(np.sqrt(2 * math.log(2 / self.alpha) / (variance * t * np.log(t + 1))))

    def _advance(self, x: np.ndarray, bets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Move the capital by some rows, and return the ends after each of them, as shares of the support."""
        limit = math.log(2 / self.alpha)  # half of the capital is bet on either side
        low, high = self._ends
        beaten, self._log_above = _bet(self._log_above, self._above, x, bets, limit)
        lower = np.maximum.accumulate(np.max(np.where(beaten, self._above, low), axis=1, initial=low))
        beaten, self._log_below = _bet(self._log_below, 1 - self._below, 1 - x, bets, limit)
        upper = np.minimum.accumulate(np.min(np.where(beaten, self._below, high), axis=1, initial=high))
        self._ends = low, high = float(lower[-1]), float(upper[-1])
        # what is left out stays out; beyond the other end one value is kept, so that ends can pass each other
        kept = slice(*(np.searchsorted(self._above, (low, high), side="right") + (0, 1)))
        self._above, self._log_above = self._above[kept], self._log_above[kept]
        first, last = np.searchsorted(self._below, (low, high), side="left") - (1, 0)
        kept = slice(max(first, 0), last)
        self._below, self._log_below = self._below[kept], self._log_below[kept]
        return lower, upper


def _bet(
    before: np.ndarray, values: np.ndarray, x: np.ndarray, bets: np.ndarray, limit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Bet that rows lie above values: K gains the factor 1 + min(bet, ½/m)·(x − m) by each row.

    Returns where log K has reached the limit, after each row, and log K after the last one.
    """
    with np.errstate(divide="ignore", over="ignore"):
        most, needed = _TRUNCATION / values, np.exp(limit - before)
    factors = 1 + np.minimum(bets[:, None], most) * (x[:, None] - values)
    np.multiply.accumulate(factors, axis=0, out=factors)
    return factors >= needed, before + np.log(factors[-1])


def asymptotic_interval(
    n: ArrayLike, mean: ArrayLike, m2: ArrayLike, alpha: float = 0.05, *, tightest_at: float = 1_000.0
) -> ConfidenceInterval:
    """Return where a mean of unbounded rows lies, at all looks together; approximate, as it rests on a limit.

    It is for losses in nats along a stream, which have no bounds. The mean it is about is the average, over the rows so
    far, of what each was expected to be given those before it: rows need not be alike, and models may learn. There is
    no guarantee for few rows: begin to look after some dozens.

    Parameters
    ----------
    n : array_like
        Rows so far.
    mean : array_like
        Their mean.
    m2 : array_like
        Σ (row − mean)², as Welford's recursion keeps it.
    alpha : float
        About the probability that the mean is ever left out.
    tightest_at : float
        The number of rows at which the interval is as narrow as any of its kind.

    References
    ----------
    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform central limit theory and asymptotic confidence
    sequences, 2024.

    Examples
    --------
    >>> found = asymptotic_interval(1_000, 2.0, 1_000 * 0.25)
    >>> round(float(found.lower), 3), round(float(found.upper), 3), found.approximate
    (1.952, 2.048, True)

    """
    check_delta("alpha", alpha)
    n, mean, m2 = check_rows("n", n, 2), check_entries("mean", mean), check_entries("m2", m2, 0.0)
    if not (np.isfinite(tightest_at) and tightest_at >= 1):
        raise ValueError(f"tightest_at is {tightest_at}: it must be a number of rows, at least 1.")
    best = -float(scipy.special.lambertw(-(alpha**2) / math.e, -1).real) - 1  # ρ²·n where the width is least
    scale = n * best / tightest_at
    reach = np.sqrt(m2 / (n - 1) * 2 * (scale + 1) / (n * scale) * np.log(np.sqrt(scale + 1) / alpha))
    return ConfidenceInterval(as_number(mean - reach), as_number(mean + reach), True)


def prequential_interval(moments: ArrayLike, alpha: float = 0.05, *, tightest_at: float = 100.0) -> ConfidenceInterval:
    """Return where the mean loss of a stream lies, in nats per point, from `prequential_` of an estimator.

    The loss is −log p of each batch under the model before it has learned from it. The interval holds at all looks
    after batches together, approximately: it rests on a limit of many batches, whose means are its rows. While a model
    still learns, losses of its batches differ by more than chance, and the interval is wider than it need be.

    Parameters
    ----------
    moments : array_like of shape (4,)
        Batches, points, mean, and Σ points·(mean of a batch − mean)².
    alpha : float
        About the probability that the mean is ever left out.
    tightest_at : float
        The number of batches at which the interval is as narrow as any of its kind; the same for all looks at a stream.

    Examples
    --------
    >>> found = prequential_interval([400, 40_000, 2.0, 40_000 * 0.01])
    >>> round(float(found.width), 3), found.approximate
    (0.031, True)

    """
    kept = check_entries("moments", moments)
    if kept.shape != (4,) or kept[1] <= 0:
        raise ValueError(f"moments has shape {kept.shape}: pass `prequential_` of an estimator that has met a stream.")
    batches, points, mean, m2 = kept.tolist()
    if batches < 2:
        raise ValueError("one batch was foretold: its loss has no interval before the second one.")
    return asymptotic_interval(batches, mean, m2 * batches / points, alpha, tightest_at=tightest_at)
