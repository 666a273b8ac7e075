"""Gibbs sampling against enumeration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.families import Ising
from kullback.search import MarkovField
from kullback.search.spins._gibbs import gibbs_sweeps, pair_statistics, spin_groups

GRID = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
ALL = [(i, j) for i in range(6) for j in range(i + 1, 6)]


@pytest.mark.parametrize("pairs", [GRID, ALL], ids=["grid", "all"])
def test_moments_are_those_of_enumeration(pairs):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        spins = Ising(rng.normal(size=6) * 0.3, rng.normal(size=len(pairs)) * 0.4, pairs)
        listed = np.array(pairs)
        start = jnp.ones((4000, 6))
        groups = jnp.asarray(spin_groups(6, listed))
        drawn = gibbs_sweeps(jax.random.key(1), start, spins.natural, jnp.asarray(listed), groups, 40)
        statistics = np.asarray(pair_statistics(drawn, jnp.asarray(listed)))
        away = (statistics.mean(axis=0) - np.asarray(spins.expectation)) * np.sqrt(4000) / statistics.std(axis=0)
    assert set(np.unique(drawn)) == {-1, 1}
    assert np.abs(away).max() < 4  # independent chains, so these are standard errors


def test_groups_hold_spins_that_do_not_interact():
    assert len(spin_groups(6, np.array(GRID))) == 2
    assert len(spin_groups(6, np.array(ALL))) == 6
    rng = np.random.default_rng(0)
    pairs = np.array([pair for pair in np.stack(np.triu_indices(30, 1), axis=1) if rng.random() < 0.2])
    groups = spin_groups(30, pairs)
    assert sorted(groups[groups < 30].tolist()) == list(range(30))
    for group in groups:
        assert not any(set(pair) <= set(group.tolist()) for pair in pairs.tolist())


@pytest.mark.slow
def test_a_large_field_is_sampled():
    biases = np.linspace(-1, 1, 30)
    biases[:2] = 0
    field = MarkovField(biases, [1.0], [(0, 1)])
    drawn = field.sample(jax.random.key(0), (2000,))
    away = (drawn.mean(axis=0) - np.tanh(biases)) * np.sqrt(2000) / drawn.std(axis=0)
    product = drawn[:, 0] * drawn[:, 1]
    assert np.abs(away).max() < 4.5
    assert abs(product.mean() - np.tanh(1)) < 4 * product.std() / np.sqrt(2000)
    assert field.statistics(drawn).shape == (2000, 31)
