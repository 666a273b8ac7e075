"""Noise: how ranks change, and what it does to the number of evaluations."""

import numpy as np

from kullback import minimize
from kullback.search._noise import TOLERATED, next_repeats, rank_change


def test_the_change_of_random_ranks_is_one_on_average():
    rng = np.random.default_rng(0)
    changes = [rank_change(rng.random(9), rng.random(3)) for _ in range(4000)]
    error = np.std(changes) / np.sqrt(len(changes))
    assert abs(np.mean(changes) - 1) < 4 * error
    assert error < 0.01


def test_the_change_is_that_of_counted_ranks():
    rng = np.random.default_rng(1)
    for _ in range(50):
        first, second = rng.integers(0, 6, 9).astype(float), rng.integers(0, 6, 4).astype(float)
        first[rng.random(9) < 0.1] = np.inf
        change = 0.0
        for place, value in enumerate(second):
            others = np.delete(first, place)
            change += abs(np.sum(others < value) - np.sum(others < first[place]))
        assert rank_change(first, second) == change / 4 / (8 / 3)


def test_repeats_go_up_with_noise_and_down_without():
    assert next_repeats(2.0, 1.0, 100) > 2.0 > next_repeats(2.0, 0.0, 100)
    assert next_repeats(2.0, TOLERATED, 100) == 2.0
    assert next_repeats(1.0, 0.0, 100) == 1.0
    assert next_repeats(99.0, 1.0, 100) == 100


def distances(noisy, seeds=3):
    """Return |x|² at the end of minimizing |x|² + N(0, 1)."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        result = minimize(
            lambda x, rng=rng: np.sum(x**2, axis=1) + rng.normal(size=len(x)),
            np.full(5, 2.0),
            1.0,
            noisy=noisy,
            budget=3000,
            seed=seed,
            vectorized=True,
        )
        found.append(float(result.x @ result.x))
        assert result.nfev <= 3000
        if noisy:
            # no lucky value: the mean of at least 10 evaluations at x, of variance 1 each
            assert abs(result.fun - found[-1]) < 4 / np.sqrt(10)
            assert result.history.repeats.max() > 3
    return found


def test_a_noisy_sphere_ends_closer_with_reevaluation():
    assert np.median(distances(True)) < 0.7 * np.median(distances(False))


def test_a_callback_sees_the_mean_and_the_median():
    seen = []
    result = minimize(
        lambda x: float(x @ x) + 1, np.ones(5), noisy=True, budget=200, callback=lambda r: seen.append((r.x, r.fun))
    )
    assert [value for _, value in seen] == result.history.median.tolist()
    np.testing.assert_array_equal(seen[-1][0], result.distribution.mean)


def test_without_noise_points_are_evaluated_once():
    result = minimize(lambda x: float(x @ x), [2.0, 1.0], noisy=True, budget=600, restarts=None)
    assert result.history.repeats.max() == 1
    assert result.fun < 1e-3
