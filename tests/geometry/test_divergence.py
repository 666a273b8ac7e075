import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from contracts.quick import quick
from kullback.families import (
    Bernoulli,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Ising,
    Poisson,
    VonMises,
)
from kullback.geometry import (
    alpha_divergence,
    bregman,
    cross_entropy,
    entropy,
    jeffreys,
    jensen_shannon,
    relative_entropy,
)

PAIRS = [
    (Gaussian([0.3], [[1.5]]), Gaussian([-0.4], [[0.7]])),
    (Gamma(2.0, 3.0), Gamma(3.5, 1.0)),
    (VonMises(0.4, 2.0), VonMises(-1.0, 0.7)),
    (Exponential(2.0), Exponential(0.5)),
]
RANGES = [(-30, 30), (0, 60), (-np.pi, np.pi), (0, 80)]


log_prob = quick(lambda p, x: p.log_prob(jnp.full(p.event_shape, x)))


def density(p, x):
    return float(np.exp(log_prob(p, x)))


def integral(integrand, bounds):
    return quad(integrand, *bounds, limit=400, epsabs=1e-12, epsrel=1e-10, points=[0.1, 1.0])[0]


@pytest.mark.parametrize(("pair", "bounds"), list(zip(PAIRS, RANGES, strict=True)), ids=lambda v: type(v[0]).__name__)
def test_alpha_divergence_is_its_integral(pair, bounds):
    p, q = pair
    alphas = (-0.5, 0.0, 0.8)
    found = quick(lambda p, q: [alpha_divergence(p, q, alpha) for alpha in alphas])(p, q)
    for alpha, value in zip(alphas, found, strict=True):

        def integrand(x, alpha=alpha):
            return np.exp((1 - alpha) / 2 * float(log_prob(p, x)) + (1 + alpha) / 2 * float(log_prob(q, x)))

        expected = 4 / (1 - alpha**2) * (1 - integral(integrand, bounds))
        assert float(value) == pytest.approx(expected, rel=1e-7)


def test_alpha_divergence_tends_to_relative_entropy_at_both_ends():
    p, q = PAIRS[1]
    assert alpha_divergence(p, q, -1) == relative_entropy(p, q)
    assert alpha_divergence(p, q, 1) == relative_entropy(q, p)
    assert float(alpha_divergence(p, q, -1 + 1e-5)) == pytest.approx(float(relative_entropy(p, q)), rel=1e-4)
    assert float(alpha_divergence(p, q, 1 - 1e-5)) == pytest.approx(float(relative_entropy(q, p)), rel=1e-4)


def test_alpha_divergence_is_infinite_where_the_integral_diverges():
    # ∫ p^2 q^-1 with rates 1 and 4: the exponent −2·1 + 4 is positive
    assert alpha_divergence(Exponential(1.0), Exponential(4.0), -3) == jnp.inf
    assert np.isfinite(alpha_divergence(Exponential(4.0), Exponential(1.0), -3))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda v: type(v[0]).__name__)
def test_relative_entropy_is_two_bregman_divergences(pair):
    kind = pair[0].kind

    @quick
    def divergences(p, q):
        psi = bregman(lambda t: kind.at("natural", t).log_partition, q.natural, p.natural)
        phi = bregman(lambda e: kind.at("expectation", e).dual_potential, p.expectation, q.expectation)
        return relative_entropy(p, q), psi, phi

    plain, psi, phi = map(float, divergences(*pair))
    assert plain == pytest.approx(psi, rel=1e-12)
    assert plain == pytest.approx(phi, rel=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda v: type(v[0]).__name__)
def test_jeffreys_is_the_product_of_coordinate_differences(pair):
    @quick
    def both(p, q):
        return jeffreys(p, q), jnp.sum((p.natural - q.natural) * (p.expectation - q.expectation))

    found, product = map(float, both(*pair))
    assert found == pytest.approx(product, rel=1e-12)


def test_cross_entropy_is_minus_the_mean_log_density():
    p, q = PAIRS[0]
    expected = integral(lambda x: -density(p, x) * float(log_prob(q, x)), (-12, 12))
    assert float(cross_entropy(p, q)) == pytest.approx(expected, rel=1e-8)
    assert float(cross_entropy(p, p)) == pytest.approx(float(entropy(p)), rel=1e-14)


def test_relative_entropy_refuses_members_of_different_families():
    with pytest.raises(ValueError, match="p is a Poisson with 1 coordinate, q is an Exponential"):
        relative_entropy(Poisson(1.0), Exponential(1.0))
    with pytest.raises(ValueError, match="Dirichlet with 2 coordinates, q is a Dirichlet with 3"):
        relative_entropy(Dirichlet([1.0, 2.0]), Dirichlet([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="p is a Poisson, q is a float"):
        relative_entropy(Poisson(1.0), 2.0)


def plain_jensen_shannon(p, q):
    m = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return 0.5 * np.nansum(p * np.log(p / m)) + 0.5 * np.nansum(q * np.log(q / m))


@pytest.mark.slow
def test_jensen_shannon_is_exact_where_points_can_be_listed():
    p, q = np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.0, 0.4])
    js = jensen_shannon(Categorical(p), Categorical(q))
    assert float(js.value) == pytest.approx(plain_jensen_shannon(p, q), rel=1e-14)
    assert js.standard_error == 0
    two = jensen_shannon(Bernoulli([0.0, 0.3]), Bernoulli([1.0, 0.3])).value
    np.testing.assert_allclose(two, [np.log(2), 0], atol=1e-16)
    a, b = Ising([0.3, -0.2], [0.5]), Ising([-0.1, 0.4], [-0.3])
    x = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]])
    expected = plain_jensen_shannon(np.exp(a.log_prob(x)), np.exp(b.log_prob(x)))
    assert float(jensen_shannon(a, b).value) == pytest.approx(expected, rel=1e-13)


def test_jensen_shannon_is_drawn_with_an_honest_standard_error():
    p, q = PAIRS[0]

    def integrand(x):
        a, b = density(p, x), density(q, x)
        return 0.5 * a * np.log(2 * a / (a + b)) + 0.5 * b * np.log(2 * b / (a + b))

    exact = integral(integrand, (-8, 8))
    draw = quick(jax.vmap(lambda key: jensen_shannon(p, q, key, 2000)))
    estimates = draw(jax.random.split(jax.random.key(0), 200))
    z = (estimates.value - exact) / estimates.standard_error
    # the mean of 200 z-scores has a standard deviation of 0.07, their variance one of 0.1
    assert abs(float(jnp.mean(z))) < 0.3
    assert 0.6 < float(jnp.var(z)) < 1.5


def test_jensen_shannon_asks_for_a_key():
    with pytest.raises(ValueError, match="key is None: for Gamma"):
        jensen_shannon(Gamma(1.0, 1.0), Gamma(2.0, 1.0))
