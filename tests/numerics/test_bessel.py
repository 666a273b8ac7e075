"""The ratio of Bessel functions against mpmath."""

import jax
import mpmath as mp
import numpy as np

from contracts.quick import quick
from kullback.numerics import bessel_ratio, bessel_ratio_slope, inverse_bessel_ratio, log_i0e

#: all magnitudes, and both sides of where one formula gives way to another
KAPPA = np.concatenate([np.geomspace(1e-6, 1e6, 37), [0.999e-3, 1.001e-3, 1e-2, 99.99, 100.01, 200.0]])


def exact(kappa):
    with mp.workdps(50):
        rows = []
        for k in map(mp.mpf, map(float, kappa)):
            ratio = mp.besseli(1, k) / mp.besseli(0, k)
            rows.append([ratio, 1 - ratio / k - ratio**2])
        return np.array(rows, dtype=float).T


def test_ratio_and_slope():
    ratio, slope = exact(KAPPA)
    found = quick(lambda k: (bessel_ratio(k), bessel_ratio_slope(k), jax.vmap(jax.grad(bessel_ratio))(k)))(KAPPA)
    np.testing.assert_allclose(found[0], ratio, rtol=1e-13)
    np.testing.assert_allclose(found[1], slope, rtol=1e-10)
    np.testing.assert_allclose(found[2], slope, rtol=1e-10)


def test_log_i0e_and_its_slope():
    with mp.workdps(50):
        many = [mp.mpf(float(k)) for k in KAPPA]
        value = [float(mp.log(mp.besseli(0, k)) - k) for k in many]
        slope = [float(mp.besseli(1, k) / mp.besseli(0, k) - 1) for k in many]
    found = quick(lambda k: (log_i0e(k), jax.vmap(jax.grad(log_i0e))(k)))(KAPPA)
    np.testing.assert_allclose(found[0], value, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[1], slope, rtol=1e-12)


def test_inverse():
    ratio, slope = exact(KAPPA)
    kappa, derivative = quick(lambda r: (inverse_bessel_ratio(r), jax.vmap(jax.grad(inverse_bessel_ratio))(r)))(ratio)
    growth = ratio / (KAPPA * slope)
    assert np.all(np.abs(kappa / KAPPA - 1) <= 1e-14 * (1 + growth) + 1e-13)
    np.testing.assert_allclose(derivative, 1 / slope, rtol=1e-8)


def test_ends():
    of = (bessel_ratio, bessel_ratio_slope, jax.grad(bessel_ratio), inverse_bessel_ratio)
    found = quick(lambda k: [f(k) for f in of])(0.0)
    assert found == [0, 0.5, 0.5, 0]
