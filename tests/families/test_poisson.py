"""The entropy of counts over all rates, and what is not a count."""

import jax
import mpmath as mp
import numpy as np
from scipy import stats

from contracts.quick import quick
from kullback.families import Poisson


def entropy(rate):
    """−Σ P log P in 40 digits, over all counts that matter."""
    with mp.workdps(40):
        rate = mp.mpf(float(rate))
        reach = 14 * mp.sqrt(rate) + 40
        total = mp.mpf(0)
        for x in range(max(0, int(rate - reach)), int(rate + reach) + 1):
            log_p = x * mp.log(rate) - rate - mp.loggamma(x + 1)
            total -= mp.exp(log_p) * log_p
        return float(total)


def test_entropy():
    """On both sides of where the sum gives way to the series, and far from it."""
    rates = np.array([1e-6, 1e-3, 0.1, 1.0, 7.5, 40.0, 63.9, 64.1, 70.0, 150.0, 1000.0])
    found = quick(lambda p: p.entropy)(Poisson(rates))
    np.testing.assert_allclose(found, [entropy(r) for r in rates], rtol=1e-12)


def test_entropy_of_large_rates():
    """½·log(2πeλ) − 1/12λ − … : for a million two terms are all the digits."""
    rates = np.array([1e5, 1e6])
    expected = 0.5 * np.log(2 * np.pi * np.e * rates) - 1 / (12 * rates) - 1 / (24 * rates**2)
    np.testing.assert_allclose(quick(lambda p: p.entropy)(Poisson(rates)), expected, rtol=1e-13)


def test_entropy_is_differentiable():
    """H′(λ) = −Σ P′ log P, by differences of the sum; also across the change of formula."""
    rates = np.array([0.5, 20.0, 63.0, 65.0])
    slope = quick(jax.vmap(jax.grad(lambda r: Poisson(r).entropy)))(rates)
    differences = [(entropy(r + 1e-4) - entropy(r - 1e-4)) / 2e-4 for r in rates]
    np.testing.assert_allclose(slope, differences, rtol=1e-6)


def test_what_is_not_a_count_has_no_mass():
    p = Poisson(np.array([2.0, 0.0]))
    found = quick(lambda p, x: p.log_prob(x))(p, np.array([[-1.0], [0.5], [np.nan], [0.0], [1.0]]))
    assert np.all(found[:3] == -np.inf)
    np.testing.assert_allclose(found[3], [-2, 0])
    np.testing.assert_allclose(found[4], [np.log(2) - 2, -np.inf])


def test_large_counts():
    x = np.array([999_000.0, 1e6, 1_002_000.0])
    np.testing.assert_allclose(Poisson(1e6).log_prob(x), stats.poisson(1e6).logpmf(x), rtol=1e-9)
