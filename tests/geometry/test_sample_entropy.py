"""Entropies of points against closed forms of Gaussians, by autodiff and by draws with their standard errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize

from kullback.geometry import kernel_entropy, mmd_entropy, mmd_entropy_slope, squared_mmd


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def gaussian_kernel_mean(covariance, width):
    """E exp(−uᵀu/width) of u ~ N(0, covariance), which is written out: |I + 2·covariance/width|^−½."""
    return jnp.linalg.det(jnp.eye(len(covariance)) + 2 * covariance / width) ** -0.5


def gaussian_mmd(one, other, width):
    """Squared discrepancy of two Gaussians of the same mean."""
    means = [gaussian_kernel_mean(a + b, width) for a, b in ((one, one), (other, other), (one, other))]
    return means[0] + means[1] - 2 * means[2]


def test_the_mean_of_the_kernel_by_quadrature():
    def integrand(u):
        return np.exp(-(u**2) / 0.7) * np.exp(-(u**2) / (2 * 1.3)) / np.sqrt(2 * np.pi * 1.3)

    expected = integrate.quad(integrand, -20, 20, epsabs=1e-13)[0]
    np.testing.assert_allclose(gaussian_kernel_mean(jnp.array([[1.3]]), 0.7), expected, rtol=1e-11)


@pytest.mark.parametrize(("d", "width", "spread"), [(1, 2.0, 2.0), (2, 4.0, 2.0), (5, 3.0, 1.5), (20, 40.0, 4.0)])
def test_the_slope_by_autodiff_of_the_closed_form(d, width, spread):
    """The gradient in a covariance is −κ times that of the entropy, ½A⁻¹, where the kernel has that covariance."""
    root = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0] * np.linspace(0.5, 2, d)
    sigma = jnp.asarray(root @ root.T)
    whiten = jnp.linalg.inv(jnp.linalg.cholesky(sigma))

    def discrepancy(covariance):
        return gaussian_mmd(whiten @ covariance @ whiten.T, spread * jnp.eye(d), width)

    expected = -mmd_entropy_slope(d, width, spread) * 0.5 * jnp.linalg.inv(sigma)
    np.testing.assert_allclose(jax.grad(discrepancy)(sigma), expected, rtol=1e-12, atol=1e-13)


def test_the_slope_where_the_derivation_has_numbers():
    found = [mmd_entropy_slope(d, 2.0 * d, 2.0) for d in (1, 2, 5, 20)]
    np.testing.assert_allclose(found, [0.135, 0.090, 0.046, 0.0136], rtol=5e-3)


def test_the_squared_discrepancy_is_unbiased():
    """Three points against five, many times: sets are small, so a point that counts with itself would show."""
    one, other, width = np.diag([1.0, 0.3]), np.diag([0.4, 2.0]), 1.5

    def once(key):
        first, second = (jax.random.normal(k, (n, 2)) for k, n in zip(jax.random.split(key), (3, 5), strict=True))
        return squared_mmd(first @ np.sqrt(one), second @ np.sqrt(other), width)

    found = jax.vmap(once)(jax.random.split(jax.random.key(0), 10_000))
    error = float(found.std() / 100)
    assert abs(found.mean() - gaussian_mmd(one, other, width)) < 4 * error
    assert error < 0.006


def test_a_fixed_width_collapses_and_one_that_follows_the_points_does_not():
    """Energy ½x² and λ·MMD² to N(0, 2·s²), in closed form: with kernel width 2 the standard deviation s = 0 is stable.

    The other zeros of the force for λ = 7.4 are 0.26 and 1; with a kernel of width 2·s² there is one, at 1.
    """

    def force(s, fixed, strength):
        def loss(moving):
            width = 2.0 if fixed else 2.0 * s**2
            return 0.5 * moving**2 + strength * gaussian_mmd(
                jnp.array([[1.0]]) * moving**2, jnp.array([[2.0]]) * s**2, width
            )

        return -float(jax.grad(loss)(jnp.asarray(s)))

    zeros = [optimize.brentq(force, *ends, args=(True, 7.4)) for ends in ((0.1, 0.5), (0.5, 2.0))]
    np.testing.assert_allclose(zeros, [0.26, 1.0], atol=0.01)
    for strength in (0.1, 7.4, 1000.0):
        assert force(1e-3, True, strength) < 0
    strength = 1 / mmd_entropy_slope(1, 2.0, 2.0)
    np.testing.assert_allclose(optimize.brentq(force, 0.01, 5.0, args=(False, strength)), 1.0, rtol=1e-9)
    assert force(1e-3, False, strength) > 0


def gaussian_points(key, n, d):
    factor = np.linalg.cholesky(0.5 * np.eye(d) + 0.5)
    return jax.random.normal(key, (n, d)) @ factor.T, factor


@pytest.mark.parametrize("entropy", [mmd_entropy, kernel_entropy])
def test_the_gradient_for_gaussian_points_is_that_of_their_entropy(entropy):
    """H(Ax) = H(x) + log|A|, so the gradient in A at the identity is the identity. Of 400 points, within 3 %."""

    def slope(key):
        x = gaussian_points(key, 400, 2)[0]
        return jax.grad(lambda matrix: entropy(x @ matrix.T))(jnp.eye(2))

    found = jax.lax.map(jax.jit(slope), jax.random.split(jax.random.key(1), 16))
    error = np.asarray(found.std(0)) / 4
    assert np.all(np.abs(np.asarray(found.mean(0)) - np.eye(2)) < 4 * error + 0.03)
    assert error.max() < 0.03


@pytest.mark.parametrize("entropy", [mmd_entropy, kernel_entropy])
def test_the_value_for_gaussian_points(entropy):
    x, factor = gaussian_points(jax.random.key(2), 1000, 2)
    expected = np.log(2 * np.pi * np.e) + np.log(np.linalg.det(factor))
    assert abs(float(jax.jit(entropy)(x)) - expected) < 0.12


def test_the_kernel_estimate_is_exact_in_scale_for_any_points():
    rng = np.random.default_rng(3)
    clumps = rng.normal(size=(50, 2)) * 0.05 + rng.integers(0, 3, (50, 2))
    slope = jax.jit(jax.grad(lambda s, x: kernel_entropy(s * x)))
    for x in (clumps, rng.uniform(size=(50, 2)), rng.standard_cauchy((50, 2))):
        np.testing.assert_allclose(slope(1.0, x), 2.0, rtol=1e-4)  # but for what keeps covariances positive definite


def test_the_kernel_estimate_leaves_points_out_and_gains_from_its_rounds():
    """Against the density of each point written out, at the width of the first round."""
    x = np.random.default_rng(4).normal(size=(7, 2))
    kernel = 0.5 * 7 ** (-1 / 3) * (np.cov(x.T) + 0.5e-5 * np.trace(np.cov(x.T)) * np.eye(2))
    gaps = x[:, None] - x[None]
    density = np.exp(-0.5 * np.einsum("ijk,kl,ijl->ij", gaps, np.linalg.inv(kernel), gaps))
    density /= 2 * np.pi * np.sqrt(np.linalg.det(kernel))
    np.fill_diagonal(density, 0)
    expected = -np.mean(np.log(density.sum(axis=1) / 6))
    np.testing.assert_allclose(kernel_entropy(x, rounds=0), expected, rtol=1e-4)
    assert kernel_entropy(x, rounds=5) < expected


@pytest.mark.parametrize("entropy", [mmd_entropy, kernel_entropy])
def test_too_few_points_are_refused(entropy):
    with pytest.raises(ValueError, match="there are 3 points in 3 dimensions"):
        entropy(np.zeros((3, 3)))


def test_sets_of_one_point_are_refused():
    with pytest.raises(ValueError, match="two at least"):
        squared_mmd(np.zeros((1, 2)), np.zeros((5, 2)), 1.0)
