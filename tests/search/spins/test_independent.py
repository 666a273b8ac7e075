"""The closed-form natural gradient over independent spins, and its special cases."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Ising
from kullback.search import IndependentSpins
from kullback.search.methods._ranking import positive_weights

MEAN = np.array([0.5, -0.5, 0.0])


def told(search, mean, points, values):
    with jax.enable_x64(True):
        state = search.init(jax.random.key(0))._replace(natural=jnp.arctanh(jnp.asarray(mean)))
        return np.asarray(search.tell(state, points, values).natural)


def points_as_often_as_expected():
    """Return 64 points in which each state is as frequent as it is under the means."""
    columns = [np.repeat([1.0, -1.0], [2 + round(2 * m), 2 - round(2 * m)]) for m in MEAN]
    return np.array(list(itertools.product(*columns)))


def test_the_step_is_that_of_the_fisher_matrix_and_autodiff():
    points = points_as_often_as_expected()
    values = points @ [1.0, 2.0, -0.5] + 3 * points[:, 0] * points[:, 1] + 1e-3 * np.arange(64)
    search = IndependentSpins(3, population=64, rate=0.01)
    weights = np.empty(64)
    weights[np.argsort(values)] = positive_weights(64)
    with jax.enable_x64(True):

        def expected_utility(theta):
            # by importance: each of the 64 points has the same share under the means
            spins, now = (Ising(t, interactions=()) for t in (theta, np.arctanh(MEAN)))
            return -jnp.sum(weights * jnp.exp(spins.log_prob(points) - now.log_prob(points)))

        theta = jnp.arctanh(jnp.asarray(MEAN))
        slope = jnp.linalg.solve(Ising(theta, interactions=()).fisher("natural"), jax.grad(expected_utility)(theta))
        moved = np.asarray(theta - 0.01 * slope)
    np.testing.assert_allclose(told(search, MEAN, points, values), moved, atol=1e-12)


def test_pbil_goes_a_share_of_the_way_to_the_best_point():
    points = np.random.default_rng(0).choice([-1.0, 1.0], (10, 3))
    values = np.random.default_rng(1).permutation(10.0 * np.arange(10))
    natural = told(IndependentSpins(3, "pbil", rate=0.3), MEAN, points, values)
    np.testing.assert_allclose(np.tanh(natural), 0.7 * MEAN + 0.3 * points[values.argmin()], atol=1e-12)


def test_cross_entropy_fits_the_best_tenth():
    points = np.random.default_rng(0).choice([-1.0, 1.0], (40, 3))
    values = np.random.default_rng(1).permutation(np.arange(40.0))
    natural = told(IndependentSpins(3, "cross-entropy", rate=0.6), MEAN, points, values)
    best = points[np.argsort(values)[:4]].mean(axis=0)
    np.testing.assert_allclose(np.tanh(natural), 0.4 * MEAN + 0.6 * best, atol=1e-12)


@pytest.mark.parametrize("update", ["natural-gradient", "pbil", "cross-entropy"])
def test_equal_values_and_a_settled_spin_do_no_harm(update):
    search = IndependentSpins(3, update)
    points = np.ones((6, 3))
    natural = told(search, np.tanh([8.0, -8.0, 0.0]), points, np.full(6, np.nan))
    assert np.isfinite(natural).all()
    assert np.abs(natural).max() <= 8
    assert natural[2] > 0  # all points say so
