"""Oracles: χ² quantiles, scipy's own distributions, enumeration of all sets, and coverage with its standard error."""

import itertools

import numpy as np
import pytest
from scipy import stats

from kullback.families import Categorical, Gaussian, Poisson
from kullback.geometry import (
    conformal_quantile,
    density_grid,
    highest_density_level,
    highest_density_threshold,
    highest_mass_set,
    pieces_above,
    whole_pieces,
)

RNG = np.random.default_rng(0)
DRAWS = 20_000


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_threshold_of_a_gaussian_is_a_quantile_of_chi_square(level):
    p = Gaussian([1.0, -2.0, 0.5], [[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    found = highest_density_threshold(p.log_prob(p.sample(1, DRAWS)), level)
    radius = 2 * (p.log_prob([1.0, -2.0, 0.5]) - found)
    error = np.sqrt(level * (1 - level) / DRAWS) / stats.chi2(3).pdf(stats.chi2(3).ppf(level))
    assert abs(radius - stats.chi2(3).ppf(level)) < 3 * error


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 7, 10, 100])
def test_at_least_the_level_of_draws_is_inside_and_no_higher_threshold_has_it(n, level):
    values = RNG.normal(size=(n, 3)).round(1)  # with ties
    t = highest_density_threshold(values, level)
    assert np.all(np.mean(values >= t, axis=0) >= level - 1e-12)
    assert np.all(np.mean(values > t, axis=0) < level)


BUMPS = stats.norm([-2.0, 2.5], [0.5, 1.0])
SHARES = np.array([0.3, 0.7])


def bumps(y):
    return np.log(BUMPS.pdf(y[..., None]) @ SHARES)


def draw_bumps(shape):
    label = (RNG.random(shape) < SHARES[1]).astype(int)
    return RNG.normal(BUMPS.mean()[label], BUMPS.std()[label])


def test_sets_of_a_mixture_have_two_pieces_and_cover_new_draws():
    level, draws = 0.9, draw_bumps((DRAWS, 1))
    t = highest_density_threshold(bumps(draws), level)
    found = pieces_above(bumps, t, density_grid(draws[:200]))
    assert found.counts.tolist() == [2]
    np.testing.assert_allclose(bumps(found.of_row(0)), t[0], atol=1e-12)  # all four ends lie on the level set
    mass = np.sum((BUMPS.cdf(found.upper[0][:, None]) - BUMPS.cdf(found.lower[0][:, None])) @ SHARES)
    assert abs(mass - level) < 3 * np.sqrt(level * (1 - level) / DRAWS)
    fresh = draw_bumps(4000)
    everywhere = type(found)(*(np.repeat(part, 4000, axis=0) for part in found))
    np.testing.assert_array_equal(everywhere.contains(fresh), bumps(fresh) >= t)


def test_rows_have_sets_of_their_own_of_any_number_of_pieces():
    mean, scale = np.array([[-3.0, 0.0, 4.0], [0.0, 0.1, 0.2], [-9.0, 0.0, 9.0]]), np.array([0.4, 1.0, 2.0])

    def log_prob(y):  # scipy's, with a scale for each row
        each = stats.norm(mean.T[:, None], scale).pdf(y[None])
        return np.log(np.mean(each, axis=0))

    draws = mean[np.arange(3)[None], RNG.integers(0, 3, (500, 3))] + scale * RNG.normal(size=(500, 3))
    found = pieces_above(log_prob, highest_density_threshold(log_prob(draws), 0.8), density_grid(draws))
    assert found.counts.tolist() == [3, 1, 3]
    assert np.isnan(found.lower[1, 1:]).all()
    inside = log_prob(draws) >= highest_density_threshold(log_prob(draws), 0.8)
    for row in range(3):
        lower, upper = found.of_row(row).T
        seen = np.any((draws[:, row, None] >= lower) & (draws[:, row, None] <= upper), axis=1)
        np.testing.assert_array_equal(seen, inside[:, row])


def test_a_set_ends_with_its_support_and_may_be_empty_or_reach_beyond_the_grid():
    def exponential(y):
        return np.where(y >= 0, -y, -np.inf)

    grid = np.linspace(0.0, 1.0, 5)[:, None] * np.ones(3)
    found = pieces_above(exponential, [-30.0, -1e-9, 0.5], grid, support=(0.0, np.inf))
    assert found.counts.tolist() == [1, 1, 0]
    np.testing.assert_allclose(found.of_row(0), [[0.0, 30.0]], rtol=1e-14)
    np.testing.assert_allclose(found.of_row(1), [[0.0, 1e-9]], rtol=1e-6)
    assert found.length[2] == 0
    assert found.contains([29.0, 1.0, 0.0]).tolist() == [True, False, False]
    with pytest.raises(ValueError, match="has no end"):
        pieces_above(np.zeros_like, -1.0, grid)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_sets_of_classes_are_the_smallest_of_all_sets(level):
    p = RNG.dirichlet(np.ones(6), size=5)
    found = highest_mass_set(Categorical(p).log_prob(np.arange(6)[:, None]).T, level)
    for row, mask in zip(p, found, strict=True):
        sets = [list(s) for size in range(1, 7) for s in itertools.combinations(range(6), size)]
        enough = [s for s in sets if row[s].sum() >= level]
        assert mask.sum() == min(map(len, enough))
        assert row[mask].sum() == max(row[s].sum() for s in enough if len(s) == mask.sum())


def test_sets_of_counts_agree_with_draws_and_are_runs_of_neighbors():
    counts = np.arange(200)
    pmf = np.logaddexp(np.log(0.5) + Poisson(4.0).log_prob(counts), np.log(0.5) + Poisson(60.0).log_prob(counts))
    inside = highest_mass_set(pmf, 0.9)
    draws = np.where(RNG.random(DRAWS) < 0.5, RNG.poisson(4.0, DRAWS), RNG.poisson(60.0, DRAWS))
    assert np.exp(pmf)[inside].sum() >= 0.9 > np.exp(pmf)[inside].sum() - np.exp(pmf[inside].min())
    assert abs(inside[draws].mean() - np.exp(pmf)[inside].sum()) < 3 * np.sqrt(0.09 / DRAWS)
    found = whole_pieces(inside[None])
    assert found.counts.tolist() == [2]
    np.testing.assert_array_equal(
        np.concatenate([np.arange(low, high + 1) for low, high in found.of_row(0)]), counts[inside]
    )


def test_too_few_outcomes_are_refused():
    with pytest.raises(ValueError, match="have 0.7 of the probability in all: level 0.9"):
        highest_mass_set(np.log([0.5, 0.2]), 0.9)


def test_nine_tenths_in_tenths_are_reached_by_nine():
    assert highest_mass_set(np.log(np.full(10, 0.1)), 0.9).sum() == 9


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_calibrated_sets_cover_whatever_the_model(level):
    n, trials = 60, 4000
    wrong = stats.norm(0.3, 0.5)  # of data from N(0, 1)
    scores = -wrong.logpdf(RNG.normal(size=(trials, n)))
    fresh = -wrong.logpdf(RNG.normal(size=trials))
    covered = np.mean([new <= conformal_quantile(old, level) for new, old in zip(fresh, scores, strict=True)])
    exact = np.ceil((n + 1) * level) / (n + 1)  # exchangeability and no ties: not only a bound
    assert abs(covered - exact) < 3 * np.sqrt(exact * (1 - exact) / trials)


def test_levels_of_points_are_uniform_under_their_own_model():
    own = bumps(draw_bumps((DRAWS, 1)))
    assert stats.kstest(highest_density_level(bumps(draw_bumps(3000)), own), "uniform").pvalue > 1e-3
    assert highest_density_level(highest_density_threshold(own, 0.7), own)[0] <= 0.7


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: conformal_quantile(np.zeros(8), 0.9),
            "there are 8 calibration rows: sets of level 0.9 need at least 9",
        ),
        (lambda: conformal_quantile([np.nan], 0.5), "scores has NaN"),
        (lambda: highest_density_threshold(np.zeros(3), 1.0), "level is 1.0"),
        (lambda: highest_density_threshold(np.zeros((0, 3)), 0.9), "has no draws"),
        (lambda: highest_density_threshold([np.nan, 0.0], 0.9), "own_log_prob has NaN"),
        (lambda: highest_density_level([np.nan], [[0.0]]), "has NaN entries"),
    ],
)
def test_bad_questions_are_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_nine_rows_are_enough_for_nine_tenths():
    assert conformal_quantile(np.arange(9.0), 0.9) == 8.0
