"""What only Gaussians have: the formulas of their Fisher matrices, and data far from the origin."""

import itertools

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Batch, DiagonalGaussian, Extent, Gaussian, SphericalGaussian


def gaussian(n, seed=0):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((n, n)) + np.eye(n)
    return Gaussian(rng.normal(size=n), half @ half.T + 0.3 * np.eye(n))


def entries(n):
    return [(i, i) for i in range(n)] + list(itertools.combinations(range(n), 2))


def isserlis(mean, covariance, first, second):
    """Cov(x_a·x_b, x_c·x_d), or with a single index Cov(x_a, ·), by Isserlis' theorem."""
    total = 0.0
    for a, b in itertools.product(range(len(first)), range(len(second))):
        rest_a = [mean[i] for k, i in enumerate(first) if k != a]
        rest_b = [mean[i] for k, i in enumerate(second) if k != b]
        total += covariance[first[a], second[b]] * np.prod(rest_a) * np.prod(rest_b)
    if len(first) == len(second) == 2:
        (a, b), (c, d) = first, second
        total += covariance[a, c] * covariance[b, d] + covariance[a, d] * covariance[b, c]
    return total


@pytest.mark.parametrize("n", [1, 3, 4])
def test_fisher_formulas(n):
    """Source: P, and ½P_km², P_km·P_kn, P_km·P_ln + P_kn·P_lm. Natural: Cov(T). Expectation: its inverse."""
    g = gaussian(n)
    names = ("source", "natural", "expectation")
    found = quick(lambda g: {name: g.fisher(name) for name in names})(g)
    mean, covariance = np.asarray(g.mean), np.asarray(g.covariance)
    precision = np.linalg.inv(covariance)
    source = np.zeros((g.size, g.size))
    source[:n, :n] = precision
    for a, (k, low) in enumerate(entries(n)):
        for b, (m, high) in enumerate(entries(n)):
            if k == low and m == high:
                value = precision[k, m] ** 2 / 2
            elif k == low:
                value = precision[k, m] * precision[k, high]
            elif m == high:
                value = precision[m, k] * precision[m, low]
            else:
                value = precision[k, m] * precision[low, high] + precision[k, high] * precision[low, m]
            source[n + a, n + b] = value
    np.testing.assert_allclose(found["source"], source, rtol=1e-10, atol=1e-12)

    statistics = [((i,), 1) for i in range(n)] + [((k, m), 1 if k == m else 2) for k, m in entries(n)]
    natural = np.array([[c * d * isserlis(mean, covariance, s, t) for t, d in statistics] for s, c in statistics])
    np.testing.assert_allclose(found["natural"], natural, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found["expectation"], np.linalg.inv(natural), rtol=1e-7, atol=1e-9)


def test_potentials():
    """ψ(θ) = ½n·log 2π − ¼θᵀΘ⁻¹θ − ½log|−2Θ| and φ(η) = −½n(log 2π + 1) − ½log|E − ηηᵀ|."""
    n = 3
    g = gaussian(n)
    psi, phi, theta, eta = (
        np.asarray(a) for a in quick(lambda g: (g.log_partition, g.dual_potential, g.natural, g.expectation))(g)
    )
    matrix, second = np.zeros((n, n)), np.zeros((n, n))
    for place, (i, j) in enumerate(entries(n)):
        matrix[i, j] = matrix[j, i] = theta[n + place]
        second[i, j] = second[j, i] = eta[n + place] / (1 if i == j else 2)
    first = theta[:n]
    expected = (
        n / 2 * np.log(2 * np.pi) - first @ np.linalg.solve(matrix, first) / 4 - np.linalg.slogdet(-2 * matrix)[1] / 2
    )
    np.testing.assert_allclose(psi, expected, rtol=1e-12)
    spread = second - np.outer(eta[:n], eta[:n])
    np.testing.assert_allclose(phi, -n / 2 * (np.log(2 * np.pi) + 1) - np.linalg.slogdet(spread)[1] / 2, rtol=1e-12)


def test_order_of_the_coordinates():
    source, statistics, expectation, natural = quick(
        lambda g: (g.source, g.statistics(np.array([3.0, 5.0])), g.expectation, g.natural)
    )(Gaussian([1.0, 2.0], [[4.0, 1.0], [1.0, 9.0]]))
    assert source.tolist() == [1, 2, 4, 9, 1]
    assert statistics.tolist() == [3, 5, 9, 25, 30]
    assert expectation.tolist() == [1, 2, 5, 13, 6]
    precision = np.linalg.inv([[4.0, 1.0], [1.0, 9.0]])
    expected = [*(precision @ [1, 2]), -precision[0, 0] / 2, -precision[1, 1] / 2, -precision[0, 1] / 2]
    np.testing.assert_allclose(natural, expected, rtol=1e-13)


def test_log_prob_of_extreme_scales():
    """Scales from 1e-6 to 1e6 in one covariance, against mpmath."""
    rng = np.random.default_rng(3)
    scale = np.array([1e-6, 1.0, 1e6])
    correlation = np.array([[1, 0.5, -0.3], [0.5, 1, 0.2], [-0.3, 0.2, 1]])
    mean, covariance = scale * [1, -2, 0.5], correlation * np.outer(scale, scale)
    x = mean + scale * rng.standard_normal((5, 3)) * 3
    with mp.workdps(60):
        matrix = mp.matrix(covariance.tolist())
        exact = []
        for row in x:
            away = mp.matrix([mp.mpf(a) - mp.mpf(b) for a, b in zip(row, mean, strict=True)])
            square = (away.T * mp.lu_solve(matrix, away))[0]
            exact.append(float(-(square + 3 * mp.log(2 * mp.pi) + mp.log(mp.det(matrix))) / 2))
    np.testing.assert_allclose(quick(lambda g, x: g.log_prob(x))(Gaussian(mean, covariance), x), exact, rtol=1e-11)


FAMILIES = {
    Gaussian: lambda n: Gaussian(np.zeros(n), np.eye(n)),
    DiagonalGaussian: lambda n: DiagonalGaussian(np.zeros(n), np.ones(n)),
    SphericalGaussian: lambda n: SphericalGaussian(np.zeros(n), 1.0),
}


def spread_of(member):
    if isinstance(member, Gaussian):
        return np.asarray(member.covariance)
    return np.asarray(member.variance)


def expected_spread(family, x):
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / len(x)
    if family is Gaussian:
        return covariance
    return np.diag(covariance) if family is DiagonalGaussian else np.trace(covariance) / len(covariance)


@pytest.mark.parametrize("family", FAMILIES)
def test_data_far_from_the_origin(family):
    """Points at 1e7 ± 1 keep the digits of their covariance, in one piece and merged from three."""
    rng = np.random.default_rng(0)
    near = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 3))
    x = near + 1e7
    near = x - 1e7  # what is left of them after rounding
    member = FAMILIES[family](3)

    @quick
    def fit(member, x):
        whole = member.expected_statistics(Batch(x))[0]
        a, b, c = (member.expected_statistics(Batch(part))[0] for part in jnp.split(x, 3))
        return member.maximize(whole), member.maximize(a.merge(b).merge(c)), member.maximize(a.merge(b.merge(c)))

    for fitted in fit(member, x):
        np.testing.assert_allclose(fitted.mean, x.mean(axis=0), rtol=1e-15)
        np.testing.assert_allclose(spread_of(fitted), expected_spread(family, near), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_width_of_a_data_point(family):
    """It adds to each variance once, however the data is cut."""
    x = np.random.default_rng(1).standard_normal((20, 2))
    member = FAMILIES[family](2)

    @quick
    def fit(member, x, width):
        whole = member.expected_statistics(Batch(x, point_variance=width))[0]
        a, b = (member.expected_statistics(Batch(part, point_variance=width))[0] for part in jnp.split(x, 2))
        return member.maximize(whole), member.maximize(a.merge(b))

    extra = 0.5 * (np.eye(2) if family is Gaussian else np.ones(2) if family is DiagonalGaussian else 1.0)
    for fitted in fit(member, x, 0.5):
        np.testing.assert_allclose(spread_of(fitted), expected_spread(family, x) + extra, rtol=1e-12, atol=1e-13)


def test_the_three_families_agree():
    """A diagonal or spherical Gaussian is a Gaussian with that covariance."""
    rng = np.random.default_rng(2)
    mean, other = rng.standard_normal((2, 3))
    variance = np.array([0.7, 0.7, 0.7])
    full = [Gaussian(m, np.diag(v)) for m, v in ((mean, variance), (other, 2 * variance))]
    diagonal = [DiagonalGaussian(m, v) for m, v in ((mean, variance), (other, 2 * variance))]
    spherical = [SphericalGaussian(m, v[0]) for m, v in ((mean, variance), (other, 2 * variance))]
    x = rng.standard_normal((4, 3))

    @quick
    def work(p, q):
        return p.log_prob(x), p.entropy, p.relative_entropy(q), p.log_partition, p.dual_potential

    expected = work(*full)
    for pair in (diagonal, spherical):
        for a, b in zip(work(*pair), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_relative_entropy_far_apart():
    """Variances 24 orders of magnitude apart, either way round."""
    variance = np.array([1e12, 1e-12])
    expected = [(1e24 - 1 - np.log(1e24)) / 2, (1e-24 - 1 + np.log(1e24)) / 2]
    zero = np.zeros((2, 1))
    apart = quick(lambda p, q: p.relative_entropy(q))
    for make in (
        lambda v: Gaussian(zero, v.reshape(2, 1, 1)),
        lambda v: DiagonalGaussian(zero, v.reshape(2, 1)),
        lambda v: SphericalGaussian(zero, v),
    ):
        np.testing.assert_allclose(apart(make(variance), make(variance[::-1])), expected, rtol=1e-12)


def test_one_covariance_for_several_means():
    g = Gaussian(np.zeros((4, 2)), np.eye(2))
    assert g.batch_shape == (4,)
    assert g.covariance.shape == (4, 2, 2)
    own = g.own_statistics(Extent(np.ones(4)))
    assert own.spread.shape == (4, 2, 2)


def test_broadcasting_keeps_numpy_leaves():
    """Outside of 64-bit mode a parameter that is broadcast must not turn into 32 bits."""
    with jax.enable_x64(False):
        made = [
            Gaussian(np.zeros((4, 2)), np.eye(2)),
            Gaussian(np.zeros(2), np.broadcast_to(np.eye(2), (4, 2, 2))),
            DiagonalGaussian(np.zeros((4, 2)), np.ones(2)),
            SphericalGaussian(np.zeros((4, 2)), 1.0),
        ]
    for member in made:
        assert member.batch_shape == (4,)
        for leaf in jax.tree.leaves(member):
            assert isinstance(leaf, np.ndarray), type(member).__name__
            assert leaf.dtype == np.float64
