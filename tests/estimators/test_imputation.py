"""Missing entries filled in by estimators: draws, means and modes, and the transformer for pipelines."""

import pickle

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import kullback

RNG = np.random.default_rng(0)
COVARIANCE = np.array([[2.0, 1.2, 0.3], [1.2, 1.5, 0.5], [0.3, 0.5, 1.0]])
TABLE = RNG.multivariate_normal([1.0, -2.0, 3.0], COVARIANCE, 200)
LACKING = np.where(RNG.random(TABLE.shape) < 0.2, np.nan, TABLE)
LACKING[5] = np.nan


@pytest.fixture(scope="module")
def mixture():
    return kullback.GaussianMixture(2, random_state=0).fit(LACKING)


def by_hand(model, row):
    """Return the conditional mean of a row under a mixture of Gaussians, in NumPy."""
    o, m = ~np.isnan(row), np.isnan(row)
    logs, means = [], []
    for weight, mean, covariance in zip(model.weights_, model.means_, model.covariances_, strict=True):
        within, away = covariance[np.ix_(o, o)], row[o] - mean[o]
        solved = np.linalg.solve(within, away) if o.any() else away
        logs.append(np.log(weight) - 0.5 * (away @ solved + np.linalg.slogdet(2 * np.pi * within)[1]))
        filled = row.copy()
        filled[m] = mean[m] + covariance[np.ix_(m, o)] @ solved
        means.append(filled)
    share = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    return share @ np.array(means), means[int(np.argmax(share))]


def test_means_and_modes_are_those_of_the_mixture(mixture):
    mean, mode = (mixture.impute(LACKING, method=method) for method in ("mean", "mode"))
    for place in range(40):
        expected = by_hand(mixture, LACKING[place])
        np.testing.assert_allclose(mean[place], expected[0], rtol=1e-9)
        np.testing.assert_allclose(mode[place], expected[1], rtol=1e-9)


def test_several_draws_differ_and_average_to_the_mean(mixture):
    rows = LACKING[:30]
    drawn, mean = mixture.impute(rows, n=400), mixture.impute(rows, method="mean")
    assert drawn.shape == (400, 30, 3)
    np.testing.assert_array_equal(drawn[:, ~np.isnan(rows)], np.repeat(rows[~np.isnan(rows)][None], 400, axis=0))
    error = drawn.std(axis=0) / np.sqrt(400)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) <= 4.5 * error + 1e-12)
    np.testing.assert_array_equal(mixture.impute(rows, n=400), drawn)  # the same seed
    np.testing.assert_array_equal(mixture.impute(rows, n=1)[0], mixture.impute(rows))
    assert mixture.impute(TABLE, n=2).shape == (2, *TABLE.shape)


def test_what_cannot_be_asked_for(mixture):
    for arguments, words in (
        ({"method": "median"}, "method is 'median': it must be 'draw', 'mean' or 'mode'"),
        ({"method": "mean", "n": 3}, "n is 3 and method 'mean': only draws differ from each other"),
        ({"n": 0}, "n is 0: it must be 1 or more"),
    ):
        with pytest.raises(ValueError, match=words):
            mixture.impute(LACKING, **arguments)


@pytest.mark.slow
def test_counts_are_whole_and_categories_are_categories():
    counts = RNG.poisson([2.0, 9.0], (300, 2)).astype(float)
    codes = np.column_stack([counts, RNG.choice(3, 300, p=[0.2, 0.7, 0.1])])
    codes[RNG.random(codes.shape) < 0.2] = np.nan
    model = kullback.Mixture(2, family=["poisson", "poisson", "categorical"], random_state=0).fit(codes)
    for method in ("draw", "mode"):
        filled = model.impute(codes, method)
        np.testing.assert_array_equal(filled, np.floor(filled))
        assert filled.min() >= 0
    mean = model.impute(codes, "mean")
    missing = np.isnan(codes)
    assert np.any(mean[:, :2][missing[:, :2]] % 1 > 0)
    assert set(mean[:, 2]) <= {0.0, 1.0, 2.0}
    assert np.mean(mean[missing[:, 2], 2] == 1) > 0.9


@pytest.mark.slow
def test_sequences_are_filled_given_all_their_rows():
    series = np.cumsum(RNG.normal(size=(120, 1)), axis=0)
    holes = series.copy()
    holes[40:50] = np.nan
    for model in (kullback.LinearDynamicalSystem(1, max_iter=5), kullback.GaussianHMM(2)):
        model.set_params(random_state=0).fit(series)
        drawn, mean = model.impute(holes, [60, 60], n=200), model.impute(holes, [60, 60], method="mean")
        error = drawn.std(axis=0) / np.sqrt(200)
        assert np.all(np.abs(drawn.mean(axis=0) - mean) <= 4.5 * error + 1e-9)
        assert error[40:50].min() > 0
    with pytest.raises(ValueError, match="inputs are given, and GaussianHMM takes none"):
        model.impute(holes, inputs=np.ones((120, 1)))


# --- the transformer ----------------------------------------------------------------------------------------


def test_an_imputer_fills_in_what_its_estimator_expects(mixture):
    imputer = kullback.Imputer(kullback.GaussianMixture(2), random_state=0).fit(LACKING)
    np.testing.assert_array_equal(imputer.transform(LACKING), mixture.impute(LACKING, "mean"))
    assert imputer.estimator.random_state is None
    assert list(imputer.get_feature_names_out(["a", "b", "c"])) == ["a", "b", "c"]
    drawn = kullback.Imputer(method="draw", random_state=3).fit_transform(LACKING)
    np.testing.assert_array_equal(drawn, kullback.Imputer(method="draw", random_state=3).fit_transform(LACKING))
    assert np.isfinite(drawn).all()
    again = pickle.loads(pickle.dumps(imputer))
    np.testing.assert_array_equal(again.transform(LACKING[:9]), imputer.transform(LACKING[:9]))


def test_an_imputer_says_what_it_cannot_use():
    with pytest.raises(ValueError, match="estimator is LogisticRegression.*must be an estimator of tables"):
        kullback.Imputer(LogisticRegression()).fit(LACKING)
    with pytest.raises(ValueError, match="method is 'median'"):
        kullback.Imputer(method="median").fit(LACKING)
    empty = LACKING.copy()
    empty[:, 1] = np.nan
    with pytest.raises(ValueError, match="no value in column 1"):
        kullback.Imputer().fit(empty)


@pytest.mark.slow
def test_an_imputer_in_pipelines_of_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(LACKING, columns=["a", "b", "c"])
    label = (TABLE[:, 0] > 1).astype(int)
    columns = ColumnTransformer([("filled", kullback.Imputer(kullback.GaussianMixture(1)), ["a", "b"])]).set_output(
        transform="pandas"
    )
    assert list(columns.fit_transform(frame).columns) == ["filled__a", "filled__b"]
    pipeline = make_pipeline(kullback.Imputer(kullback.GaussianMixture(1, random_state=0)), LogisticRegression())
    search = GridSearchCV(pipeline, {"imputer__estimator__n_components": [1, 2]}, cv=2).fit(frame, label)
    assert search.best_score_ > 0.8


@pytest.mark.slow
def test_an_imputer_is_a_transformer_to_scikit_learn():
    for estimator, check in estimator_checks_generator(kullback.Imputer()):
        if getattr(check, "func", check).__name__ != "check_array_api_input":  # it is skipped
            check(estimator)
