"""Inverses and differences of the digamma function against mpmath, over 1e-6 … 1e6."""

import functools

import jax
import mpmath as mp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.numerics import (
    dirichlet_concentration,
    dirichlet_slack,
    gamma_shape,
    inverse_digamma,
    log_gap,
    log_means,
    trigamma,
    trigamma_excess,
    trigamma_shortfall,
)

RANGE = np.geomspace(1e-6, 1e6, 49)


def many_digits(of):
    """Evaluate a function of mpmath numbers in 50 digits and round once."""

    @functools.wraps(of)
    def rounded(*args):
        with mp.workdps(50):
            result = of(*(mp.mpf(float(a)) if np.ndim(a) == 0 else [mp.mpf(float(v)) for v in a] for a in args))
            return np.array(result, dtype=float)

    return rounded


@many_digits
def exact_log_means(alpha):
    return [mp.digamma(a) - mp.digamma(sum(alpha)) for a in alpha]


@many_digits
def exact_slack(alpha):
    return 1 / mp.polygamma(1, sum(alpha)) - sum(1 / mp.polygamma(1, a) for a in alpha)


def test_trigamma():
    exact = [many_digits(lambda x: mp.polygamma(1, x))(x) for x in RANGE]
    np.testing.assert_allclose(trigamma(RANGE), exact, rtol=1e-14)


def test_inverse_digamma():
    y = np.array([many_digits(mp.digamma)(x) for x in RANGE])
    # an error of one unit in the last place of y moves x by |y|/(x·ψ′(x)) units
    growth = 1 + np.abs(y) / (RANGE * np.asarray(trigamma(RANGE)))
    x, slope = quick(lambda y: (inverse_digamma(y), jax.vmap(jax.grad(inverse_digamma))(y)))(y)
    assert np.all(np.abs(x - RANGE) <= 1e-14 * growth * RANGE)
    np.testing.assert_allclose(slope, [1 / many_digits(lambda x: mp.polygamma(1, x))(x) for x in RANGE], rtol=1e-12)


def test_gamma_shape():
    """The equation is as well conditioned as can be: the relative errors of s and of k are alike."""
    s = np.array([many_digits(lambda k: mp.log(k) - mp.digamma(k))(k) for k in RANGE])
    np.testing.assert_allclose(quick(gamma_shape)(s), RANGE, rtol=1e-10)


def test_gamma_shape_slope():
    s = np.array([many_digits(lambda k: mp.log(k) - mp.digamma(k))(k) for k in RANGE])
    slope = quick(jax.vmap(jax.grad(gamma_shape)))(s)
    exact = [many_digits(lambda k: 1 / (1 / k - mp.polygamma(1, k)))(k) for k in RANGE]
    np.testing.assert_allclose(slope, exact, rtol=1e-8)


@functools.cache
def concentrations(k):
    """Small, large and mixed ones, all alike, and one that dominates."""
    rng = np.random.default_rng(k)
    alike = np.geomspace(1e-6, 1e6, 13)[:, None] * np.ones(k)
    mixed = 10.0 ** rng.uniform(-6, 6, (30, k))
    one_large = np.where(np.arange(k) == 0, 1e6, 1e-6) * np.ones((1, k))
    one_small = np.where(np.arange(k) == k - 1, 1e-6, 1e6) * np.ones((1, k))
    close = 1e5 * (1 + 1e-3 * rng.standard_normal((3, k)))
    return np.concatenate([alike, mixed, one_large, one_small, close])


@pytest.mark.parametrize("k", [2, 5])
def test_log_means(k):
    alpha = concentrations(k)
    exact = np.array([exact_log_means(row) for row in alpha])
    np.testing.assert_allclose(quick(log_means)(alpha), exact, rtol=1e-13)


@pytest.mark.parametrize("k", [2, 5])
def test_dirichlet_slack(k):
    """It is a small difference of large numbers, and keeps its relative accuracy."""
    alpha = concentrations(k)
    exact = np.array([exact_slack(row) for row in alpha])
    np.testing.assert_allclose(quick(dirichlet_slack)(alpha)[:, 0], exact, rtol=1e-9)
    far = np.exp(np.random.default_rng(k).uniform(-30, 300, (30, k)))
    with mp.workdps(300):
        exact = np.array([float(exact_slack.__wrapped__([mp.mpf(float(a)) for a in row])) for row in far])
    np.testing.assert_allclose(quick(dirichlet_slack)(far)[:, 0], exact, rtol=1e-12)


def test_gaps_of_the_gamma_at_all_scales():
    k = np.exp(np.linspace(-300, 300, 61))
    found = quick(lambda k: (log_gap(k), trigamma_excess(k), trigamma_shortfall(k)))(k)
    with mp.workdps(300):
        exact = (
            [float(mp.log(x) - mp.digamma(x)) for x in map(mp.mpf, k.tolist())],
            [float(x * mp.psi(1, x) - 1) for x in map(mp.mpf, k.tolist())],
            [float(x - 1 / mp.psi(1, x)) for x in map(mp.mpf, k.tolist())],
        )
    for here, known in zip(found, exact, strict=True):
        np.testing.assert_allclose(here, known, rtol=1e-13)


@pytest.mark.parametrize("k", [2, 8])
def test_dirichlet_concentration(k):
    """From exact means of logarithms, with the errors that the rounding of those means excuses."""
    alpha = concentrations(k)
    eta = np.array([exact_log_means(row) for row in alpha])
    found = np.asarray(quick(dirichlet_concentration)(eta))
    growth = np.array([exact_growth(row) for row in alpha])
    assert np.all(np.abs(found / alpha - 1) <= 1e-12 * (1 + growth))
    back = np.array([exact_log_means(row) for row in found])
    np.testing.assert_allclose(back, eta, rtol=1e-11)


@many_digits
def exact_growth(alpha):
    """Σ_j |∂α_i/∂η_j|·|η_j|/α_i, with the inverse of diag(ψ′(α)) − ψ′(Σα) by Sherman and Morrison."""
    inverse = [1 / mp.polygamma(1, a) for a in alpha]
    total = 1 / mp.polygamma(1, sum(alpha))
    eta = [mp.digamma(a) - mp.digamma(sum(alpha)) for a in alpha]
    slack = total - sum(inverse)
    return [
        sum(abs((i == j) * a + a * b / slack) * abs(e) for j, (b, e) in enumerate(zip(inverse, eta, strict=True)))
        / alpha[i]
        for i, a in enumerate(inverse)
    ]


def test_slope_of_dirichlet_concentration():
    alpha = concentrations(3)
    eta = np.array([exact_log_means(row) for row in alpha])
    slope = np.asarray(quick(jax.vmap(jax.jacrev(dirichlet_concentration)))(eta))
    unit = np.sqrt(np.asarray(trigamma(alpha)))
    fisher = np.eye(3) - np.asarray(trigamma(alpha.sum(-1)))[:, None, None] / unit[:, :, None] / unit[:, None, :]
    scaled = slope * unit[:, :, None] * unit[:, None, :]
    off = np.abs(fisher @ scaled - np.eye(3)).max(axis=(-2, -1))
    assert np.all(off <= 1e-10 * np.linalg.norm(scaled, axis=(-2, -1)))
