"""Logarithms of scales far out: what is clipped, and which way the slopes lead."""

import jax
import numpy as np
from scipy import stats

from contracts.quick import quick
from kullback.numerics import bounded_log_ratio, bounded_log_scale, log_normal


def test_bounds_keep_the_slope():
    for precision, most in ((np.float32, 40), (np.float64, 300)):
        x = np.array([-1e6, -most, -1.5, 0, most, 1e6], precision)
        value, slope = quick(lambda x: (bounded_log_scale(x), jax.vmap(jax.grad(bounded_log_scale))(x)))(x)
        np.testing.assert_array_equal(value, np.clip(x, -most, most))
        np.testing.assert_array_equal(slope, np.ones_like(x))
        with np.errstate(over="raise", under="raise"):
            np.exp(2 * np.asarray(value))
    np.testing.assert_array_equal(quick(bounded_log_ratio)(np.array([-1e4, 5.0, 1e4])), [-1e4, 5.0, 400.0])


def test_log_normal_is_the_density_and_its_slopes_are_finite():
    away, log_scale = (each.ravel() for each in np.meshgrid(np.linspace(-9, 9, 7), np.linspace(-4, 4, 5)))
    work = quick(lambda a, s: (log_normal(a, s), *jax.vmap(jax.grad(log_normal, (0, 1)))(a, s)))
    value, by_away, by_scale = work(away, log_scale)
    sigma = np.exp(log_scale)
    np.testing.assert_allclose(value, stats.norm(0, sigma).logpdf(away), rtol=1e-13)
    np.testing.assert_allclose(by_away, -away / sigma**2, rtol=1e-13)
    np.testing.assert_allclose(by_scale, (away / sigma) ** 2 - 1, rtol=1e-13)
    far = work(np.array([1e6, -1e30, 1.0], np.float32), np.array([-40, -40, -40], np.float32))
    assert all(np.all(np.isfinite(each)) for each in far)
    np.testing.assert_allclose(far[0][2], -0.5 * np.exp(80), rtol=1e-5)  # within the bounds it is exact


def test_what_is_far_beyond_the_bounds_is_at_them():
    far = np.array([1e199, -1e199, 301.0, 2.0])
    np.testing.assert_array_equal(bounded_log_scale(far), [300.0, -300.0, 300.0, 2.0])
    np.testing.assert_array_equal(bounded_log_ratio(far), [400.0, -1e199, 301.0, 2.0])
