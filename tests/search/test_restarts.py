"""Restarts: their populations, their cost, and that they find what one run does not."""

import numpy as np
import pytest

from kullback import minimize, minimize_binary
from kullback.search._restarts import Run, check_restarts, double_population, next_plan
from tiers import slow


def rastrigin(x):
    return float(np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10))


def run(population, large, evaluations):
    return Run(population, 1.0, large, 0, evaluations, 1.0, "flat")


def test_ipop_doubles():
    runs, sizes = [], []
    for _ in range(4):
        plan = next_plan("ipop", 6, 2, runs, np.random.default_rng(0))
        sizes.append(plan.population)
        runs.append(run(plan.population, True, 100))
    assert sizes == [6, 12, 24, 48]


def test_bipop_spends_as_much_on_small_runs_as_on_large_ones():
    rng, runs = np.random.default_rng(1), []
    for _ in range(60):
        plan = next_plan("bipop", 6, 2, runs, rng)
        cost = 100 * plan.population if plan.large else min(80 * plan.population, plan.limit)
        runs.append(run(plan.population, plan.large, cost))
        if not plan.large:
            last = [one for one in runs if one.large][-1]
            assert 6 <= plan.population <= last.population / 2 or plan.population == 6
            assert plan.limit == last.evaluations // 2
            assert 0.01 <= plan.shrink <= 1
    small, large = (sum(one.evaluations for one in runs[1:] if one.large is kind) for kind in (False, True))
    assert sum(not one.large for one in runs) > 10
    assert 0.3 < small / large < 1.7
    assert [one.population for one in runs if one.large][:4] == [6, 12, 24, 48]


@pytest.mark.parametrize("restarts", ["ipop", slow("bipop")])
def test_restarts_find_what_one_run_does_not(restarts):
    once = minimize(rastrigin, [3.0, 3.0], 0.5, restarts=None)
    assert once.stopped == "flat"
    assert once.fun > 0.5
    assert once.restarts == 0
    again = minimize(rastrigin, [3.0, 3.0], 0.5, restarts=restarts, target=1e-8, bounds=(-5, 5), budget=20_000)
    assert again.stopped == "target"
    assert again.restarts > 0
    assert again.restarts == again.history.run[-1] == len(again.runs) - 1
    assert sum(one.evaluations for one in again.runs) == again.nfev


def test_the_best_of_all_runs_is_kept_and_a_number_of_restarts():
    result = minimize(rastrigin, [3.0, 3.0], 0.5, restarts=2, budget=20_000)
    assert result.restarts == 2
    assert result.fun == min(one.best for one in result.runs) == result.history.best.min() == rastrigin(result.x)
    assert result.nfev < 20_000


def test_the_distribution_is_that_of_the_run_that_has_found_the_best_point():
    result = minimize(rastrigin, [0.9, 0.9], 0.2, budget=600)
    best = min(range(len(result.runs)), key=lambda place: result.runs[place].best)
    assert best < result.restarts  # not the last one, which had no time
    np.testing.assert_allclose(result.distribution.mean, result.x, atol=1e-5)
    last = np.flatnonzero(result.history.run == best)[-1]
    np.testing.assert_allclose(np.sqrt(result.distribution.covariance.diagonal().max()), result.history.spread[last])


def test_runs_begin_at_different_points_of_a_closed_box():
    first = []
    minimize(lambda x: float(first.append(x) or 0.0), [0.5, 0.5], 1e-3, bounds=(0, 1), budget=60)
    assert np.ptp([x[0] for x in first]) > 0.3


@pytest.mark.parametrize("restarts", ["more", -1, 1.5, [1]])
def test_bad_restarts_get_one_sentence(restarts):
    with pytest.raises(ValueError, match="restarts is"):
        check_restarts(restarts)


def test_populations_double_up_to_a_bound():
    plan = next_plan("ipop", 6, 2, [run(6, True, 100)] * 40, np.random.default_rng(0))
    assert plan.population == 6 * 2**11 <= 2**14
    assert double_population(38, 40, 100_000) * 100_000 <= 2**23 < 2 * double_population(38, 40, 100_000) * 100_000
    assert double_population(50_000, 40, 3) == 50_000  # what was asked for


@pytest.mark.slow
def test_a_plateau_does_not_make_populations_grow_for_ever(monkeypatch):
    monkeypatch.setattr("kullback.search._restarts.MOST_POINTS", 24)
    result = minimize(lambda X: np.zeros(len(X)), [1.0, 2.0], budget=600, vectorized=True)
    assert [one.population for one in result.runs[:6]] == [6, 12, 24, 24, 24, 24]
    spins = minimize_binary(lambda X: np.zeros(len(X)), 40, population=12, budget=600, vectorized=True)
    assert [one.population for one in spins.runs[:4]] == [12, 24, 24, 24]
