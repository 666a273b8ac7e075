"""Differences of log Γ and digamma against many digits."""

import jax
import mpmath as mp
import numpy as np

from contracts.quick import quick
from kullback.numerics import digamma_rise, log_gamma_gap, log_rising, trigamma_fall

X = np.array([1e-6, 1e-3, 0.3, 1.0, 7.7, 15.9, 16.1, 300.0, 1e6, 1e12])[:, None]
STEP = np.array([0.0, 1e-9, 1e-3, 1.0, 2.0, 10.0, 333.0, 1e6])


def exact(of):
    with mp.workdps(50):
        rows = [[of(mp.mpf(float(x)) + mp.mpf(float(s))) - of(mp.mpf(float(x))) for s in STEP] for x in X[:, 0]]
        return np.array(rows, dtype=float)


def test_digamma_rise_keeps_its_relative_accuracy():
    np.testing.assert_allclose(quick(digamma_rise)(X, STEP), exact(mp.digamma), rtol=1e-13)


def test_trigamma_fall_keeps_its_relative_accuracy():
    np.testing.assert_allclose(quick(trigamma_fall)(X, STEP), -exact(lambda x: mp.psi(1, x)), rtol=1e-13)


def test_log_rising_is_as_good_as_its_terms():
    """Up to rounding of step·log(x + step) and of the tail 1/12x, however large log Γ(x) is."""
    found, expected = quick(log_rising)(X, STEP), exact(mp.loggamma)
    terms = STEP * (1 + np.abs(np.log(X + STEP))) + np.where(X < 16, 17 + np.abs(np.log(X)), 1 / (12 * X))
    assert np.all(np.abs(found - expected) <= 4e-15 * (terms + np.abs(expected)))
    assert np.all(np.asarray(found)[:, 0] == 0)


def test_slopes_are_each_other():
    """d/dstep log_rising is digamma(x + step), and d/dx is digamma_rise."""
    slope = quick(jax.vmap(jax.vmap(jax.grad(log_rising), (None, 0)), (0, None)))(X[2:8, 0], STEP[3:])
    np.testing.assert_allclose(slope, digamma_rise(X[2:8], STEP[3:]), rtol=1e-12)


def test_log_gamma_gap_is_what_stirling_leaves():
    """In 64 and in 32 bits, where k·log k has no digits left of the difference; and its slope log k − digamma(k)."""
    for precision, far, tolerance in ((np.float64, 300, 1e-13), (np.float32, 40, 1e-5)):
        k = np.exp(np.linspace(-far, far, 61)).astype(precision)
        value, slope = quick(lambda k: (log_gamma_gap(k), jax.vmap(jax.grad(log_gamma_gap))(k)))(k)
        with mp.workdps(300):
            many = [mp.mpf(float(x)) for x in k]
            gap = [float(x * mp.log(x) - x - mp.loggamma(x)) for x in many]
            fall = [float(mp.log(x) - mp.digamma(x)) for x in many]
        np.testing.assert_allclose(value, gap, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(slope, fall, rtol=2 * tolerance)
