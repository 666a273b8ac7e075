"""Angles: samples against the distribution function, and the circle's wrap-around."""

import subprocess
import sys

import jax
import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from contracts.quick import quick
from kullback.families import Batch, VonMises

CONCENTRATIONS = np.array([1e-6, 1e-4, 1.001e-4, 0.01, 0.5, 2.0, 30.0, 1e3, 1e6])


@quick
def draw(v):
    return v.sample(jax.random.key(1), (4000,))


def test_samples_follow_the_distribution():
    """Kolmogorov and Smirnov at all magnitudes, both sides of the change of formula."""
    x = np.asarray(draw(VonMises(np.zeros(9), CONCENTRATIONS)))
    assert np.all(np.abs(x) <= np.pi)
    for place, kappa in enumerate(CONCENTRATIONS):
        assert stats.kstest(x[:, place], stats.vonmises(kappa).cdf).pvalue > 1e-3, kappa


UNIFORM = """
import sys, jax, numpy as np
from kullback.families import VonMises

x = jax.jit(lambda k: VonMises(np.zeros(3), k).sample(jax.random.key(1), (2000,)))(np.array([0.0, np.nan, 1e-30]))
np.savetxt(sys.stdout, x)
"""


@pytest.mark.slow
def test_uniform_samples_come_to_an_end():
    """At κ = 0, and where κ is NaN, sampling by rejection must end too: hence a process with a time limit."""
    try:
        run = subprocess.run([sys.executable, "-c", UNIFORM], timeout=300, capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("sampling did not end in 300 s")
    assert run.returncode == 0, run.stderr
    x = np.array(run.stdout.split(), dtype=float).reshape(2000, 3)
    assert np.isnan(x[:, 1]).all()
    for place in (0, 2):
        assert stats.kstest(x[:, place], stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3


def test_samples_wrap_around():
    """Around a mean close to π, or several turns away, they lie in (−π, π] and keep their direction."""
    means = np.array([np.pi - 0.01, -np.pi, 3.0 + 6 * np.pi, -50.0])
    means = np.append(means, np.zeros(5))
    x = np.asarray(draw(VonMises(means, np.full(9, 5.0))))
    assert x.min() > -np.pi
    assert x.max() <= np.pi
    turn = np.exp(1j * x).mean(axis=0) / np.exp(1j * means)
    error = 1 / np.sqrt(4000 * 5.0)
    assert np.all(np.abs(np.angle(turn)) < 5 * error)
    for place, mean in enumerate(means):
        away = np.angle(np.exp(1j * (x[:, place] - mean)))
        assert stats.kstest(away, stats.vonmises(5.0).cdf).pvalue > 1e-3


def test_a_turn_changes_nothing():
    x = np.linspace(-3, 3, 7)[:, None]
    v = VonMises(np.array([1.0, 1.0, 1.0 - 4 * np.pi]), 2.5)
    log_p, natural, apart = quick(
        lambda v, other: (v.log_prob(x + np.array([0, 2 * np.pi, 0])), v.natural, v.relative_entropy(other))
    )(v, VonMises(np.ones(3), 2.5))
    np.testing.assert_allclose(log_p, np.broadcast_to(log_p[:, :1], log_p.shape), rtol=1e-12)
    np.testing.assert_allclose(natural, np.broadcast_to(natural[:1], natural.shape), rtol=1e-13)
    np.testing.assert_allclose(apart, 0, atol=1e-14)


def test_without_concentration_it_is_uniform():
    v = VonMises(0.7, 0.0)

    @quick
    def work(v):
        again = VonMises.from_natural(v.natural), VonMises.from_expectation(v.expectation)
        known = v.interior, v.relative_entropy(v), *(a.concentration for a in again)
        return v.log_prob(np.array([0.0, 2.0])), v.entropy, v.fisher("natural"), v.fisher("expectation"), *known

    log_p, entropy, fisher, dual, interior, *zeros = work(v)
    np.testing.assert_allclose(log_p, -np.log(2 * np.pi), rtol=1e-15)
    np.testing.assert_allclose(entropy, np.log(2 * np.pi), rtol=1e-15)
    np.testing.assert_allclose(fisher, np.eye(2) / 2, atol=1e-15)
    np.testing.assert_allclose(dual, np.eye(2) * 2, atol=1e-15)
    assert interior
    # coming back from the origin leaves a hair, so that derivatives exist there
    np.testing.assert_allclose(zeros, 0, atol=1e-150)
    with pytest.raises(ValueError, match="concentration is 0"):
        v.fisher("source")


def test_relative_entropy_from_and_to_uniform():
    """D(uniform, q) = log I₀(κ), and D(q, uniform) = κA − log I₀; for small κ both are κ²/4."""
    kappa = np.array([1e-7, 1e-5, 1e-3, 0.1, 2.0])
    q = VonMises(0.5, kappa)
    uniform = VonMises(0.0, np.zeros(5))
    there, back = quick(lambda p, q: (p.relative_entropy(q), q.relative_entropy(p)))(uniform, q)
    with mp.workdps(50):
        bessel = [mp.log(mp.besseli(0, k)) for k in map(mp.mpf, kappa)]
        ratio = [mp.besseli(1, k) / mp.besseli(0, k) for k in map(mp.mpf, kappa)]
        expected = [float(k * r - b) for k, r, b in zip(map(mp.mpf, kappa), ratio, bessel, strict=True)]
    np.testing.assert_allclose(there, [float(b) for b in bessel], rtol=1e-10)
    np.testing.assert_allclose(back, expected, rtol=1e-10)


def test_the_potential_can_be_differentiated_at_the_uniform_member():
    """ψ is smooth at θ = 0, and its gradient there is 0."""
    slope = quick(jax.grad(lambda theta: VonMises.from_natural(theta).log_partition))(np.zeros(2))
    np.testing.assert_allclose(slope, 0, atol=1e-15)


def test_large_concentration_is_nearly_gaussian():
    x = np.linspace(-3e-3, 3e-3, 5)
    log_p, entropy = quick(lambda v: (v.log_prob(x), v.entropy))(VonMises(0.0, 1e6))
    np.testing.assert_allclose(log_p, stats.norm(0, 1e-3).logpdf(x), atol=1e-5)
    np.testing.assert_allclose(entropy, stats.norm(0, 1e-3).entropy(), atol=1e-6)


def test_fit():
    x = np.array([3.0, -3.0, 3.1, -2.9])  # around π: the plain mean would be 0.05
    fitted = quick(lambda v: v.maximize(v.expected_statistics(Batch(x))[0]))(VonMises(0.0, 1.0))
    resultant = np.exp(1j * x).mean()
    np.testing.assert_allclose(fitted.mean, np.angle(resultant), rtol=1e-12)
    expected = stats.vonmises.fit(x, fscale=1)[0]
    np.testing.assert_allclose(fitted.concentration, expected, rtol=1e-6)
