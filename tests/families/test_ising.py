"""Spins against enumeration in plain NumPy."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from contracts.quick import quick
from kullback.families import Batch, Bernoulli, Ising


def enumerate_states(biases, couplings, pairs):
    """States, their statistics and their probabilities."""
    states = np.array(list(itertools.product([-1, 1], repeat=len(biases))))
    statistics = np.array([[*x, *(x[i] * x[j] for i, j in pairs)] for x in states], dtype=float)
    energy = statistics @ np.concatenate([biases, couplings])
    weights = np.exp(energy - energy.max())
    return states, statistics, weights / weights.sum(), np.log(weights.sum()) + energy.max()


@pytest.mark.parametrize("pairs", ["all", ((2, 0), (1, 3))])
def test_enumeration(pairs):
    rng = np.random.default_rng(0)
    listed = list(itertools.combinations(range(4), 2)) if pairs == "all" else list(pairs)
    biases, couplings = rng.normal(size=4), rng.normal(size=len(listed))
    states, statistics, mass, log_z = enumerate_states(biases, couplings, listed)
    spins = Ising(biases, couplings, pairs)

    @quick
    def work(spins):
        fishers = spins.fisher("natural"), spins.fisher("expectation")
        return spins.log_prob(states), spins.expectation, spins.log_partition, spins.entropy, *fishers

    log_p, eta, psi, entropy, fisher, dual = work(spins)
    np.testing.assert_allclose(np.exp(log_p), mass, rtol=1e-12)
    np.testing.assert_allclose(eta, mass @ statistics, rtol=1e-12)
    np.testing.assert_allclose(psi, log_z, rtol=1e-13)
    np.testing.assert_allclose(entropy, -mass @ np.log(mass), rtol=1e-12)
    away = statistics - mass @ statistics
    covariance = away.T @ (mass[:, None] * away)
    np.testing.assert_allclose(fisher, covariance, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(dual, np.linalg.inv(covariance), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(spins.statistics(states), statistics)


def test_without_interactions_spins_are_independent():
    """E[x] = tanh h = 2P(+1) − 1, and each spin is a coin."""
    biases = np.array([[0.3, -1.0, 4.0], [0.0, 1e-6, -3.0]])
    spins = Ising(biases, interactions=[])
    assert spins.size == 3
    coins = Bernoulli(1 / (1 + np.exp(-2 * biases)))
    other = Ising(biases[::-1].copy(), interactions=[])

    @quick
    def work(spins, other):
        back = Ising.from_expectation(spins.expectation, interactions=[])
        return spins.expectation, spins.log_partition, back.biases, spins.entropy, spins.relative_entropy(other)

    eta, psi, back, entropy, apart = work(spins, other)
    np.testing.assert_allclose(eta, np.tanh(biases), rtol=1e-13)
    np.testing.assert_allclose(psi, np.sum(np.log(2 * np.cosh(biases)), axis=-1), rtol=1e-13)
    np.testing.assert_allclose(back, biases, rtol=1e-10)
    expected = quick(lambda p, q: (p.entropy, p.relative_entropy(q)))(coins, Bernoulli(coins.probability[::-1].copy()))
    np.testing.assert_allclose(entropy, expected[0].sum(axis=-1), rtol=1e-10)
    np.testing.assert_allclose(apart, expected[1].sum(axis=-1), rtol=1e-9)


def test_a_function_on_two_spins():
    """f = x₁ + 2x₂ + 3x₁x₂ has the mean −4μ₁ − 2μ₂ + 12μ₁μ₂ under independent marginals μ, with minimum −4."""
    mu = np.array([[0.3, 0.6], [1 - 1e-12, 1e-12]])
    biases = np.arctanh(2 * mu - 1)
    mean = np.asarray(quick(lambda s: s.expectation)(Ising(biases, np.zeros((2, 1))))) @ [1, 2, 3]
    expected = -4 * mu[:, 0] - 2 * mu[:, 1] + 12 * mu[:, 0] * mu[:, 1]
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mean[1], -4, atol=1e-10)


def test_samples_have_the_right_frequencies():
    rng = np.random.default_rng(1)
    spins = Ising(rng.normal(0, 0.4, (2, 4)), rng.normal(0, 0.4, (2, 6)))
    x = np.asarray(quick(lambda s: s.sample(jax.random.key(0), (20, 300)))(spins)).reshape(-1, 2, 4)
    assert set(np.unique(x)) == {-1, 1}
    for place in range(2):
        states, _, mass, _ = enumerate_states(
            spins.biases[place], spins.couplings[place], list(itertools.combinations(range(4), 2))
        )
        counts = np.array([np.sum(np.all(x[:, place] == state, axis=-1)) for state in states])
        assert stats.chisquare(counts, mass * len(x)).pvalue > 1e-3


def test_what_is_not_a_spin_has_no_mass():
    found = quick(lambda s, x: s.log_prob(x))(Ising([0.1, 0.2], [0.3]), np.array([[1, 0], [1, -1], [2, 1]]))
    assert np.isneginf(found).tolist() == [True, False, True]


@pytest.mark.slow
def test_sixteen_spins():
    """A ring of 16: the log-partition by the transfer matrix, the round trip, and a fit."""
    n, bias, coupling = 16, 0.2, 0.3
    ring = tuple((i, (i + 1) % n) for i in range(n))
    spins = Ising(np.full(n, bias), np.full(n, coupling), ring)
    transfer = np.array([[np.exp(coupling * a * b + bias * (a + b) / 2) for b in (1, -1)] for a in (1, -1)])
    eta, psi = quick(lambda s: (s.expectation, s.log_partition))(spins)
    np.testing.assert_allclose(psi, np.log(np.trace(np.linalg.matrix_power(transfer, n))), rtol=1e-12)
    np.testing.assert_allclose(eta[:n], eta[0], rtol=1e-12)
    slope = [
        np.log(np.trace(np.linalg.matrix_power(transfer * np.exp(h * np.array([[1, 0], [0, -1]])), n)))
        for h in (1e-5, -1e-5)
    ]
    np.testing.assert_allclose(n * eta[0], (slope[0] - slope[1]) / 2e-5, rtol=1e-8)
    back = quick(lambda e: Ising.from_expectation(e, interactions=ring))(eta)
    np.testing.assert_allclose(back.couplings, coupling, rtol=1e-9)
    np.testing.assert_allclose(back.biases, bias, rtol=1e-9)


def test_expectations_that_no_spins_have():
    """E[x₁] = E[x₂] = 0.9 forces E[x₁x₂] ≥ 0.8: NaN under jit, where nothing can be raised, for that member only."""
    found = quick(lambda e: Ising.from_expectation(e))(np.array([[0.9, 0.9, 0.5], [0.1, 0.2, 0.3]]))
    assert np.all(np.isnan(found.biases[0]))
    assert np.all(np.isfinite(found.biases[1]))
    assert found.interior.tolist() == [False, True]


def test_fit_of_strongly_tied_spins():
    """Newton's method far from its start: nearly all mass on two states."""
    biases, couplings = np.array([0.5, -0.3, 0.2]), np.array([2.5, 2.0, 1.5])
    start = Ising(np.zeros(3), np.zeros(3))
    states, _, mass, _ = enumerate_states(biases, couplings, list(itertools.combinations(range(3), 2)))
    fitted = quick(lambda s, x, w: s.maximize(s.expected_statistics(Batch(x, w))[0]))(start, states, mass)
    np.testing.assert_allclose(fitted.biases, biases, rtol=1e-8)
    np.testing.assert_allclose(fitted.couplings, couplings, rtol=1e-8)
