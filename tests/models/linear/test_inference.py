"""The quick way of linear dynamical systems against the general one, and both against statsmodels."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

from contracts.quick import quick
from kullback.families import Batch, TimeIndex
from kullback.models import States
from kullback.models.linear._kalman import Dynamics, predict_state, update_state
from models.linear.dense_sequences import random_system

#: The first is longer than twice the tables, so that its covariances settle in both directions.
LENGTHS = (2500, 1, 60, 139)
ROWS = sum(LENGTHS)
CARRY = States(np.array([0.3, -1.0]), np.array([[0.7, 0.2], [0.2, 0.5]]))


@quick
def ask(model, batch, carry):
    return model.smooth(batch, carry), model.expected_statistics(batch, carry)


@quick
def ask_more(model, batch, carry):
    own = model.own_statistics(batch.extent.after(carry))
    return model.filter(batch, carry), model.log_likelihood(batch, carry), own


def batch_of(n, continues, ahead, general):
    rng = np.random.default_rng(3)
    values, weight = rng.normal(size=(ROWS, n)), np.repeat(rng.uniform(0.5, 2, len(LENGTHS)), LENGTHS)
    first = TimeIndex.of_lengths(LENGTHS).starts
    first[0] = not continues
    late = np.zeros(ROWS, bool)
    late[ROWS - 7 :] = ahead
    # an array that says that all is observed is enough to go the general way
    return Batch(values, weight, observed=np.ones_like(values, bool) if general else None, time=TimeIndex(first, late))


def assert_same(one, other, rtol=1e-9, atol=1e-11):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol * max(1, np.max(np.abs(b))))


def slow_system(model):
    """Return one whose states forget so slowly that tables do not reach their end."""
    rest = (model.observation_noise, model.initial_mean, model.initial_covariance)
    return type(model)(0.9999 * np.eye(2), model.observation, 1e-8 * np.eye(2), *rest)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "continues"), [(3, False), (1, True)])
def test_both_ways_give_the_same(n, continues):
    model, carry = random_system(np.random.default_rng(n), n=n), CARRY if continues else None
    for system, ahead in ((model, False), (model, True), (slow_system(model), False)):
        assert_same(*(ask(system, batch_of(n, continues, ahead, general), carry) for general in (False, True)))


@pytest.mark.slow
def test_both_ways_filter_the_same():
    model = random_system(np.random.default_rng(2))
    for system in (model, slow_system(model)):
        one, other = (ask_more(system, batch_of(3, True, False, general), CARRY) for general in (False, True))
        assert_same(one, other)
        np.testing.assert_allclose(one[-1].emission.mass, batch_of(3, True, False, False).weight.sum())


@pytest.mark.slow
def test_gradients_go_both_ways():
    model = jax.tree.map(jnp.asarray, random_system(np.random.default_rng(0)))
    values = np.random.default_rng(1).normal(size=(300, 3))

    @quick
    def slopes(model, batch):
        def total(m):
            square = ("transition_noise", "observation_noise", "initial_covariance")
            parts = [0.5 * (getattr(m, name) + getattr(m, name).T) for name in square]
            even = eqx.tree_at(lambda m: [getattr(m, name) for name in square], m, parts)
            return jnp.sum(even.log_likelihood(batch))

        return jax.grad(total)(model)

    steps = TimeIndex.of_lengths([300])
    assert_same(*(slopes(model, Batch(values, observed=o, time=steps)) for o in (None, np.ones_like(values, bool))))


@pytest.mark.parametrize("holes", [False, True])
def test_the_smoother_is_that_of_statsmodels(holes):
    rng = np.random.default_rng(4)
    model, rows = random_system(rng), 300
    values = rng.normal(size=(rows, 3)) * 2
    seen = rng.random((rows, 3)) > 0.2 * holes
    seen[10:14] = ~np.bool_(holes)
    peer = KalmanSmoother(k_endog=3, k_states=2, k_posdef=2, tolerance=0)
    peer.bind(np.where(seen, values, np.nan))
    matrices = ("design", "transition", "state_cov", "obs_cov", "selection")
    own = (model.observation, model.transition, model.transition_noise, model.observation_noise, np.eye(2))
    for name, matrix in zip(matrices, own, strict=True):
        peer[name] = matrix
    peer.initialize_known(model.initial_mean, model.initial_covariance)
    expected = peer.smooth()
    batch = Batch(values, observed=seen if holes else None, time=TimeIndex.of_lengths([rows]))
    found, likelihood = quick(lambda m, b: (m.smooth(b), m.log_likelihood(b)))(model, batch)
    np.testing.assert_allclose(np.sum(likelihood), expected.llf, rtol=1e-10)
    np.testing.assert_allclose(found.states.mean, expected.smoothed_state.T, rtol=1e-8, atol=1e-9)
    covariance = np.moveaxis(expected.smoothed_state_cov, -1, 0)
    np.testing.assert_allclose(found.states.covariance, covariance, rtol=1e-8, atol=1e-9)


def test_covariances_stay_positive_definite_for_a_million_steps():
    """Outputs with noise of 1e-6, states with one of 1e-10, and an entry missing now and then."""
    turn = jnp.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    start = States(jnp.zeros(2), jnp.eye(2))
    dynamics = Dynamics(0.999 * turn, 1e-10 * jnp.eye(2), start)

    @quick
    def least(design):
        def step(t, known):
            state, skew, least = known
            seen = jnp.where(t % 7 == 3, 0, design)
            now, _ = update_state(predict_state(dynamics, state, jnp.zeros(2)), seen, jnp.zeros(2))
            p = now.covariance
            determinant = p[0, 0] * p[1, 1] - p[0, 1] * p[1, 0]
            smallest = jnp.minimum(jnp.minimum(p[0, 0], p[1, 1]), determinant / (p[0, 0] * p[1, 1]))
            return now, jnp.maximum(skew, jnp.abs(p[0, 1] - p[1, 0])), jnp.minimum(least, smallest)

        return jax.lax.fori_loop(0, 1_000_000, step, (start, 0.0, 1.0))

    _, skew, smallest = least(1e3 * np.array([[1.0, 0.5], [1.0, 0.5001]]))
    assert float(skew) < 1e-22
    assert float(smallest) > 1e-14
