"""Whole numbers: f sees nothing else, and the search does not end before it has found them."""

import numpy as np
import pytest
from scipy.stats import norm

from kullback import minimize
from kullback.search import _integers
from kullback.search._integers import Stretch, check_integers, least_spread

GOAL = np.array([3.0, -7.0, 12.0, 0.3, -0.7, 0.1])
WEIGHTS = np.logspace(0, 3, 6)


def mixed(x):
    assert np.array_equal(x[:3], np.rint(x[:3]))
    return float(np.sum(WEIGHTS * (x - GOAL) ** 2))


def test_a_mixed_problem_is_solved_in_one_run():
    result = minimize(mixed, np.zeros(6), 2.0, integers=[0, 1, 2], target=1e-8, restarts=None)
    assert result.stopped == "target"
    np.testing.assert_array_equal(result.x[:3], GOAL[:3])
    np.testing.assert_allclose(result.distribution.mean[:3], GOAL[:3], atol=0.5)


def test_without_a_least_spread_the_same_problem_is_not_solved(monkeypatch):
    monkeypatch.setattr(_integers, "least_spread", lambda *_: 1e-300)
    solved = [
        minimize(mixed, np.zeros(6), 2.0, integers=[0, 1, 2], target=1e-8, restarts=None, seed=seed).success
        for seed in range(3)
    ]
    assert not all(solved)


def test_integers_within_bounds_only():
    def f(x):
        assert np.array_equal(x, np.rint(x))
        assert np.all((x >= 1) & (x <= 3))
        return float(np.sum(np.abs(x - 5.2)))

    result = minimize(f, [1.5, 2.0], 0.5, bounds=(0.5, 3.5), integers=[True, True], budget=500, restarts=None)
    np.testing.assert_array_equal(result.x, [3, 3])


def test_the_least_spread_leaves_an_integer_once_in_a_population():
    n, m = 5, 8
    leaving = 2 * norm.sf(0.5 / least_spread(n, m))
    np.testing.assert_allclose(leaving * n * m, 1)


def test_a_stretch_keeps_the_mean_and_the_least_spread():
    mean, spread = np.array([2.0, 5.0]), np.array([1e-6, 1e-6])
    whole = np.array([True, False])
    first = Stretch(np.array([1.0, 0.0]), np.array([2.0, 1.0]))
    later = first.widen(mean, spread, whole, 6)
    np.testing.assert_allclose(later.apply(mean), first.apply(mean))
    np.testing.assert_allclose(later.factor * spread, [least_spread(2, 6), 1e-6])
    assert Stretch.identity(2).widen(mean, np.ones(2), whole, 6).factor.tolist() == [1, 1]


@pytest.mark.parametrize("integers", [[0.5], [6], [True], [[0]], "a"])
def test_bad_integers_get_one_sentence(integers):
    with pytest.raises(ValueError, match="integers is"):
        check_integers(integers, 3)


def test_no_whole_number_between_the_bounds():
    with pytest.raises(ValueError, match="no whole number between them"):
        minimize(np.sum, [0.5], bounds=(0.2, 0.8), integers=[0])
