"""Interactions found from values."""

import numpy as np
import pytest

from kullback import minimize_binary
from kullback.search.spins._find_pairs import find_pairs

TRUE = [(i, i + 1) for i in range(19)] + [(0, 7), (3, 12), (5, 18)]


def energy(x):
    first, second = np.array(TRUE).T
    signs = np.where(np.arange(len(TRUE)) % 3 == 0, 1.0, -1.0)
    return x @ np.linspace(-1, 1, 20) + (x[:, first] * x[:, second]) @ signs


def test_the_graph_of_a_sparse_energy_is_found():
    x = np.random.default_rng(0).choice([-1.0, 1.0], (500, 20))
    assert {tuple(pair) for pair in find_pairs(x, energy(x)).tolist()} == set(TRUE)


def test_noise_has_no_pairs():
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = rng.choice([-1.0, 1.0], (300, 20))
        assert len(find_pairs(x, rng.normal(size=300))) == 0


def test_known_pairs_stay_and_a_product_that_never_changes_is_not_taken():
    x = np.random.default_rng(0).choice([-1.0, 1.0], (200, 5))
    x[:, 1] = x[:, 0]
    found = find_pairs(x, x[:, 2] * x[:, 3] + x[:, 4], {(3, 4)})
    assert found.tolist() == [[2, 3], [3, 4]]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_points_say_nothing(count):
    assert find_pairs(np.ones((count, 3)), np.zeros(count)).shape == (0, 2)


@pytest.mark.slow
def test_auto_finds_the_graph_and_the_minimum():
    given = minimize_binary(energy, 20, TRUE, budget=3000, vectorized=True, restarts=None)
    found = minimize_binary(energy, 20, "auto", budget=3000, target=given.fun + 1e-9, vectorized=True)
    assert found.stopped == "target"
    assert set(found.distribution.interactions) == set(TRUE)
