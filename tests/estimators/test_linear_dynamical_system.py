"""The estimator of linear dynamical systems; the model has tests of its own."""

import jax
import numpy as np
import pytest
from scipy import stats
from statsmodels.datasets import nile
from statsmodels.tsa.statespace.structural import UnobservedComponents

import kullback
from kullback import LinearDynamicalSystem
from kullback.models import LinearDynamicalSystem as Model

ROWS, LATENTS, OUTPUTS = 400, 2, 3


def system(rng):
    """Return a system that turns slowly, and is seen in three outputs far from 0."""
    turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    observation = rng.normal(size=(OUTPUTS, LATENTS))
    return Model(
        0.95 * turn,
        observation,
        0.3 * np.eye(LATENTS),
        np.diag([0.2, 0.3, 0.4]),
        np.zeros(LATENTS),
        np.eye(LATENTS),
        offset=[10.0, -5.0, 0.0],
    )


@pytest.fixture(scope="module")
def truth():
    return system(np.random.default_rng(0))


@pytest.fixture(scope="module")
def series(truth):
    draw = jax.jit(lambda key: truth.sample_sequence(key, 4 * ROWS)[1])
    return np.asarray(draw(jax.random.key(0)))


@pytest.fixture(name="X", scope="module")
def half(series):
    return series[: 2 * ROWS]


@pytest.fixture(scope="module")
def fitted(X):
    return LinearDynamicalSystem(LATENTS, random_state=0, max_iter=40).fit(X[:ROWS])


# --- learning -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_fit_is_as_good_as_the_truth_on_what_it_has_seen_and_nearly_on_what_it_has_not(truth, fitted, X):
    right = LinearDynamicalSystem.from_model(truth)
    assert fitted.score(X[:ROWS]) > right.score(X[:ROWS])
    assert fitted.score(X[ROWS:]) > right.score(X[ROWS:]) - 0.1 * ROWS
    np.testing.assert_allclose(np.abs(np.linalg.eigvals(fitted.transition_)), 0.95, atol=0.05)


def test_the_likelihood_never_falls(fitted):
    assert (np.diff(fitted.lower_bounds_) > -1e-6).all()
    assert fitted.lower_bound_ == fitted.lower_bounds_[-1]


def test_the_local_level_of_the_nile_is_what_statsmodels_makes_of_it():
    """Both start from the same known distribution; the noises are statsmodels', so the likelihoods must agree."""
    y = nile.load_pandas().data["volume"].to_numpy()
    theirs = UnobservedComponents(y, "local level")
    theirs.ssm.initialize_known([y[0]], [[1e4]])
    theirs.loglikelihood_burn = 0
    result = theirs.smooth([15099.0, 1469.1])
    level = LinearDynamicalSystem(1, offset=False)
    level.transition_, level.observation_ = [[1.0]], [[1.0]]
    level.transition_noise_, level.observation_noise_ = [[1469.1]], [[15099.0]]
    level.initial_mean_, level.initial_covariance_ = [y[0]], [[1e4]]
    assert level.score(y) == pytest.approx(result.llf, rel=1e-9)
    means, covariances = level.smooth(y)
    np.testing.assert_allclose(means[:, 0], result.smoothed_state[0], rtol=1e-8)
    np.testing.assert_allclose(covariances[:, 0, 0], result.smoothed_state_cov[0, 0], rtol=1e-8)
    ahead, expected = level.forecast(y, steps=5), result.get_forecast(5)
    np.testing.assert_allclose(ahead.mean[:, 0], expected.predicted_mean, rtol=1e-8)
    np.testing.assert_allclose(
        np.stack([ahead.lower[:, 0], ahead.upper[:, 0]], 1), expected.conf_int(alpha=0.05), rtol=1e-6
    )


def test_what_is_fixed_stays():
    y = nile.load_pandas().data["volume"].to_numpy()
    level = LinearDynamicalSystem(1, offset=False, fixed=("transition", "observation"), max_iter=5)
    level.transition_, level.observation_ = [[1.0]], [[1.0]]
    level.fit(y)
    assert level.transition_ == [[1.0]]
    assert level.observation_ == [[1.0]]
    assert level.transition_noise_ > 0
    with pytest.raises(ValueError, match="transition is fixed, and transition_ is not set"):
        LinearDynamicalSystem(1, fixed=("transition",)).fit(y)
    with pytest.raises(ValueError, match="fixed has 'speed'"):
        LinearDynamicalSystem(1, fixed=("speed",)).fit(y)


@pytest.mark.slow
def test_inputs_are_told_from_the_hidden_state(truth, X):
    rng = np.random.default_rng(1)
    push = rng.normal(size=(ROWS, 1))
    effect = np.array([[3.0, 0.0, -2.0]])
    moved = X[:ROWS] + push @ effect
    found = LinearDynamicalSystem(LATENTS, max_iter=20, random_state=0).fit(moved, inputs=push)
    np.testing.assert_allclose(found.input_observation_, effect.T, atol=0.2)
    ahead = found.forecast(moved, steps=2, inputs=push, future_inputs=[[0.0], [10.0]])
    assert ahead.mean[1, 0] - ahead.mean[0, 0] > 20
    with pytest.raises(ValueError, match="inputs"):
        found.score(moved)
    with pytest.raises(ValueError, match="future_inputs is missing"):
        found.forecast(moved, inputs=push)


@pytest.mark.slow
def test_a_stream_in_pieces_comes_near_the_batch_fit(series):
    start = LinearDynamicalSystem(LATENTS, random_state=0, max_iter=0).fit(series[:100])
    batch = LinearDynamicalSystem.from_model(start.to_model(), warm_start=True, max_iter=20, tol=0).fit(series)
    stream = LinearDynamicalSystem.from_model(start.to_model())
    for piece in np.array_split(series, 16):
        stream.partial_fit(piece, continues=True)
    assert batch.score(series) - stream.score(series) < 0.05 * len(series)
    assert stream.n_points_seen_ == len(series) - stream.lag
    assert stream.waiting_.shape == (stream.lag, OUTPUTS)
    assert stream.filtered_mean_.shape == (LATENTS,)


@pytest.mark.slow
def test_pieces_with_a_lag_as_long_as_the_rest_carry_the_filter_of_the_whole(X):
    whole = LinearDynamicalSystem(LATENTS, random_state=0, max_iter=2).fit(X[:ROWS])
    stream = LinearDynamicalSystem.from_model(whole.to_model(), rate=1e-12, lag=10)
    for piece in np.array_split(X[:ROWS], 4):
        stream.partial_fit(piece, continues=True)
    means, covariances = whole.filter(X[:ROWS])
    np.testing.assert_allclose(stream.filtered_mean_, means[-11], atol=1e-8)
    np.testing.assert_allclose(stream.filtered_covariance_, covariances[-11], atol=1e-8)


# --- combination --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_systems_from_different_starts_combine_in_one_basis_and_not_without(X):
    """Two fits to the same series, in bases of their own: their forecasts agree, their parameters do not."""
    fits = [LinearDynamicalSystem(LATENTS, random_state=0, max_iter=40).fit(X[:ROWS])]
    other = fits[0].to_model().changed_basis(np.array([[-1.0, 0.3], [0.1, -1.2]]))
    shaken = LinearDynamicalSystem.from_model(jax.tree.map(np.asarray, other), warm_start=True, max_iter=5, tol=0)
    fits.append(shaken.fit(X[:ROWS]))
    together, apart = kullback.combine(fits), kullback.combine(fits, align=False)
    worst = min(one.score(X[ROWS:]) for one in fits)
    assert together.score(X[ROWS:]) > worst - 0.01 * ROWS
    assert apart.score(X[ROWS:]) < worst - 0.1 * ROWS
    error = {name: _forecast_error(one, X) for name, one in (("a", fits[0]), ("b", fits[1]), ("both", together))}
    assert error["both"] < 1.02 * max(error["a"], error["b"])
    assert _forecast_error(apart, X) > 1.2 * error["both"]


def _forecast_error(one, X):
    """Return the mean square error of what is expected 3 steps ahead, at many places."""
    errors = []
    for place in range(ROWS, 2 * ROWS - 8, 40):
        errors.append(np.square(one.forecast(X[place - 64 : place], steps=3).mean - X[place : place + 3]).mean())
    return np.mean(errors)


@pytest.mark.slow
def test_combining_copies_in_other_bases_gives_the_same_likelihood(fitted, X):
    turned = fitted.to_model().changed_basis(np.array([[1.0, 2.0], [-0.5, 1.0]]))
    copy = LinearDynamicalSystem.from_model(jax.tree.map(np.asarray, turned))
    assert copy.score(X) == pytest.approx(fitted.score(X), rel=1e-9)
    assert kullback.combine([fitted, copy]).score(X) == pytest.approx(fitted.score(X), rel=1e-6)


# --- questions ----------------------------------------------------------------------------------------------


def test_filtering_row_by_row_is_filtering_the_whole(fitted, X):
    means, covariances = fitted.filter(X[:6])
    state = None
    for place in range(6):
        one = fitted.filter(X[place : place + 1], state=state)
        state = (one[0][-1], one[1][-1])
        np.testing.assert_allclose(state[0], means[place], atol=1e-10)
        np.testing.assert_allclose(state[1], covariances[place], atol=1e-10)


def test_bands_hold_as_many_points_as_they_say(truth, X):
    right = LinearDynamicalSystem.from_model(truth)
    inside = []
    for place in range(64, len(X) - 8, 12):
        ahead = right.forecast(X[place - 64 : place], steps=4, level=0.8)
        rows = X[place : place + 4]
        inside.append((ahead.lower < rows) & (rows < ahead.upper))
    assert np.mean(inside) == pytest.approx(0.8, abs=0.05)


@pytest.mark.slow
def test_missing_entries_are_drawn_around_what_the_smoother_expects(fitted, X):
    holes = X[:ROWS].copy()
    holes[100:104, 1] = np.nan
    holes[200] = np.nan
    drawn = np.stack([fitted.impute(holes, random_state=seed) for seed in range(40)])
    assert np.isfinite(drawn).all()
    there = ~np.isnan(holes)
    assert (drawn[:, there] == holes[there]).all()
    means, _ = fitted.smooth(holes)
    expected = means[200] @ fitted.observation_.T + fitted.offset_
    error = drawn[:, 200].std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn[:, 200].mean(axis=0) - expected) < 4.5 * error).all()


def test_a_series_with_holes_is_fitted_nearly_as_well(fitted, X):
    holes = np.where(np.random.default_rng(2).random(X[:ROWS].shape) < 0.1, np.nan, X[:ROWS])
    found = LinearDynamicalSystem(LATENTS, random_state=0, max_iter=20).fit(holes)
    assert found.score(X[ROWS:]) > fitted.score(X[ROWS:]) - 0.1 * ROWS


def test_draws_have_the_moments_of_the_series(fitted, X):
    drawn, states = fitted.sample(2_000, random_state=0)
    assert states.shape == (2_000, LATENTS)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.5)
    np.testing.assert_allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.3)


# --- borders ------------------------------------------------------------------------------------------------


def test_saved_and_loaded_it_answers_alike(fitted, X, tmp_path):
    fitted.save(tmp_path / "system.safetensors")
    loaded = kullback.load(tmp_path / "system.safetensors")
    assert loaded.score(X) == fitted.score(X)
    assert loaded.n_latents == LATENTS


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.full((20, 2), np.nan), "column 0 of X has no entry"),
        (np.array([[1.0, np.inf], [1.0, 2.0]]), "infinity"),
        (np.ones((1, 2)), "1 sample"),
    ],
)
def test_bad_series_are_refused_with_a_sentence(bad, words):
    with pytest.raises(ValueError, match=words):
        LinearDynamicalSystem(1).fit(bad)


@pytest.mark.slow
def test_constant_and_short_series_give_finite_systems():
    for X in (np.ones((30, 2)), np.array([[1.0], [2.0]]), np.array([[1.0], [2.0], [1.5]])):
        found = LinearDynamicalSystem(1, max_iter=3).fit(X)
        assert np.isfinite(found.score(X))
        assert np.isfinite(found.forecast(X, 2).upper).all()


def test_a_system_that_grows_beyond_all_numbers_imputes_nothing():
    X = np.array([[0.5], [np.nan], [-1.0], [np.nan]] * 6)
    system = LinearDynamicalSystem(n_latents=1)
    for name in ("transition", "observation", "transition_noise", "observation_noise", "initial_covariance"):
        setattr(system, f"{name}_", np.array([[1.0]]))
    system.initial_mean_, system.offset_ = np.zeros(1), np.zeros(1)
    assert np.isfinite(system.impute(X, random_state=0)).all()
    system.transition_ = np.array([[1e100]])
    with pytest.raises(ValueError, match="cannot be imputed: what the model expects of its missing entries"):
        system.impute(X, random_state=0)


@pytest.mark.parametrize("question", ["score", "filter", "smooth", "forecast"])
def test_a_system_that_grows_beyond_all_numbers_says_so(question):
    """Such parameters can come from a damaged file: NaN was the answer (fuzzed file 6142 of seed 7)."""
    rows = np.arange(24.0).reshape(12, 2)
    system = kullback.LinearDynamicalSystem(1, max_iter=1, random_state=0).fit(rows)
    system.transition_ = np.full((1, 1), 1e120)
    with pytest.raises(ValueError, match="no answer that is finite"):
        getattr(system, question)(rows)


def test_gains_that_never_settle_are_learned_from_row_by_row():
    rng = np.random.default_rng(0)
    X, noise = 3 + rng.normal(size=(1500, 1)), 1e-14
    fixed = ("transition", "transition_noise", "observation", "observation_noise", "initial_mean", "initial_covariance")
    system = LinearDynamicalSystem(1, fixed=fixed, offset=False, max_iter=1, tol=0.0)
    for name, value in zip(fixed, ([[1.0]], [[noise]], [[1.0]], [[1.0]], [0.0], [[4.0]]), strict=True):
        setattr(system, f"{name}_", np.array(value))
    system.fit(X)
    steps = np.arange(len(X))
    covariance = 4 + noise * np.minimum(steps[:, None], steps) + np.eye(len(X))
    expected = stats.multivariate_normal(np.zeros(len(X)), covariance).logpdf(X[:, 0]) / len(X)
    np.testing.assert_allclose(system.lower_bounds_[0], expected, rtol=1e-9)
