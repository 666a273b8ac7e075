"""`GaussianMixture` against scikit-learn's, and what is new in it. Shapes are few: compiling is what costs here."""

import copy
import json
import os
import pickle
import re
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture as Reference
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from kullback import GaussianMixture
from kullback.families import Exponential, Gaussian
from kullback.models import Mixture
from tiers import slow_among

X = load_iris().data
TYPES = ["full", "tied", "diag", "spherical"]
FITTED = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")
unconverged = pytest.mark.filterwarnings("ignore:Best performing:sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def user_settings():
    """The front door works the same where a user has left JAX in 32 bits, and changes no setting."""
    numpy_before = np.geterr()
    with jax.enable_x64(False):
        yield
        assert jnp.ones(1).dtype == jnp.float32
    assert np.geterr() == numpy_before


@parametrize_with_checks([GaussianMixture()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def fitted(kind="full", table=X, **parameters):
    return GaussianMixture(**{"n_components": 3, "covariance_type": kind, "random_state": 0} | parameters).fit(table)


def same_as(ours, theirs, names=FITTED, rtol=1e-7):
    for name in names:
        here, there = getattr(ours, name), getattr(theirs, name)
        np.testing.assert_allclose(here, there, rtol=rtol, atol=1e-7 * np.abs(there).max(), err_msg=name)


def bits(mixture):
    return {name: np.asarray(getattr(mixture, name)).tobytes() for name in FITTED}


def finite(mixture, table):
    for name in FITTED:
        assert np.isfinite(getattr(mixture, name)).all(), name
    assert np.isfinite(mixture.score_samples(table)).all()
    np.testing.assert_allclose(mixture.predict_proba(table).sum(axis=1), 1)
    return mixture


# --- scikit-learn's results ----------------------------------------------------------------------------------


@unconverged
@pytest.mark.parametrize("kind", slow_among(TYPES, "spherical", "tied"))
def test_twenty_iterations_from_one_start_are_those_of_scikit_learn(kind):
    parameters = {"n_components": 3, "covariance_type": kind, "max_iter": 20, "tol": 0, "random_state": 0}
    ours, theirs = GaussianMixture(**parameters).fit(X), Reference(**parameters).fit(X)
    same_as(ours, theirs, (*FITTED, "lower_bound_", "lower_bounds_", "n_iter_", "converged_"))
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose([ours.aic(X), ours.bic(X)], [theirs.aic(X), theirs.bic(X)], rtol=1e-9)
    assert (np.diff(ours.lower_bounds_) > -1e-12).all()

    given = {"full": theirs.precisions_, "tied": theirs.precisions_, "diag": [[1.0, 2, 3, 4]] * 3}
    start = {
        "weights_init": [0.2, 0.3, 0.5],
        "means_init": X[[0, 60, 120]],
        "precisions_init": given.get(kind, [1.0, 2, 3]),
    }
    for parts in (start, {"means_init": start["means_init"]}, {"precisions_init": start["precisions_init"]}):
        some = parameters | parts | {"max_iter": 3}
        same_as(GaussianMixture(**some).fit(X), Reference(**some).fit(X))


@unconverged
@pytest.mark.parametrize("how", ["kmeans", "k-means++", "random", "random_from_data"])
def test_starts_are_those_of_scikit_learn(how):
    parameters = {"n_components": 3, "init_params": how, "random_state": 4}
    ours, theirs = GaussianMixture(max_iter=0, **parameters).fit(X), Reference(max_iter=0, **parameters).fit(X)
    same_as(ours, theirs, FITTED[1:])
    # where only some rows have a label, scikit-learn's weights do not sum to 1, and its first bound is off for it
    np.testing.assert_allclose(ours.weights_, theirs.weights_ / theirs.weights_.sum(), rtol=1e-12)
    several = parameters | {"n_init": 3, "max_iter": 5, "tol": 0}
    ours, theirs = GaussianMixture(**several).fit(X), Reference(**several).fit(X)
    same_as(ours, theirs)
    np.testing.assert_allclose(ours.lower_bounds_[1:], theirs.lower_bounds_[1:], rtol=1e-9)


@unconverged
def test_warm_starts_go_on():
    parameters = {"n_components": 3, "max_iter": 3, "warm_start": True, "random_state": 0}
    ours, theirs = GaussianMixture(**parameters), Reference(**parameters)
    for _ in range(6):
        same_as(ours.fit(X), theirs.fit(X), (*FITTED, "n_iter_", "converged_", "lower_bounds_"))
    assert ours.converged_
    with pytest.raises(ValueError, match="X has 2 features, but GaussianMixture is expecting 4 features"):
        ours.fit(X[:, :2])
    same_as(ours, theirs)
    # after a stream too
    online = GaussianMixture(**parameters | {"max_iter": 1}).partial_fit(X)
    before = online.score(X)
    assert online.fit(X).lower_bound_ == pytest.approx(before, rel=1e-12)


def test_no_iterations_and_too_few():
    start = fitted(max_iter=0)
    assert (start.n_iter_, start.converged_, start.lower_bound_, start.lower_bounds_) == (0, False, -np.inf, [])
    with pytest.warns(ConvergenceWarning, match="Best performing initialization did not converge"):
        fitted(max_iter=1)
    assert (fitted(max_iter=100).fit_predict(X) == fitted().predict(X)).all()


@pytest.mark.parametrize(
    ("parameters", "table"),
    [
        ({"n_components": 0}, X),
        ({"n_components": 1.5}, X),
        ({"covariance_type": "round"}, X),
        ({"tol": -1}, X),
        ({"reg_covar": -1e-3}, X),
        ({"max_iter": -1}, X),
        ({"n_init": 0}, X),
        ({"init_params": "guess"}, X),
        ({"random_state": "a"}, X),
        ({"warm_start": "a"}, X),
        ({"verbose": -1}, X),
        ({"verbose_interval": 0}, X),
        ({"weights_init": 3}, X),
        ({"n_components": 3}, X[:2]),
        ({}, X[:1]),
        ({}, X[:0]),
        ({}, X[0]),
        ({}, np.where(X[0, 0] == X, np.inf, X)),
        ({"n_components": 2, "weights_init": [0.5, 0.25, 0.25]}, X),
        ({"n_components": 2, "weights_init": [0.5, 0.6]}, X),
        ({"n_components": 2, "weights_init": [0.5, 0.5 + 1e-7]}, X),
        ({"n_components": 2, "means_init": X[:2, :3]}, X),
        ({"n_components": 2, "precisions_init": np.ones((2, 4))}, X),
        ({"n_components": 1, "precisions_init": -np.eye(4)[None]}, X),
        ({"n_components": 1, "precisions_init": np.triu(np.ones((4, 4)))[None]}, X),
        ({"covariance_type": "tied", "precisions_init": np.ones((4, 4))}, X),
        ({"covariance_type": "diag", "precisions_init": np.zeros((1, 4))}, X),
        ({"covariance_type": "spherical", "precisions_init": [-1.0]}, X),
        ({"n_components": 2, "reg_covar": 0.0}, np.repeat(X[[0, 80]], 5, axis=0)),
    ],
)
def test_errors_are_those_of_scikit_learn(parameters, table):
    def words(error):  # options come in any order
        return sorted(re.findall(r"[^\s{},.]+", str(error)))

    with pytest.raises((ValueError, TypeError)) as theirs:
        Reference(**parameters).fit(table)
    ours = GaussianMixture(**parameters)
    with pytest.raises(type(theirs.value)) as raised:
        ours.fit(table)
    assert words(raised.value) == words(theirs.value)
    assert not [name for name in vars(ours) if name.endswith("_")]


def test_a_seed_of_its_own_leaves_the_common_generator_alone():
    before = str(np.random.get_state())  # noqa: NPY002
    fitted(n_components=2, random_state=0).sample(3)
    assert str(np.random.get_state()) == before  # noqa: NPY002
    fitted(n_components=2, random_state=None)
    assert str(np.random.get_state()) != before  # noqa: NPY002


def test_questions_that_have_no_answer():
    for ask in ("predict", "predict_proba", "score_samples", "score", "impute", "aic", "bic"):
        with pytest.raises(NotFittedError, match="This GaussianMixture instance is not fitted yet"):
            getattr(GaussianMixture(), ask)(X)
    for ask in (GaussianMixture().sample, GaussianMixture().to_model, lambda: GaussianMixture().save("x")):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
    one = fitted()
    with pytest.raises(ValueError, match="Invalid value for 'n_samples': 0 . The sampling requires at least one"):
        one.sample(0)
    with pytest.raises(ValueError, match="X has 2 features, but GaussianMixture is expecting 4 features as input"):
        one.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        one.predict(X[:0])
    with pytest.raises(ValueError, match="weights_init.*range|'weights' should be in the range"):
        GaussianMixture(2, weights_init=[-0.5, 1.5]).fit(X)


@pytest.mark.slow
def test_samples_come_component_by_component():
    points, labels = fitted().sample(1000)
    assert points.shape == (1000, 4)
    assert (np.diff(labels) >= 0).all()
    one = fitted()
    for k in range(3):
        here = points[labels == k]
        error = np.sqrt(np.diagonal(one.covariances_[k]) / len(here))
        assert (np.abs(here.mean(axis=0) - one.means_[k]) < 5 * error).all()
    assert one.sample()[0].shape == (1, 4)
    np.testing.assert_array_equal(one.sample(7)[0], fitted().sample(7)[0])


@pytest.mark.parametrize("kind", TYPES)
def test_attributes_can_be_set_by_hand(kind):
    source = fitted(kind)
    ours, theirs = GaussianMixture(3, covariance_type=kind), Reference(3, covariance_type=kind)
    for mixture in (ours, theirs):
        for name in ("weights_", "means_", "precisions_cholesky_"):
            setattr(mixture, name, getattr(source, name).copy())
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    with pytest.raises(ValueError, match="X has 3 features, but GaussianMixture is expecting 4 features"):
        ours.predict(X[:, :3])
    moved = copy.deepcopy(source)
    moved.means_ = moved.means_ + 1.0
    np.testing.assert_allclose(moved.score_samples(X + 1.0), source.score_samples(X), rtol=1e-9)


# --- weights, tables, travel ---------------------------------------------------------------------------------


def test_a_weight_says_how_often_a_row_counts():
    times = np.random.default_rng(0).integers(0, 3, len(X))
    start = {"means_init": X[[0, 60, 120]], "weights_init": [1 / 3] * 3, "precisions_init": [np.eye(4)] * 3}
    weighted = GaussianMixture(3, **start).fit(X, sample_weight=times)
    repeated = GaussianMixture(3, **start).fit(np.repeat(X, times, axis=0))
    same_as(weighted, repeated, (*FITTED, "lower_bounds_", "n_points_seen_"), rtol=1e-10)
    assert weighted.score(X, sample_weight=times) == pytest.approx(repeated.score(np.repeat(X, times, axis=0)))
    online = [GaussianMixture(3, random_state=0).partial_fit(X) for _ in range(2)]
    online[0].partial_fit(X, None, times)
    online[1].partial_fit(np.repeat(X, times, axis=0))
    same_as(*online, (*FITTED, "lower_bound_", "n_points_seen_"), rtol=1e-10)
    # a row that never counts may be anything
    spoiled = np.where(times[:, None] == 0, 1e9, X)
    for how in ("kmeans", "random_from_data"):
        clean = GaussianMixture(3, random_state=0, init_params=how).fit(X, sample_weight=times)
        assert bits(clean) == bits(clone(clean).fit(spoiled, sample_weight=times))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.zeros(150), "[Ss]ample.?weight"),
        (np.ones(149), r"sample_weight.shape == \(149,\)"),
        (np.ones((150, 2)), "[Ss]ample weights must be 1D"),
        (-np.ones(150), "[Nn]egative values in data passed to `sample_weight`"),
        (np.full(150, np.nan), "contains NaN"),
    ],
)
def test_weights_that_make_no_sense_raise(weight, words):
    one = fitted()
    before = bits(one)
    for learn in (one.fit, one.partial_fit, one.score):
        with pytest.raises(ValueError, match=words):
            learn(X, None, weight)
    assert bits(one) == before


def test_state_is_numpy_and_travels():
    one = fitted(rate=0.25)
    for copied in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert bits(copied) == bits(one)
        np.testing.assert_array_equal(copied.predict_proba(X), one.predict_proba(X))
    assert all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(one.to_model()))
    fresh = clone(one)
    assert fresh.get_params() == one.get_params()
    assert not hasattr(fresh, "weights_")


@pytest.mark.slow
def test_a_grid_search_runs_in_other_processes():
    search = GridSearchCV(GaussianMixture(random_state=0), {"n_components": [1, 2]}, cv=2, n_jobs=2)
    assert search.fit(np.random.default_rng(0).permutation(X)).best_params_ == {"n_components": 2}
    assert search.best_estimator_.predict(X).shape == (150,)


def test_models_go_out_and_come_back():
    for kind in TYPES:
        one = fitted(kind)
        back = GaussianMixture.from_model(one.to_model(), random_state=0)
        same_as(back, one, rtol=1e-12)
        assert (back.covariance_type, back.n_components, back.n_features_in_) == (kind, 3, 4)
    model = Mixture([0.5, 0.5], Gaussian(X[[0, 100]], [np.eye(4)] * 2))
    learned = GaussianMixture.from_model(model).partial_fit(X)
    with pytest.warns(ConvergenceWarning):
        step = GaussianMixture.from_model(model, max_iter=1, warm_start=True).fit(X)
    same_as(learned, step, rtol=1e-12)
    with pytest.raises(ValueError, match="components of Exponential: they must be Gaussians"):
        GaussianMixture.from_model(Mixture([1.0], Exponential([1.0])))


def test_tables_of_all_kinds(tmp_path):
    plain = fitted()
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for table in (mapped, np.asfortranarray(X), X.tolist(), np.repeat(X, 2, axis=0)[::2]):
        assert bits(fitted(table=table)) == bits(plain)
    whole = np.round(10 * X)
    assert bits(fitted(table=whole.astype(int))) == bits(fitted(table=whole))
    single = fitted(table=X.astype(np.float32))
    assert {getattr(single, name).dtype for name in FITTED} == {np.dtype(np.float64)}
    for ask in (single.score_samples, single.predict_proba, single.impute):
        assert ask(X.astype(np.float32)).dtype == np.float32
    assert single.predict(X.astype(np.float32)).dtype == np.int64
    np.testing.assert_allclose(single.means_, plain.means_, rtol=1e-4)
    np.testing.assert_allclose(single.score(X.astype(np.float32)), single.score(X), rtol=1e-6)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_the_names_of_their_columns(library):
    frames = pytest.importorskip(library)
    names = ["a", "b", "c", "d"]
    table = frames.DataFrame(dict(zip(names, X.T, strict=True)))
    one = fitted(table=table)
    assert bits(one) == bits(fitted())
    assert one.feature_names_in_.tolist() == names
    other = frames.DataFrame(dict(zip("abce", X.T, strict=True)))
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        one.predict(other)
    with pytest.raises(ValueError, match="The feature names should match"):
        one.partial_fit(other)
    # names outlast the first tables of a stream that are too short to start from
    stream = GaussianMixture(3, random_state=0).fit_stream([table[:2], table[2:80], table[80:]])
    assert stream.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="batches holds tables with different columns"):
        GaussianMixture(3).fit_stream([table[:2], other])
    hole = frames.DataFrame({name: [None, 1.5, 0.5] for name in names})
    assert one.score_samples(hole)[0] == pytest.approx(0, abs=1e-12)


# --- missing entries -----------------------------------------------------------------------------------------

GAPS = np.random.default_rng(1).random(X.shape) < 0.2
GAPS[[7, 90]] = True
HOLES = np.where(GAPS, np.nan, X)


def full_covariances(mixture):
    covariances, (k, n) = mixture.covariances_, mixture.means_.shape
    match mixture.covariance_type:
        case "full":
            return covariances
        case "tied":
            return np.broadcast_to(covariances, (k, n, n))
        case "diag":
            return covariances[:, :, None] * np.eye(n)
    return covariances[:, None, None] * np.eye(n)


def joint(mixture, row):
    """Return log p(h, what is observed of a row), by scipy."""
    there = ~np.isnan(row)
    return np.log(mixture.weights_) + [
        multivariate_normal(m[there], c[np.ix_(there, there)]).logpdf(row[there]) if there.any() else 0.0
        for m, c in zip(mixture.means_, full_covariances(mixture), strict=True)
    ]


@unconverged
@pytest.mark.parametrize("kind", slow_among(TYPES, "full", "tied"))
def test_missing_entries_are_marginalized(kind):
    one = fitted(kind, HOLES, max_iter=15, tol=0)
    bounds = np.array(one.lower_bounds_)
    assert (np.diff(bounds) > -1e-10).all()
    assert bounds[-1] > bounds[0]
    expected = np.array([joint(one, row) for row in HOLES])
    np.testing.assert_allclose(one.score_samples(HOLES), logsumexp(expected, axis=1), rtol=1e-9, atol=1e-9)
    probabilities = np.exp(expected - logsumexp(expected, axis=1, keepdims=True))
    np.testing.assert_allclose(one.predict_proba(HOLES), probabilities, atol=1e-9)

    # imputing: what is there stays; what is drawn has the moments of the conditional
    rows = np.repeat(HOLES[[0]] * [1, 1, np.nan, np.nan], 2048, axis=0)
    rows[:, :2] = [5.8, 3.0]  # between the clusters
    drawn = one.impute(rows, random_state=0)
    np.testing.assert_array_equal(drawn[:, :2], rows[:, :2])
    share = np.exp(joint(one, rows[0]) - logsumexp(joint(one, rows[0])))
    mean, second = np.zeros(2), np.zeros((2, 2))
    for w, m, c in zip(share, one.means_, full_covariances(one), strict=True):
        gain = c[2:, :2] @ np.linalg.inv(c[:2, :2])
        inside = m[2:] + gain @ (rows[0, :2] - m[:2])
        mean = mean + w * inside
        second = second + w * (c[2:, 2:] - gain @ c[:2, 2:] + np.outer(inside, inside))
    products = drawn[:, 2:, None] * drawn[:, None, 2:]
    for sample, moment in ((drawn[:, 2:], mean), (products, second)):
        error = sample.std(axis=0) / np.sqrt(len(sample))
        assert (np.abs(sample.mean(axis=0) - moment) < 4.5 * error).all()


def test_imputing_leaves_whole_tables_alone():
    one = fitted()
    np.testing.assert_array_equal(one.impute(X), X)
    filled = one.impute(HOLES)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~GAPS], X[~GAPS])
    np.testing.assert_array_equal(filled, one.impute(HOLES))
    assert one.impute(X[:0]).shape == (0, 4)
    assert np.isnan(HOLES[7]).all()  # the table of the user is not touched


def test_columns_and_rows_without_any_value():
    blind = X.copy()
    blind[:, 2] = np.nan
    for learn in (GaussianMixture(3).fit, GaussianMixture(3).partial_fit):
        with pytest.raises(ValueError, match="X has no value in column 2: drop the column, or start from other rows"):
            learn(blind)
    one = fitted()
    before = one.means_[:, 2].copy()
    finite(one.partial_fit(blind), blind)
    assert np.abs(one.means_[:, 2] - before).max() < 0.5
    still = fitted()
    still.partial_fit(np.full((3, 4), np.nan))
    same_as(still, fitted(), rtol=1e-10)
    np.testing.assert_allclose(one.score_samples(np.full((2, 4), np.nan)), 0, atol=1e-12)


# --- hard data -----------------------------------------------------------------------------------------------

RNG = np.random.default_rng(2)
PAIR = np.concatenate([RNG.normal(-2, 1, (70, 4)), RNG.normal(2, 1, (80, 4))])


@pytest.mark.parametrize("kind", slow_among(TYPES, "spherical", "tied"))
def test_far_and_uneven_data(kind):
    def pair(table, **parameters):
        return finite(GaussianMixture(2, covariance_type=kind, random_state=0, **parameters).fit(table), table)

    near = pair(PAIR)
    moved = pair(PAIR + 1e7)
    np.testing.assert_allclose(moved.covariances_, near.covariances_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.sort(moved.means_ - 1e7, axis=0), np.sort(near.means_, axis=0), atol=1e-5)
    assert moved.score(PAIR + 1e7) == pytest.approx(near.score(PAIR), abs=1e-6)

    both = PAIR + np.where(np.arange(150) < 70, 0, 1e7)[:, None]
    apart = pair(both)
    order = np.argsort(apart.means_[:, 0])
    np.testing.assert_allclose(apart.weights_[order], [70 / 150, 80 / 150], rtol=1e-12)
    if kind == "full":
        for k, part in zip(order, (PAIR[:70], PAIR[70:]), strict=True):
            np.testing.assert_allclose(apart.covariances_[k], np.cov(part.T, bias=True), atol=3e-6)

    scale = np.array([1e-8, 1e8, 1, 1])
    pair(PAIR * scale)
    if kind in ("full", "diag"):
        start = {"weights_init": [0.5, 0.5], "reg_covar": 0.0}
        scaled = pair(PAIR * scale, means_init=[-2 * scale, 2 * scale], **start)
        plain = pair(PAIR, means_init=[[-2.0] * 4, [2.0] * 4], **start)
        np.testing.assert_allclose(scaled.score(PAIR * scale), plain.score(PAIR), atol=1e-3)

    constant = PAIR.copy()
    constant[:, 1] = 3.0
    np.testing.assert_allclose(pair(constant).means_[:, 1], 3.0)


@pytest.mark.parametrize("kind", TYPES)
def test_a_collapse_without_reg_covar_raises(kind):
    table = np.repeat(X[[0, 80]], 75, axis=0)
    with pytest.raises(ValueError, match="some components have ill-defined empirical covariance"):
        GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0).fit(table)


def test_few_distinct_rows():
    twice = np.repeat(X[[0, 80]], 75, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        mixture = finite(fitted(table=twice), twice)
    np.testing.assert_allclose(np.sort(mixture.weights_), [0, 0.5, 0.5], atol=1e-12)
    assert finite(GaussianMixture(3, random_state=0).fit(X[[0, 60, 120]]), X).n_points_seen_ == 3
    with pytest.raises(ValueError, match="X is so large in column 1 that its variance is not finite"):
        fitted(table=X * [1, 1e200, 1, 1])


@pytest.mark.parametrize("temperature", slow_among([0.0, 1.0], 0.0))
def test_a_component_that_dies_keeps_its_place_with_weight_0(temperature):
    start = [X[0], X[120], [1e5] * 4]
    mixture = finite(fitted(means_init=start, temperature=temperature), X)
    assert mixture.weights_[2] == 0
    finite(mixture.partial_fit(X[:150]), X)
    assert mixture.sample(100)[1].max() == 1


def test_small_batches_after_a_start():
    mixture = fitted()
    before = mixture.score(X)
    mixture.partial_fit(X[:1])
    assert mixture.n_points_seen_ == 151
    for row in np.random.default_rng(0).permutation(X)[:100]:
        mixture.partial_fit([row])
    finite(mixture, X)
    assert mixture.score(X) > before - 0.5
    state = bits(mixture)
    mixture.partial_fit(X[:0]).partial_fit(X[:0], None, [])
    assert bits(mixture) == state
    assert mixture.n_points_seen_ == 251
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        GaussianMixture().partial_fit(X[:0])


def known(estimator):
    return {name: value for name, value in vars(estimator).items() if not name.startswith("_")}


def test_a_call_that_raises_leaves_the_estimator_as_it_was():
    one = fitted(reg_covar=0.0)
    before, score = copy.deepcopy(known(one)), one.score(X)

    def unchanged():
        assert str(known(one)) == str(before)
        assert one.score(X) == score

    def broken():
        raise OSError("the disk is gone")
        yield

    for learn in (one.fit, one.partial_fit):
        with pytest.raises(ValueError, match="features|holds text"):
            learn(X[:, :2]) if learn == one.partial_fit else learn(np.full((9, 4), "a"))
        unchanged()
        with pytest.raises(ValueError, match="infinity"):
            learn(np.where(X[0, 0] == X, np.inf, X))
        unchanged()
    one.rate = before["rate"] = 1.0
    with pytest.raises(ValueError, match="ill-defined empirical covariance"):
        one.partial_fit(X[:3])
    unchanged()
    with pytest.raises(OSError, match="the disk is gone"):
        one.fit_stream(broken())
    unchanged()
    assert one.partial_fit(X).n_points_seen_ == 300


# --- streams -------------------------------------------------------------------------------------------------


def test_rate_1_on_everything_is_a_step_of_batch_em():
    start = fitted(max_iter=0)
    online = copy.deepcopy(start).set_params(rate=1.0).partial_fit(X)
    with pytest.warns(ConvergenceWarning):
        batch = fitted(max_iter=1)
    same_as(online, batch, rtol=1e-10)


def test_rates():
    with pytest.raises(ValueError, match="'rate' parameter of GaussianMixture must be"):
        GaussianMixture(rate=1.5).partial_fit(X)
    with pytest.raises(ValueError, match="rate is 0.0: it must be None, in"):
        GaussianMixture(rate=lambda t: 0.0).partial_fit(X)
    asked = []

    def schedule(step):
        assert jnp.ones(1).dtype == jnp.float32  # a user's function runs with the user's settings
        asked.append(step)
        return 1 / (step + 1)

    one = GaussianMixture(rate=schedule)
    for part in np.split(np.random.default_rng(0).permutation(X), 5):
        one.partial_fit(part)
    assert asked == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(one.means_[0], X.mean(axis=0), rtol=1e-12)  # 1/t forgets nothing
    np.testing.assert_allclose(one.covariances_[0], np.cov(X.T, bias=True) + 1e-6 * np.eye(4), rtol=1e-10)
    # the default counts points: a row after many moves little, however few batches they came in
    much = fitted(n_components=1)
    moved = copy.deepcopy(much).partial_fit(X[:1])
    assert 0 < np.abs(moved.means_ - much.means_).max() < 0.2


@pytest.mark.slow
def test_the_width_of_a_point_is_added_once_however_long_the_stream():
    for kind in TYPES:
        mixture = GaussianMixture(1, covariance_type=kind, reg_covar=0.5, rate=0.5)
        for _ in range(20):
            mixture.partial_fit(X)
        same_as(mixture, Reference(1, covariance_type=kind, reg_covar=0.5).fit(X), rtol=1e-9)


def test_streams():
    mixed = np.random.default_rng(0).permutation(X)
    parts = [mixed[:2], mixed[2:64], mixed[64:128], mixed[:0], mixed[128:]]
    by_list = GaussianMixture(3, random_state=0).fit_stream(parts)
    assert (by_list.n_points_seen_, by_list.n_batches_seen_) == (150, 3)
    by_generator = GaussianMixture(3, random_state=0).fit_stream(part for part in parts)
    by_pairs = GaussianMixture(3, random_state=0).fit_stream([(part, np.ones(len(part))) for part in parts])
    again = by_pairs.fit_stream(parts)  # begins anew
    by_hand = GaussianMixture(3, random_state=0).partial_fit(mixed[:64]).partial_fit(mixed[64:128])
    by_hand.partial_fit(mixed[128:])
    for other in (by_generator, by_pairs, again, by_hand):
        assert bits(other) == bits(by_list)
    several = GaussianMixture(3, random_state=0).fit_stream(parts, passes=20)
    assert several.n_points_seen_ == 3000
    assert several.score(X) > fitted().score(X) - 0.1

    for batches, passes, words in (
        ([], 1, "batches is empty: there was nothing to fit GaussianMixture to"),
        ([X[:0]], 1, r"0 sample\(s\)"),
        ([X[:2]], 1, "Expected n_samples >= n_components but got n_components = 3, n_samples = 2"),
        (iter(parts), 2, "batches can be gone through once, and passes is 2"),
        (parts, 0, "passes is 0"),
        (X, 1, r"batches is one table of shape \(150, 4\)"),
        ([(X, None, None)], 1, "batches holds a tuple of 3"),
    ):
        with pytest.raises(ValueError, match=words):
            by_list.fit_stream(batches, passes)
        assert bits(by_list) == bits(by_hand)


def test_a_stream_that_breaks_keeps_what_was_learned():
    def broken():
        yield X[:64]
        raise OSError("the disk is gone")

    mixture = GaussianMixture(3, random_state=0)
    with pytest.raises(OSError, match="the disk is gone"):
        mixture.fit_stream(broken())
    assert mixture.n_points_seen_ == 64


def test_a_stream_needs_memory_for_one_batch():
    alive = []

    def batches():
        for _ in range(30):
            table = X[:64] + 0.0
            alive.append(weakref.ref(table))
            yield table
            del table
            assert sum(batch() is not None for batch in alive) <= 2

    GaussianMixture(3, random_state=0).fit_stream(batches())
    assert len(alive) == 30


def test_progress_is_shown_when_asked_for(capsys):
    fitted(verbose=1, n_init=2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "start 2" in shown.err
    assert "nats per point, gain" in shown.err
    GaussianMixture(3, random_state=0, verbose=1).fit_stream([X])
    shown = capsys.readouterr().err
    assert "nats per point" in shown
    assert "nan" not in shown
    fitted()
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@unconverged
def test_one_pass_of_online_em_comes_near_to_fifty_iterations():
    """The same with 100,000 points is a benchmark; what counts is that the pass has a hundred steps."""
    gaps = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        means, factors = rng.normal(0, 2, (10, 8)), rng.normal(0, 1, (10, 8, 8)) / np.sqrt(8) + np.eye(8) / 2
        label = rng.choice(10, 20_000, p=rng.dirichlet(np.full(10, 5.0)))
        table = means[label] + np.einsum("rij,rj->ri", factors[label], rng.normal(size=(20_000, 8)))
        start = GaussianMixture(10, max_iter=0, random_state=0).fit(table[:1000])
        batch = clone(start).set_params(
            weights_init=start.weights_, means_init=start.means_, precisions_init=start.precisions_
        )
        batch.set_params(max_iter=50, tol=0).fit(table)
        online = GaussianMixture(10, random_state=0).partial_fit(table[:1000])
        for place in range(1000, 20_000, 200):
            online.partial_fit(table[place : place + 200])
        gaps.append(batch.score(table) - online.score(table))
    assert np.median(gaps) < 0.05, gaps


# --- files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
def test_files_hold_every_bit(kind, tmp_path):
    one = fitted(kind, means_init=X[[0, 60, 120]].tolist(), rate=0.3)
    one.partial_fit(X[:50])
    one.save(tmp_path / "model")
    back = GaussianMixture.load(tmp_path / "model")
    assert bits(back) == bits(one)
    assert str(back.get_params()) == str(one.get_params())
    for name in ("lower_bound_", "lower_bounds_", "n_iter_", "converged_", "n_points_seen_", "n_batches_seen_"):
        assert getattr(back, name) == getattr(one, name), name
    assert bits(back.partial_fit(X[50:100])) == bits(one.partial_fit(X[50:100]))
    assert os.listdir(tmp_path) == ["model"]


def test_files_say_what_they_do_not_hold(tmp_path):
    one = fitted(rate=lambda t: 0.5, max_iter=0, means_init=list(X[[0, 60, 120]]))
    with pytest.warns(UserWarning, match="rate is not in the file: it is a function"):
        one.save(tmp_path / "model")
    back = GaussianMixture.load(tmp_path / "model")
    assert (back.rate, back.lower_bound_) == (None, -np.inf)
    np.testing.assert_array_equal(back.means_init, one.means_init)
    with pytest.raises(FileNotFoundError, match="nowhere is not a directory"):
        fitted().save(tmp_path / "nowhere" / "model")


def test_files_that_are_refused(tmp_path):
    path = tmp_path / "model"
    fitted().save(path)
    good, arrays = path.read_bytes(), load_file(path)
    header = json.loads(good[8 : 8 + int.from_bytes(good[:8], "little")])["__metadata__"]

    def refuse(words, error=ValueError):
        with pytest.raises(error, match=words) as raised:
            GaussianMixture.load(path)
        assert str(path) in str(raised.value)

    def altered(tensors=(), **parts):
        told = json.loads(header["header"])
        for key, value in parts.items():
            told[key] = told[key] | value if isinstance(value, dict) else value
        save_file({**arrays, **dict(tensors)}, path, {**header, "header": json.dumps(told)})

    means, weights = arrays["attributes.means_"], arrays["attributes.weights_"]
    for content in (b"", b"garbage" * 100, pickle.dumps(fitted()), good[:-8], good[:300]):
        path.write_bytes(content)
        refuse("is not a saved model")
    save_file(arrays, path)
    refuse("it has no header of kullback")
    save_file(arrays, path, {**header, "header": "[" * 100_000})
    refuse("is not a saved model")
    altered(kind="BernoulliForest")
    refuse("holds a 'BernoulliForest': this version of kullback knows no such model")
    altered({"attributes.means_": np.where(means > 6, np.nan, means)})
    refuse("attributes.means_ has entries that are not finite")
    altered(attributes={"n_points_seen_": float("nan")})
    refuse("NaN")
    for tensors in (
        {"attributes.means_": means[:, :3]},
        {"attributes.weights_": weights[:2]},
        {"attributes.weights_": -weights},
        {"attributes.covariances_": -arrays["attributes.covariances_"]},
        {"attributes.precisions_": weights},
    ):
        altered({name: np.ascontiguousarray(value) for name, value in tensors.items()})
        refuse("is damaged")
    for parts in (
        {"parameters": {"n_components": 4}},
        {"parameters": {"covariance_type": "diag"}},
        {"parameters": {"covariance_type": "none"}},
        {"parameters": {"surprise": 1}},
        {"attributes": {"n_features_in_": 5}},
        {"attributes": {"feature_names_in_": {"strings": ["a"]}}},
        {"attributes": {"n_points_seen_": -1}},
        {"attributes": {"predict": 1}},
        {"attributes": {"__class__": 1}},
    ):
        altered(**parts)
        refuse("is damaged")
    path.unlink()
    refuse("There is no file", FileNotFoundError)


def test_another_kind_is_refused(tmp_path):
    class Special(GaussianMixture):
        pass

    fitted().save(tmp_path / "model")
    with pytest.raises(ValueError, match="holds a GaussianMixture, not a Special"):
        Special.load(tmp_path / "model")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_while_saving_leaves_the_old_file(step, tmp_path, monkeypatch):
    path = tmp_path / "model"
    fitted().save(path)
    before = path.read_bytes()

    def crash(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, step, crash)
    with pytest.raises(OSError, match="the disk is full"):
        fitted(n_components=1).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_covariances_that_are_larger_than_the_memory_are_refused_before_they_are_made():
    with pytest.raises(ValueError, match="2 covariance matrices of 300,000 columns take 1,341 GB"):
        GaussianMixture(2).fit(np.zeros((3, 300_000)))
