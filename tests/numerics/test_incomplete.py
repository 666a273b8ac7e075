"""Incomplete gamma and beta functions, at parameters of all sizes."""

import jax
import mpmath
import numpy as np
import pytest

from kullback.families import Beta, Gamma, Poisson
from kullback.numerics import lower_beta, lower_gamma, upper_gamma
from kullback.runtime import computing


def of_shares(alpha, beta, x):
    return float(mpmath.betainc(alpha, beta, 0, x, regularized=True))


@pytest.mark.parametrize("shape", [0.3, 2.5, 400.0])
def test_small_ones_are_those_of_mpmath_traced_or_not(shape):
    x = 1.1 * shape
    with computing():
        found, other = float(lower_gamma(shape, x)), float(upper_gamma(shape, x))
        traced = float(jax.jit(lower_gamma)(shape, x))
        shares = float(lower_beta(shape, 2.0, 0.7)), float(jax.jit(lower_beta)(shape, 2.0, 0.7))
    expected = float(mpmath.gammainc(shape, 0, x, regularized=True))
    assert np.allclose([found, 1 - other, traced], expected, rtol=1e-12)
    assert np.allclose(shares, of_shares(shape, 2.0, 0.7), rtol=1e-12)


@pytest.mark.parametrize("size", [1e8, 1e12, 1e16])
def test_large_ones_are_normal_with_the_term_of_their_skewness(size):
    """P(X ≤ μ + z·σ) = Φ(z) − s/6·(z² − 1)·φ(z) + O(1/size), for sums of many terms with skewness s."""
    z = 0.4
    normal, density = 0.6554217416103242, 0.36827014030332333

    def expected(skewness):
        return normal - skewness / 6 * (z**2 - 1) * density

    with computing():
        gamma = float(Gamma(shape=size, rate=1.0).cdf(size + z * np.sqrt(size)))
        assert abs(gamma - expected(2 / np.sqrt(size))) < 4 / size + 1e-7 / np.sqrt(size) + 1e-15 * np.sqrt(size)
        counts = float(Poisson(size).cdf(np.floor(size + z * np.sqrt(size))))
        assert abs(counts - expected(1 / np.sqrt(size))) < 1 / np.sqrt(size)
        alpha, beta = size, 3 * size
        mean, deviation = 0.25, np.sqrt(0.25 * 0.75 / (4 * size + 1))
        shares = float(Beta(alpha, beta).cdf(mean + z * deviation))
        assert abs(shares - normal) < 1 / np.sqrt(size) + 1e-15 / deviation
