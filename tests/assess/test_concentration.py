"""Bounds of an error rate, each against all that can happen: coverage is a sum over counts, with no chance in it."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from kullback.assess import (
    ConfidenceInterval,
    bernoulli_kl,
    bernstein_interval,
    chernoff_interval,
    error_rate_interval,
    hoeffding_interval,
    kl_inverse,
    xi,
)
from kullback.families import Bernoulli

ROWS = (1, 2, 5, 17, 60)
DELTAS = (0.05, 0.3)


def wald(n, delta, side, candidates=1):
    """Return (2.129), which no theorem supports at finite n."""
    mean = np.arange(n + 1) / n
    z = scipy.stats.norm.isf(delta / candidates / (2 if side == "both" else 1))
    reach = z * np.sqrt(mean * (1 - mean) / n)
    lower, upper = np.clip(mean - reach, 0, 1), np.clip(mean + reach, 0, 1)
    return ConfidenceInterval(0 * lower if side == "upper" else lower, 0 * upper + 1 if side == "lower" else upper)


def hoeffding(n, delta, side, candidates=1):
    return hoeffding_interval(np.arange(n + 1) / n, n, delta, side=side, candidates=candidates)


def chernoff(n, delta, side, candidates=1):
    return chernoff_interval(np.arange(n + 1) / n, n, delta, side=side, candidates=candidates)


def bernstein(n, delta, side, candidates=1):
    mean = np.arange(n + 1) / n
    return bernstein_interval(mean, mean * (1 - mean) * n / (n - 1), n, delta, side=side, candidates=candidates)


def clopper_pearson(n, delta, side, candidates=1, method="exact"):
    each = [error_rate_interval(k, n, delta, side=side, candidates=candidates, method=method) for k in range(n + 1)]
    return ConfidenceInterval(np.array([one.lower for one in each]), np.array([one.upper for one in each]))


def wilson(n, delta, side, candidates=1):
    return clopper_pearson(n, delta, side, candidates, "wilson")


GUARANTEED = [hoeffding, chernoff, bernstein, clopper_pearson]


def least_coverage(interval, n):
    """Return the least probability, over rates, with which the interval of the count holds the rate.

    Rates are a grid, and those just outside of each interval, where the coverage jumps down.
    """
    ends = np.concatenate([np.linspace(0, 1, 201), interval.lower - 1e-9, interval.upper + 1e-9])
    p = ends[(ends >= 0) & (ends <= 1)][:, None]
    mass = scipy.stats.binom.pmf(np.arange(n + 1), n, p)
    return float(np.min(np.sum(mass * interval.contains(p), axis=1)))


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
@pytest.mark.parametrize("bound", GUARANTEED)
def test_a_bound_holds_for_every_rate(bound, side):
    for n in ROWS:
        for delta in DELTAS:
            if bound is not bernstein or n > 1:
                assert least_coverage(bound(n, delta, side), n) >= 1 - delta - 1e-12, (n, delta)


@pytest.mark.parametrize("bound", [wald, wilson])
def test_a_normal_approximation_does_not_hold_for_every_rate(bound):
    least = [least_coverage(bound(n, 0.05, "both"), n) for n in ROWS]
    assert min(least) < 0.9
    if bound is wald:
        assert max(least) < 0.05  # a rate near 0 or 1 is missed nearly always
    assert error_rate_interval(3, 10, method="wilson").approximate


def test_the_best_of_several_needs_the_union_bound():
    n, delta, candidates = 60, 0.05, 5
    p = np.linspace(0.005, 0.995, 199)[:, None]
    above = scipy.stats.binom.sf(np.arange(-1, n), n, p) ** candidates  # all have k errors or more
    mass = -np.diff(above, axis=1, append=0)  # of the least count
    for bound in GUARANTEED:
        covered = [np.sum(mass * bound(n, delta, "upper", one).contains(p), axis=1).min() for one in (1, candidates)]
        assert covered[1] >= 1 - delta - 1e-12
        if bound is clopper_pearson:
            assert covered[0] < 1 - delta


def test_the_union_bound_of_all_is_that_of_the_seed():
    """(2.109): ε = √((log|Θ| + log(2/δ)) / 2N), with the sign of the second logarithm put right."""
    found = hoeffding_interval(0.5, 400, 0.1, candidates=20)
    assert float(found.upper) == pytest.approx(0.5 + math.sqrt((math.log(20) + math.log(2 / 0.1)) / 800), abs=1e-15)


def test_bounds_of_a_known_case():
    def upper(found):
        return float(found.upper)

    assert upper(hoeffding_interval(0.05, 100, side="upper")) == pytest.approx(0.172, abs=5e-4)
    assert upper(chernoff_interval(0.05, 100, side="upper")) == pytest.approx(0.1215, abs=5e-5)
    assert error_rate_interval(5, 100, side="upper").upper == pytest.approx(
        scipy.stats.beta.ppf(0.95, 6, 95), abs=1e-12
    )
    for mean in np.linspace(0, 1, 21):  # Pinsker's inequality
        narrow, wide = chernoff_interval(mean, 50), hoeffding_interval(mean, 50)
        assert wide.lower <= narrow.lower <= mean <= narrow.upper <= wide.upper


def test_the_inverse_of_the_relative_entropy():
    q, c = np.meshgrid([0.0, 1e-6, 0.07, 0.5, 0.99], [1e-8, 1e-3, 0.2, 3.0])
    p = kl_inverse(q, c)
    assert ((p > q) & (p <= 1)).all()
    inside = 1 - p > 1e-6
    error = np.abs(bernoulli_kl(q, p) - c)
    assert (error[inside] <= 1e-9 * np.maximum(c, 1e-6)[inside]).all()
    np.testing.assert_allclose(kl_inverse(0.0, [0.0, 0.1, 5.0]), -np.expm1([-0.0, -0.1, -5.0]), rtol=1e-15)
    assert kl_inverse(1.0, 0.3) == 1.0
    assert kl_inverse(0.3, 0.0) == 0.3
    assert kl_inverse(0.3, np.inf) == 1.0


def test_the_relative_entropy_of_coins_is_that_of_the_family():
    ours = bernoulli_kl([0.1, 0.5, 0.9], [0.3, 0.5, 0.2])
    np.testing.assert_allclose(
        ours, Bernoulli([0.1, 0.5, 0.9]).relative_entropy(Bernoulli([0.3, 0.5, 0.2])), atol=1e-14
    )
    assert bernoulli_kl(0.5, 1.0) == np.inf
    assert bernoulli_kl(0.0, 0.0) == 0.0


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_xi_against_enumeration(n):
    def term(k):
        return math.comb(n, k) * Fraction(k, n) ** k * Fraction(n - k, n) ** (n - k)

    assert xi(n) == pytest.approx(float(sum(term(k) for k in range(n + 1))), rel=1e-12)
    for p in (0.3, 0.8):  # the same moment whatever the coin
        mass = scipy.stats.binom.pmf(np.arange(n + 1), n, p)
        moment = np.sum(mass * np.exp(n * bernoulli_kl(np.arange(n + 1) / n, p)))
        assert xi(n) == pytest.approx(moment, rel=1e-9)


def test_xi_lies_below_what_bounds_it():
    for n in (8, 100, 1_000):
        assert math.sqrt(n) <= xi(n) <= min(2 * math.sqrt(n), n + 1)
        assert xi(n) == pytest.approx(math.sqrt(math.pi * n / 2) + 2 / 3, abs=0.2 / math.sqrt(n))
    assert round(xi(1_000), 2) == 40.30


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: hoeffding_interval(1.2, 10), "mean is 1.2: it must be in"),
        (lambda: hoeffding_interval([0.2, np.nan], 10), r"mean\[1\] is nan"),
        (lambda: hoeffding_interval(0.2, 0), "n is 0: it must be a number of rows, at least 1"),
        (lambda: hoeffding_interval(0.2, np.nan), "n is nan"),
        (lambda: hoeffding_interval(0.2, 10, 0.0), "delta is 0.0: it is the probability"),
        (lambda: hoeffding_interval(0.2, 10, side="top"), "side is 'top'"),
        (lambda: chernoff_interval(0.2, 10, candidates=0), "candidates is 0"),
        (lambda: bernstein_interval(0.2, 0.1, 1), "at least 2"),
        (lambda: bernstein_interval(0.2, 0.7, 10), r"variance is 0.7: it must be in \[0, 0.5\]"),
        (lambda: error_rate_interval(11, 10), "errors is 11 and n is 10"),
        (lambda: error_rate_interval(1.5, 10), "errors is 1.5"),
        (lambda: error_rate_interval(1, 10, method="wald"), "method is 'wald'"),
        (lambda: kl_inverse(0.2, -1.0), "c is negative or NaN"),
        (lambda: kl_inverse(-0.2, 1.0), "q is -0.2"),
        (lambda: xi(0), "n is 0"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
