import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Gaussian
from kullback.geometry import flow, natural_gradient
from kullback.search import NaturalGradient
from kullback.search.methods._natural_steps import _fisher, slopes
from search.helpers import best_values, rosenbrock
from tiers import slow

CHAIN = [(0, 1), (1, 2)]
CURVATURE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.4], [0.0, -0.4, 3.0]])  # 0 and 2 do not interact
MINIMUM = np.array([0.5, -1.0, 2.0])


def quadratic(x):
    """A function in the span of the statistics, also of those of the chain."""
    return jnp.einsum("...i,ij,...j->...", x - MINIMUM, CURVATURE, x - MINIMUM)


def told(search, f, steps):
    def step(state, _):
        points, state = search.ask(state)
        return search.tell(state, points, f(points)), None

    return jax.jit(lambda key: jax.lax.scan(step, search.init(key), None, length=steps)[0])(jax.random.key(0))


def expected(p):
    """E_p of the quadratic, in closed form."""
    away = jnp.asarray(p.mean) - MINIMUM
    return away @ CURVATURE @ away + jnp.sum(CURVATURE * p.covariance)


@pytest.mark.parametrize("interactions", [None, CHAIN], ids=["all", "chain"])
def test_steps_go_straight_in_natural_coordinates_when_f_is_in_the_span_of_the_statistics(interactions):
    # the estimate has no error and the natural gradient is constant: the precision grows by twice the curvature
    rate, steps = 0.02, 5
    search = NaturalGradient(np.zeros(3), 1.0, interactions=interactions, utility="values", rate=rate)
    after = search.distribution(told(search, quadratic, steps))
    precision = np.eye(3) + 2 * rate * steps * CURVATURE
    np.testing.assert_allclose(np.linalg.inv(after.covariance), precision, atol=1e-12)
    np.testing.assert_allclose(precision @ after.mean, 2 * rate * steps * CURVATURE @ MINIMUM, rtol=1e-10)


@pytest.mark.slow
def test_that_is_the_natural_flow():
    search = NaturalGradient(np.zeros(3), 1.0, utility="values", rate=0.02)
    after = search.distribution(told(search, quadratic, 5))
    path = flow(expected, Gaussian(np.zeros(3), np.eye(3)), until=0.1, points=3)
    np.testing.assert_allclose(after.mean, path.end.mean, rtol=1e-6)
    np.testing.assert_allclose(after.covariance, path.end.covariance, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("interactions", [None, CHAIN], ids=["all", "chain"])
def test_the_flow_reaches_the_minimum(interactions):
    # along the flow the precision is I + 2tC and the mean (I + 2tC)⁻¹·2tC·x*: the distance falls as 1/t
    search = NaturalGradient(np.zeros(3), 1.0, interactions=interactions, utility="values", rate=1e9)
    state = told(search, quadratic, 60)
    np.testing.assert_allclose(search.distribution(state).mean, MINIMUM, atol=1e-6)
    assert float(search.spread(state).max()) < 1e-4


def test_expectation_coordinates_follow_the_gradient_in_natural_ones():
    # Cov(f, T) of a large sample against ∇_θ E[f] by autodiff, through one short step
    rate, m = 1e-3, 40_000
    search = NaturalGradient(np.zeros(3), 1.0, m, coordinates="expectation", utility="values", rate=rate)
    after = search.distribution(told(search, quadratic, 1))

    @jax.jit
    def oracle(mean, covariance):
        start = Gaussian(jnp.zeros(3), jnp.eye(3))
        points, _ = search.ask(search.init(jax.random.key(0)))
        products = (quadratic(points) - expected(start))[:, None] * start.statistics(points)
        taken = (start.expectation - Gaussian(mean, covariance).expectation) / rate
        return taken, natural_gradient(expected, start, "expectation"), jnp.std(products, axis=0) / np.sqrt(m)

    taken, exact, error = oracle(after.mean, after.covariance)
    assert (np.abs(taken - exact) < 4.5 * error).all()


def test_interactions_that_are_left_out_stay_zero():
    search = NaturalGradient(np.zeros(4), 0.5, interactions=[(1, 0), (1, 2), (2, 3), (0, 1)])
    assert search.interactions == ((0, 1), (1, 2), (2, 3))
    state = told(search, rosenbrock, 30)
    precision = np.linalg.inv(search.distribution(state).covariance)
    scale = np.sqrt(np.diagonal(precision))
    correlation = precision / np.outer(scale, scale)
    assert np.abs(correlation[[0, 0, 1], [2, 3, 3]]).max() < 1e-8
    assert np.abs(correlation[[0, 1, 2], [1, 2, 3]]).max() > 0.1


@pytest.mark.slow
def test_a_chain_takes_fewer_evaluations_where_f_is_one():
    chain = NaturalGradient(np.zeros(10), 0.3, interactions=[(i, i + 1) for i in range(9)])
    assert chain.population < 0.5 * NaturalGradient(np.zeros(10), 0.3).population
    assert best_values(chain, rosenbrock, 20_000).min() < 1e-8


def test_slopes_from_few_points_use_the_fisher_matrix():
    rng = np.random.default_rng(0)
    precision = np.linalg.inv(np.array([[1.0, 0.4, 0.2], [0.4, 1.0, 0.5], [0.2, 0.5, 1.0]]))
    draws = rng.multivariate_normal(np.zeros(3), np.linalg.inv(precision), size=200_000)
    statistics = np.concatenate([draws, draws**2, 2 * draws[:, [0, 1]] * draws[:, [1, 2]]], axis=1)
    found = jax.jit(lambda precision: _fisher(precision, np.array([0, 1]), np.array([1, 2])))(precision)
    np.testing.assert_allclose(found, np.cov(statistics.T), atol=0.1)
    few = jax.jit(lambda *arrays: slopes(*arrays[:2], ((0, 1), (1, 2)), arrays[2]))
    linear, square = few(draws[:6], np.arange(6.0), precision)
    centred = statistics[:6] - statistics[:6].mean(axis=0)
    by_hand = np.linalg.solve(found, centred.T @ (np.arange(6.0) - 2.5) / 6)
    np.testing.assert_allclose(linear, by_hand[:3], rtol=1e-9)
    np.testing.assert_allclose([*np.diagonal(square), square[0, 1], square[1, 2], square[0, 2]], [*by_hand[3:], 0.0])


@pytest.mark.parametrize("options", [{}, slow({"interactions": CHAIN}), {"coordinates": "expectation"}], ids=str)
def test_no_step_leaves_the_domain(options):
    # a function that falls without end in all directions asks for a precision below zero
    search = NaturalGradient(np.zeros(3), 1.0, utility="values", rate=1e6, **options)
    after = told(search, lambda points: -1e6 * jnp.sum(points**2, axis=1), 1)
    ratios = np.linalg.eigvalsh(search.distribution(after).covariance)
    assert (ratios > 0.49).all()
    assert (ratios < 2.01).all()


def test_errors():
    for options, message in [
        ({"coordinates": "source"}, "coordinates is 'source'"),
        ({"utility": "rank"}, "utility is 'rank'"),
        ({"rate": 0.0}, "rate is 0.0"),
        ({"interactions": [(0, 3)]}, r"interactions has the pair \(0, 3\): it must be two of the coordinates 0 to 2"),
        ({"interactions": [(0, 1)], "coordinates": "expectation"}, "they need natural coordinates"),
    ]:
        with pytest.raises(ValueError, match=message):
            NaturalGradient(np.zeros(3), **options)
