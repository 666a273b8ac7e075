"""Bounds of the mean of independent losses in [0, 1] that hold at any number of rows, looked at once.

Each is for one model that was fixed before the rows were seen; for the best of several, `candidates` says of how many,
and the probability of an error is shared among them (the union bound). The inequality of one model is not uniform over
models: after a choice by the same rows only the bound with all candidates holds.
"""

import math
from typing import Literal

import numpy as np
import scipy.special
import scipy.stats
from jaxtyping import Float
from numpy.typing import ArrayLike

from kullback.assess._interval import (
    ConfidenceInterval,
    Side,
    as_number,
    check_delta,
    check_entries,
    check_rows,
    check_side,
)

#: Halvings of the interval in which an inverse lies.
_HALVINGS = 60


def bernoulli_kl(q: ArrayLike, p: ArrayLike) -> Float[np.ndarray, "..."]:
    """Return kl(q, p), the relative entropy of a coin of probability q to one of probability p, in nats.

    >>> round(float(bernoulli_kl(0.5, 0.25)), 6)
    0.143841
    """
    q, p = np.asarray(q, dtype=np.float64), np.asarray(p, dtype=np.float64)
    return np.asarray(scipy.special.rel_entr(q, p) + scipy.special.rel_entr(1 - q, 1 - p))


def kl_inverse(q: ArrayLike, c: ArrayLike) -> Float[np.ndarray, "..."]:
    """Return the largest p ≥ q for which kl(q, p) ≤ c, by halving; what is left of the interval is rounded up.

    The least p ≤ q with the same distance is 1 − kl_inverse(1 − q, c).

    >>> round(float(kl_inverse(0.05, 0.03)), 4), round(float(kl_inverse(0.0, 0.1)), 6)  # the last is 1 − exp(−0.1)
    (0.1216, 0.095163)
    """
    q = check_entries("q", q, 0.0, 1.0)
    c = np.asarray(c, dtype=np.float64)
    if not (c >= 0).all():
        raise ValueError("c is negative or NaN: it bounds a relative entropy, and must be 0 or more.")
    q, c = np.broadcast_arrays(q, c)
    low, high = q.copy(), np.ones_like(q)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        near = bernoulli_kl(q, middle) <= c
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    return np.where(q == 0, -np.expm1(-c), np.where(c == 0, q, high))


def hoeffding_interval(
    mean: ArrayLike, n: ArrayLike, delta: float = 0.05, *, side: Side = "both", candidates: int = 1
) -> ConfidenceInterval:
    """Return mean ± √(log(1/δ)/2n), with δ/2 on each of two sides.

    Parameters
    ----------
    mean : array_like
        Of n losses in [0, 1].
    n : array_like
        How many rows it is the mean of.
    delta : float
        The probability that the expected loss lies outside.
    side : {"both", "lower", "upper"}
        "upper" bounds the loss from above alone, and has all of delta for that.
    candidates : int
        Among how many models the one of this mean was chosen, by the same rows.

    >>> found = hoeffding_interval(0.05, 100, 0.05, side="upper")
    >>> round(float(found.upper), 3)
    0.172

    """
    mean, n, log_term = _check(mean, n, delta, side, candidates)
    reach = np.sqrt(log_term / (2 * n))
    return _interval(mean - reach, mean + reach, side)


def chernoff_interval(
    mean: ArrayLike, n: ArrayLike, delta: float = 0.05, *, side: Side = "both", candidates: int = 1
) -> ConfidenceInterval:
    """Return the p with n·kl(mean, p) ≤ log(1/δ), δ/2 on each of two sides: never wider than Hoeffding's interval.

    Parameters are those of `hoeffding_interval`.

    >>> round(float(chernoff_interval(0.05, 100, 0.05, side="upper").upper), 3)
    0.122
    """
    mean, n, log_term = _check(mean, n, delta, side, candidates)
    return _interval(1 - kl_inverse(1 - mean, log_term / n), kl_inverse(mean, log_term / n), side)


def bernstein_interval(
    mean: ArrayLike,
    variance: ArrayLike,
    n: ArrayLike,
    delta: float = 0.05,
    *,
    side: Side = "both",
    candidates: int = 1,
) -> ConfidenceInterval:
    """Return mean ± (√(2V log(2/δ)/n) + 7 log(2/δ)/3(n − 1)), the empirical Bernstein bound of Maurer and Pontil.

    `variance` is V, that of the losses with n − 1 below; δ/2 is for each of two sides. It pays where V is small and
    rows are many. Other parameters are those of `hoeffding_interval`.

    >>> round(float(bernstein_interval(0.05, 0.05 * 0.95 * 100 / 99, 100, 0.05, side="upper").upper), 3)
    0.196
    """
    mean, n, log_term = _check(mean, n, delta, side, candidates, least=2)
    variance = check_entries("variance", variance, 0.0, 0.5)
    log_term = log_term + math.log(2)
    reach = np.sqrt(2 * variance * log_term / n) + 7 * log_term / (3 * (n - 1))
    return _interval(mean - reach, mean + reach, side)


def error_rate_interval(
    errors: int,
    n: int,
    delta: float = 0.05,
    *,
    side: Side = "both",
    candidates: int = 1,
    method: Literal["exact", "wilson"] = "exact",
) -> ConfidenceInterval:
    """Return where an error rate lies, of which `errors` in n rows were seen; by scipy's `binomtest`.

    "exact" is Clopper and Pearson's interval, which always holds and is the one for 0-1 loss on held-out rows; "wilson"
    is narrower and holds on average over rates: it is approximate. Other parameters are those of `hoeffding_interval`.

    >>> found = error_rate_interval(5, 100, side="upper")
    >>> round(float(found.upper), 3), found.approximate
    (0.102, False)
    """
    if method not in ("exact", "wilson"):
        raise ValueError(f"method is {method!r}: it must be 'exact' or 'wilson'.")
    if not (float(errors).is_integer() and float(n).is_integer() and 0 <= errors <= n and n >= 1):
        raise ValueError(
            f"errors is {errors} and n is {n}: errors must be a whole number from 0 to n, and n at least 1."
        )
    _check(0.0, n, delta, side, candidates)
    hypothesis = {"both": "two-sided", "upper": "less", "lower": "greater"}[side]
    test = scipy.stats.binomtest(int(errors), int(n), alternative=hypothesis)
    found = test.proportion_ci(1 - delta / candidates, method=method)
    return ConfidenceInterval(float(found.low), float(found.high), method == "wilson")


def xi(n: int) -> float:
    """Return ξ(n) = Σ_k C(n, k) (k/n)^k (1 − k/n)^(n−k), what E[exp(n·kl(mean, p))] is for n coins, for every p.

    It is the constant of (2.110), where N + 1 and 2√N bound it: it grows as √(πn/2) + 2/3.

    >>> round(xi(1_000), 2)
    40.3
    """
    if not (float(n).is_integer() and n >= 1):
        raise ValueError(f"n is {n}: it must be a whole number of rows, at least 1.")
    k = np.arange(int(n) + 1)
    log_choose = scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
    log_terms = log_choose + scipy.special.xlogy(k, k / n) + scipy.special.xlogy(n - k, 1 - k / n)
    return float(np.exp(scipy.special.logsumexp(log_terms)))


def _check(
    mean: ArrayLike, n: ArrayLike, delta: float, side: str, candidates: int, least: int = 1
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return mean and number of rows, and log(1/δ) of one side of one candidate."""
    check_delta("delta", delta)
    check_side(side)
    if not (float(candidates).is_integer() and candidates >= 1):
        raise ValueError(f"candidates is {candidates}: it must be a whole number, at least 1.")
    mean, n = check_entries("mean", mean, 0.0, 1.0), check_rows("n", n, least)
    return mean, n, math.log(candidates / delta) + (math.log(2) if side == "both" else 0.0)


def _interval(lower: np.ndarray, upper: np.ndarray, side: Side) -> ConfidenceInterval:
    lower = np.zeros_like(lower) if side == "upper" else np.clip(lower, 0.0, 1.0)
    upper = np.ones_like(upper) if side == "lower" else np.clip(upper, 0.0, 1.0)
    return ConfidenceInterval(as_number(lower), as_number(upper))
