"""Regression at the front door: against scikit-learn, statsmodels and scipy, and what it says to bad input."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import GammaRegressor, LinearRegression, PoissonRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kullback
from kullback import Regressor

ROWS = 400


def inputs(seed=0):
    """Return inputs of very different units."""
    return np.random.default_rng(seed).normal(size=(ROWS, 3)) * [1, 100, 0.01] + [0, 1000, 5]


def linear(X):
    """Return a linear predictor of ordinary size."""
    return 1 + 0.3 * X[:, 0] + 0.002 * (X[:, 1] - 1000) - 10 * (X[:, 2] - 5)


@pytest.fixture(scope="module")
def counts():
    X = inputs()
    return X, np.random.default_rng(1).poisson(np.exp(linear(X)))


@pytest.fixture(scope="module")
def numbers():
    X = inputs()
    return X, linear(X) + np.random.default_rng(2).normal(0, 0.5, ROWS)


@pytest.fixture(scope="module")
def poisson(counts):
    return Regressor("poisson").fit(*counts)


@pytest.fixture(scope="module")
def gaussian(numbers):
    return Regressor().fit(*numbers)


# --- coefficients -------------------------------------------------------------------------------------------


def test_gaussian_coefficients_are_those_of_least_squares(gaussian, numbers):
    X, y = numbers
    peer = LinearRegression().fit(X, y)
    np.testing.assert_allclose(gaussian.coef_, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(gaussian.intercept_, peer.intercept_, rtol=1e-9)
    assert gaussian.score(X, y) == pytest.approx(peer.score(X, y), abs=1e-12)
    residual = y - peer.predict(X)
    np.testing.assert_allclose(gaussian.predict_distribution(X).variance, np.mean(residual**2), rtol=1e-8)


def test_poisson_coefficients_are_those_of_scikit_learn(poisson, counts):
    X, y = counts
    scale = X.std(axis=0)
    peer = PoissonRegressor(alpha=0, solver="newton-cholesky", tol=1e-12).fit((X - X.mean(axis=0)) / scale, y)
    np.testing.assert_allclose(poisson.coef_, peer.coef_ / scale, rtol=1e-6)


@pytest.mark.slow
def test_gamma_coefficients_are_those_of_scikit_learn_and_the_shape_that_of_greatest_likelihood():
    X = inputs()
    mean = np.exp(linear(X))
    y = mean * np.random.default_rng(3).gamma(4, 1 / 4, ROWS)
    found = Regressor("gamma").fit(X, y)
    scale = X.std(axis=0)
    peer = GammaRegressor(alpha=0, solver="newton-cholesky", tol=1e-12).fit((X - X.mean(axis=0)) / scale, y)
    np.testing.assert_allclose(found.coef_, peer.coef_ / scale, rtol=1e-6)
    reached = found.score_samples(X, y).sum()
    member = found.predict_distribution(X).member.columns
    k = float(np.asarray(member.shape)[0, 0])
    around = [stats.gamma.logpdf(y, a=k * f, scale=found.predict(X) / (k * f)).sum() for f in (0.99, 1, 1.01)]
    assert reached == pytest.approx(around[1], rel=1e-9)
    assert around[1] > max(around[0], around[2])


@pytest.mark.slow
def test_weights_count_rows_more_than_once(numbers):
    X, y = numbers
    weight = np.random.default_rng(4).integers(0, 4, ROWS)
    one = Regressor(dispersion="linear").fit(X, y, sample_weight=weight)
    other = Regressor(dispersion="linear").fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-8)


def test_more_inputs_than_rows_end_at_a_floor_and_say_so():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(8, 20)), rng.normal(size=8)
    with pytest.warns(UserWarning, match="without error"):
        found = Regressor().fit(X, y)
    assert np.all(found.predict_distribution(X).std > 1e-7)
    np.testing.assert_allclose(found.predict(X), y, atol=1e-5)


# --- distributions ------------------------------------------------------------------------------------------


def test_answers_have_the_moments_and_quantiles_of_their_laws(poisson, counts):
    X, y = counts
    found, law = poisson.predict_distribution(X), stats.poisson(poisson.predict(X))
    np.testing.assert_allclose(found.variance, law.var())
    for level in (0.05, 0.5, 0.95):
        np.testing.assert_array_equal(found.quantile(level), law.ppf(level))
    np.testing.assert_array_equal(found.quantile([0.05, 0.95]), [law.ppf(0.05), law.ppf(0.95)])
    np.testing.assert_allclose(found.cdf(y), law.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(found.log_prob(y), law.logpmf(y), rtol=1e-9)
    np.testing.assert_allclose(poisson.score_samples(X, y), law.logpmf(y), rtol=1e-9)
    np.testing.assert_allclose(poisson.score_samples(X[:5]), -law.entropy()[:5], rtol=1e-6)
    assert len(found[:7]) == 7


@pytest.mark.slow
def test_draws_have_the_means_that_are_predicted(poisson, counts):
    X, _ = counts
    drawn = poisson.sample(X[:50], n=2000, random_state=0)
    mean = poisson.predict(X[:50])
    assert drawn.shape == (2000, 50)
    assert np.abs((drawn.mean(axis=0) - mean) / np.sqrt(mean / 2000)).max() < 4.5
    np.testing.assert_array_equal(poisson.sample(X[:5], random_state=1), poisson.sample(X[:5], random_state=1))


@pytest.mark.slow
def test_central_intervals_and_smallest_sets_of_gaussians_agree(gaussian, numbers):
    X, _ = numbers
    low, high = gaussian.predict_distribution(X[:20]).interval(0.9)
    sets = gaussian.credible_set(X[:20], 0.9)
    np.testing.assert_array_equal(sets.counts, 1)
    spread = (high - low)[0]
    assert np.abs(sets.lower[:, 0] - low).max() < 0.1 * spread  # the set is known from 1,024 draws
    assert np.abs(sets.upper[:, 0] - high).max() < 0.1 * spread


def test_sets_of_many_rows_are_those_of_each(poisson, counts):
    """Rows go in blocks, of which the last is filled up: sets of counts come without draws, and are the same."""
    X = np.resize(counts[0], (300, 3))
    many = poisson.credible_set(X, 0.9)
    few = poisson.credible_set(X[290:], 0.9)
    assert len(many) == len(many.lower) == len(many.counts) == 300
    np.testing.assert_array_equal(many.lower[290:], few.lower)
    np.testing.assert_array_equal(many.upper[290:], few.upper)
    np.testing.assert_allclose(many.threshold[290:], few.threshold, rtol=1e-12)


@pytest.mark.slow
def test_calibration_makes_sets_hold_what_they_promise():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2500, 1))
    y = X[:, 0] + rng.standard_t(2, 2500)  # tails that no Gaussian has
    found = Regressor().fit(X[:500], y[:500])
    before = found.credible_set(X[1500:], 0.5).contains(y[1500:]).mean()
    found.calibrate(X[500:1500], y[500:1500])
    after = found.credible_set(X[1500:], 0.5).contains(y[1500:]).mean()
    assert before > 0.6
    assert after == pytest.approx(0.5, abs=0.06)  # 4 standard errors of 1,000 rows for either part


@pytest.mark.slow
def test_several_targets_of_several_kinds_are_learned_at_once(numbers, counts, gaussian, poisson):
    X, y = numbers
    both = Regressor(["gaussian", "poisson"]).fit(X, np.column_stack([y, counts[1]]))
    np.testing.assert_allclose(both.predict(X), np.column_stack([gaussian.predict(X), poisson.predict(X)]), rtol=1e-6)
    assert both.predict_distribution(X[:3]).quantile(0.5).shape == (3, 2)


@pytest.mark.slow
def test_a_missing_target_says_nothing(numbers, counts, gaussian):
    X, y = numbers
    holes = counts[1].astype(float)
    holes[::3] = np.nan
    both = Regressor(["gaussian", "poisson"]).fit(X, np.column_stack([y, holes]))
    there = ~np.isnan(holes)
    alone = Regressor("poisson").fit(X[there], holes[there])
    np.testing.assert_allclose(both.predict(X)[:, 0], gaussian.predict(X), rtol=1e-6)
    np.testing.assert_allclose(both.predict(X)[:, 1], alone.predict(X), rtol=1e-5)


@pytest.mark.slow
def test_angles_turn_with_their_inputs():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 2))
    y = np.arctan2(X[:, 1] + 0.2, X[:, 0]) + rng.vonmises(0, 8, 600)
    found = Regressor("von_mises").fit(X, y)
    away = np.angle(np.exp(1j * (found.predict(X) - np.arctan2(X[:, 1] + 0.2, X[:, 0]))))
    assert np.sqrt(np.mean(away**2)) < 0.35
    low, high = found.predict_distribution(X).interval(0.9)
    inside = np.mod(y - low, 2 * np.pi) < high - low
    assert inside.mean() == pytest.approx(0.9, abs=0.05)


# --- tables, streams and files ------------------------------------------------------------------------------


def test_text_becomes_indicators(numbers):
    X, y = numbers
    kinds = np.random.default_rng(8).choice(["red", "green", "blue"], ROWS)
    y = y + np.where(kinds == "red", 3.0, 0.0)
    frame = pd.DataFrame({"size": X[:, 0], "color": kinds})
    found = Regressor().fit(frame, y)
    dummies = pd.get_dummies(frame, columns=["color"], dtype=float)
    peer = LinearRegression().fit(dummies, y)
    np.testing.assert_allclose(found.predict(frame), peer.predict(dummies), rtol=1e-9)
    assert found.design_names_[0] == "size"
    assert len(found.design_names_) == 3
    with pytest.raises(ValueError, match="pink"):
        found.predict(frame.assign(color="pink"))


def test_missing_inputs_are_refused_or_have_an_indicator(numbers):
    X, y = numbers
    gaps = X.copy()
    gaps[::4, 1] = np.nan
    with pytest.raises(ValueError, match="row 0 lacks its entry in column 1"):
        Regressor().fit(gaps, y)
    found = Regressor(missing="indicator").fit(gaps, y)
    there = ~np.isnan(gaps[:, 1])
    filled = np.where(there, gaps[:, 1], gaps[there, 1].mean())
    peer = LinearRegression().fit(np.column_stack([X[:, 0], filled, X[:, 2], ~there]), y)
    np.testing.assert_allclose(
        found.predict(gaps), peer.predict(np.column_stack([X[:, 0], filled, X[:, 2], ~there])), rtol=1e-8
    )


@pytest.mark.parametrize(("rows", "most"), [(20, 1.0), (100, 0.5)])
def test_one_pass_of_a_stream_ends_near_the_batch_fit(poisson, counts, rows, most):
    """In standard errors: 20 rows for 4 parameters are too few to begin with a fit, 100 are enough."""
    X, y = counts
    online = Regressor("poisson").fit_stream([(X[at : at + rows], y[at : at + rows]) for at in range(0, ROWS, rows)])
    covariance = np.linalg.inv(poisson.information_ * ROWS)
    error = np.sqrt(np.diag(covariance))
    # the center of the first batch is that of the stream: compare in units of the inputs
    slopes = error[1:] / poisson.input_scale_
    assert np.abs((online.coef_ - poisson.coef_) / slopes).max() < most
    assert online.n_points_seen_ == ROWS
    assert online.n_batches_seen_ == ROWS // rows


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
@pytest.mark.parametrize(("first", "each", "total"), [(1000, 1000, 30_000), (100, 100, 30_000), (500, 10, 1500)])
def test_one_pass_is_within_half_a_standard_error_however_the_stream_is_cut(family, first, each, total):
    """Of the batch fit, with a spread that follows the inputs; errors are from the design, by hand."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(total, 5))
    score = X @ [0.5, -0.3, 0.2, 0.0, 0.1]
    y = score + np.exp(0.4 * X[:, 0] - 0.2) * rng.normal(size=total) if family == "gaussian" else None
    y = rng.poisson(np.exp(0.5 + score)) if y is None else y
    settings = {"family": family, "dispersion": "linear"}
    whole, online = Regressor(**settings).fit(X, y), Regressor(**settings)
    cuts = [0, *range(first, total + 1, each)]
    online.fit_stream([(X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)])
    design = np.column_stack([np.ones(total), X])
    variance = whole.predict_distribution(X).variance
    precisions = [1 / variance, np.full(total, 2.0)] if family == "gaussian" else [variance]
    for place, precision in enumerate(precisions):
        errors = np.sqrt(np.diag(np.linalg.inv((design * precision[:, None]).T @ design)))
        away = (online.free_coefficients_[place] - whole.free_coefficients_[place]) / errors
        assert np.abs(away).max() < 0.5


def test_a_call_that_raises_changes_nothing(counts):
    X, y = counts
    online = Regressor("poisson").partial_fit(X[:50], y[:50])
    before = pickle.dumps(online.coefficients_)
    bad = y[50:60].astype(float)
    bad[3] = -1
    with pytest.raises(ValueError, match=r"y\[3\] is -1: for family 'poisson' it must be a count"):
        online.partial_fit(X[50:60], bad)
    assert pickle.dumps(online.coefficients_) == before
    assert online.n_points_seen_ == 50


def test_files_hold_what_was_fitted(tmp_path, poisson, counts):
    X, y = counts
    poisson.calibrate(X, y)
    poisson.save(tmp_path / "model")
    again = kullback.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), poisson.predict(X))
    np.testing.assert_array_equal(again.credible_set(X[:5]).upper, poisson.credible_set(X[:5]).upper)
    assert clone(again).get_params()["family"] == "poisson"


@pytest.mark.slow
def test_pipelines_and_grids_take_it(counts):
    X, y = counts
    grid = GridSearchCV(make_pipeline(StandardScaler(), Regressor("poisson")), {"regressor__alpha": [0.0, 1.0, 1e4]})
    grid.fit(X, y)
    assert grid.best_params_["regressor__alpha"] < 1e4


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"family": "poisson"}, [1.0, 2.5, 3.0, 1.0], r"y\[1\] is 2.5: for family 'poisson'"),
        ({"family": "gamma"}, [1.0, 0.0, 3.0, 1.0], r"y\[1\] is 0: for family 'gamma' it must be positive"),
        ({"family": "beta"}, [0.5, 0.2, 1.0, 0.1], r"y\[2\] is 1: for family 'beta'"),
        ({}, [2.0, 2.0, 2.0, 2.0], "y is 2 in all rows"),
        ({"family": "nope"}, [1.0, 2.0, 3.0, 4.0], "family is 'nope'"),
        ({"family": ["gaussian", "poisson"]}, [1.0, 2.0, 3.0, 4.0], "family has 2 entries: y has 1 columns"),
        ({"n_components": 3}, [1.0, 2.0, 3.0, 4.0], "mixtures are for method='network'"),
        ({}, ["a", "b", "c", "d"], "for names of classes use Classifier"),
        ({}, [1.0, np.inf, 3.0, 4.0], "infinity at row 1"),
        ({}, [np.nan] * 4, "no target that is there"),
    ],
)
def test_bad_targets_get_one_sentence(parameters, y, message):
    with pytest.raises(ValueError, match=message):
        Regressor(**parameters).fit(np.arange(8.0).reshape(4, 2) ** 2, y)


def test_bad_weights_and_single_rows_get_one_sentence():
    X, y = np.arange(8.0).reshape(4, 2) ** 2, np.arange(4.0)
    with pytest.raises(ValueError, match="at least one non-zero number"):
        Regressor().fit(X, y, sample_weight=np.zeros(4))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        Regressor().fit(X[:1], y[:1])
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'"):
        Regressor(method="trees").partial_fit(X, y)


# --- completing -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_missing_targets_are_completed_by_the_mode_or_a_draw(poisson, counts):
    X, _ = counts
    found = kullback.complete(poisson, np.full(6, np.nan), inputs=X[:6])
    np.testing.assert_array_equal(found.v, poisson.predict_distribution(X[:6]).mode)
    np.testing.assert_allclose(found.energy, -poisson.score_samples(X[:6], found.v), rtol=1e-9)
    assert found.exact
    drawn = kullback.complete(poisson, np.full(2, np.nan), inputs=X[:2], temperature=1, n=2000, random_state=0)
    mean = poisson.predict(X[:2])
    assert np.abs((drawn.v.mean(axis=0) - mean) / np.sqrt(mean / 2000)).max() < 4.5
    with pytest.raises(ValueError, match="inputs are missing"):
        kullback.complete(poisson, np.full(2, np.nan))
