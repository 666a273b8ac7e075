import jax
import jax.numpy as jnp
import numpy as np
import pytest

from contracts.quick import quick
from kullback.families import Dirichlet, Gaussian, Ising, Poisson, Product, VonMises
from kullback.geometry import estimate_natural_gradient, gradient, natural_gradient
from tiers import slow

MEMBERS = [
    Gaussian([0.3, -1.0], [[1.5, 0.4], [0.4, 0.7]]),
    slow(Dirichlet([0.5, 2.0, 4.0])),
    slow(VonMises(0.4, 2.0)),
    Product([Poisson(3.0), Gaussian([0.5], [[2.0]])]),
]


def objective(p):
    """A function of the distribution that is not linear in any coordinates."""
    eta = p.expectation
    return jnp.sum(jnp.sin(eta) + 0.3 * eta**2) + 0.1 * p.entropy


@pytest.mark.parametrize("p", MEMBERS, ids=lambda p: type(p).__name__)
def test_natural_gradient_is_the_gradient_times_the_inverse_fisher_matrix(p):
    systems = ("natural", "expectation", "source")
    answers = quick(
        lambda p: [(natural_gradient(objective, p, c), gradient(objective, p, c), p.fisher(c)) for c in systems]
    )(p)
    for found, slope, metric in answers:
        np.testing.assert_allclose(found, np.linalg.solve(metric, slope), rtol=1e-9, atol=1e-12)


def test_natural_gradient_of_the_toy_example():
    # F = η₁ + 2η₂ + 3η₁η₂, so ∇̃_θ F = ∇_η F = (1 + 3η₂, 2 + 3η₁)
    p = Ising([0.4, -0.7], interactions=())
    f = lambda p: p.expectation[0] + 2 * p.expectation[1] + 3 * p.expectation[0] * p.expectation[1]  # noqa: E731
    eta = np.tanh([0.4, -0.7])
    np.testing.assert_allclose(natural_gradient(f, p), [1 + 3 * eta[1], 2 + 3 * eta[0]], rtol=1e-13)


def test_natural_gradient_keeps_its_digits_close_to_a_vertex():
    # 1 − η² is 1e-11 there: a round trip from η to θ would leave five digits
    p = Ising([12.0, -13.0], interactions=())
    f = lambda p: p.expectation[0] + 2 * p.expectation[1] + 3 * p.expectation[0] * p.expectation[1]  # noqa: E731
    np.testing.assert_allclose(natural_gradient(f, p), [-2.0, 5.0], rtol=1e-9)


@pytest.mark.slow
def test_estimate_is_exact_when_f_is_in_the_span_of_the_statistics():
    p = Gaussian([1.0, -2.0], [[2.0, 0.3], [0.3, 0.5]])
    estimate = estimate_natural_gradient(lambda x: 3 * x[:, 0] - x[:, 1] ** 2 + x[:, 0] * x[:, 1], p, jax.random.key(0))
    # T = (x₁, x₂, x₁², x₂², 2x₁x₂)
    np.testing.assert_allclose(estimate.value, [3.0, 0.0, 0.0, -1.0, 0.5], atol=1e-10)
    assert float(jnp.max(estimate.standard_error)) < 1e-10


@pytest.mark.slow
def test_estimate_has_an_honest_standard_error():
    p = Gaussian([0.5], [[0.8]])
    # E[x⁴ + cos x] under N(m, s): in closed form, so the natural gradient is by autodiff
    exact = natural_gradient(
        lambda p: (
            p.mean[0] ** 4
            + 6 * p.mean[0] ** 2 * p.covariance[0, 0]
            + 3 * p.covariance[0, 0] ** 2
            + jnp.cos(p.mean[0]) * jnp.exp(-p.covariance[0, 0] / 2)
        ),
        p,
    )
    draw = quick(
        jax.vmap(lambda key: estimate_natural_gradient(lambda x: x[:, 0] ** 4 + jnp.cos(x[:, 0]), p, key, 4000))
    )
    estimates = draw(jax.random.split(jax.random.key(1), 300))
    z = (estimates.value - exact) / estimates.standard_error
    assert np.all(np.abs(np.mean(z, axis=0)) < 0.35)  # a standard deviation of 0.06, and some skew
    assert np.all((np.var(z, axis=0) > 0.7) & (np.var(z, axis=0) < 1.5))


def test_estimate_takes_an_f_that_is_not_written_in_jax():
    p = Ising([0.2, -0.1], [0.3])
    table = {(-1, -1): 0.0, (1, -1): -4.0, (-1, 1): -2.0, (1, 1): 6.0}  # x₁ + 2x₂ + 3x₁x₂
    estimate = estimate_natural_gradient(
        lambda x: np.array([table[tuple(row)] for row in np.asarray(x).tolist()]), p, jax.random.key(2), 200
    )
    np.testing.assert_allclose(estimate.value, [1.0, 2.0, 3.0], atol=1e-10)


def test_estimate_says_what_is_wrong_with_f():
    p = Poisson(2.0)
    key = jax.random.key(0)
    with pytest.raises(ValueError, match="n is 2: 1 coordinates need more than 2 points"):
        estimate_natural_gradient(lambda x: x, p, key, 2)
    with pytest.raises(ValueError, match=r"f returned shape \(\) for 100 points"):
        estimate_natural_gradient(lambda x: jnp.sum(x), p, key, 100)
    with pytest.raises(ValueError, match="f returned nan at point 0"):
        estimate_natural_gradient(lambda x: x * jnp.nan, p, key, 100)


def test_unknown_coordinates_are_named():
    with pytest.raises(ValueError, match="coordinates is 'polar'"):
        natural_gradient(objective, Poisson(2.0), "polar")
