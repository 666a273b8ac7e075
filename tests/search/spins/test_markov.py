"""The natural gradient over Markov random fields: slopes, and where the natural flow goes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Ising
from kullback.search import MarkovSpins
from kullback.search.spins._gibbs import pair_statistics
from kullback.search.spins._markov import damped_slopes


def states(n):
    return 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1


def flow(f, n, pairs, start, until=40.0, step=0.02):
    """Return where the natural flow of E[f] goes, with covariances by enumeration: the most probable state."""
    pairs, x = np.array(pairs, dtype=int).reshape(-1, 2), states(n)

    @jax.jit
    def run(theta):
        statistics = pair_statistics(jnp.asarray(x), jnp.asarray(pairs))

        def euler(theta, _):
            weights = jax.nn.softmax(statistics @ theta)
            slopes = damped_slopes(statistics, jnp.asarray(f(x)), weights, jnp.zeros_like(theta), 1e-9, 1e-9)
            return theta - step * slopes, None

        return jax.lax.scan(euler, theta, None, length=int(until / step))[0]

    with jax.enable_x64(True):
        theta = np.asarray(run(jnp.asarray(start, float)))
        return x[np.argmax(pair_statistics(jnp.asarray(x), jnp.asarray(pairs)) @ theta)]


def seed_energy(x):
    return x[:, 0] + 2 * x[:, 1] + 3 * x[:, 0] * x[:, 1]


def test_independent_spins_may_end_in_a_local_minimum_and_the_field_does_not():
    near_local = [-1.0, 1.0]
    assert flow(seed_energy, 2, [], near_local, until=3).tolist() == [-1, 1]  # −2
    assert flow(seed_energy, 2, [(0, 1)], [*near_local, 0.0], until=3).tolist() == [1, -1]  # −4


@pytest.mark.parametrize("seed", range(2))
def test_the_flow_reaches_the_minimum_if_statistics_span_f(seed):
    n, rng = 5, np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    pairs = pairs[rng.random(len(pairs)) < 0.7]
    coefficients = rng.normal(size=n + len(pairs))

    def f(x):
        return pair_statistics(jnp.asarray(x), jnp.asarray(pairs)) @ coefficients

    with jax.enable_x64(True):
        least = states(n)[np.argmin(f(states(n)))]
    start = rng.normal(size=n + len(pairs))
    assert flow(f, n, pairs, start, until=20).tolist() == least.tolist()


def test_slopes_are_the_fisher_matrix_applied_to_the_gradient():
    rng = np.random.default_rng(0)
    pairs = [(0, 1), (1, 2), (0, 3)]
    with jax.enable_x64(True):
        spins = Ising(rng.normal(size=4) * 0.5, rng.normal(size=3) * 0.5, pairs)
        values = jnp.asarray(rng.normal(size=16))  # not in the span

        def expected(theta):
            return jnp.sum(jnp.exp(Ising.from_natural(theta, interactions=pairs).log_prob(states(4))) * values)

        oracle = jnp.linalg.solve(spins.fisher("natural"), jax.grad(expected)(spins.natural))
        weights = jnp.exp(spins.log_prob(states(4)))
        found = damped_slopes(spins.statistics(states(4)), values, weights, jnp.zeros(7), 1e-12, 1e-12)
    np.testing.assert_allclose(found, oracle, atol=1e-8)


def test_fewer_points_than_statistics_are_solved_as_by_the_dual():
    rng = np.random.default_rng(0)
    statistics, utilities = rng.normal(size=(6, 15)), rng.normal(size=6)
    with jax.enable_x64(True):
        even = jnp.full(6, 1 / 6)
        found = damped_slopes(jnp.asarray(statistics), jnp.asarray(utilities), even, jnp.zeros(15), 0.01, 1e-12)
    centered = (statistics - statistics.mean(axis=0)) / np.sqrt(6)
    target = (utilities - utilities.mean()) / np.sqrt(6)
    dual = centered.T @ np.linalg.solve(centered @ centered.T + 0.01 * np.eye(6), target)
    np.testing.assert_allclose(found, dual, atol=1e-8)


def test_a_population_without_an_order_leaves_the_distribution():
    search = MarkovSpins(4, [(0, 1)], population=10)
    with jax.enable_x64(True):
        state = search.init(jax.random.key(0))
        for values in (np.zeros(10), np.full(10, np.nan)):
            after = search.tell(state._replace(slopes=jnp.ones(5)), state.chains, values)
            assert np.array_equal(after.natural, state.natural)


@pytest.mark.parametrize("pair", [(0, 4), (-1, 2), (1, 1)])
def test_a_bad_pair_is_refused(pair):
    with pytest.raises(ValueError, match=r"pairs\[1\] is .*: it must be two different spins in 0…3"):
        MarkovSpins(4, [(0, 1), pair])
