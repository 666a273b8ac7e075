import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

import kullback
from kullback import GaussianMixture

X = load_iris().data


@parametrize_with_checks([GaussianMixture()])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(autouse=True)
def user_settings():
    """The front door works the same where a user has left JAX in 32 bits."""
    with jax.enable_x64(False):
        yield
        assert jnp.ones(1).dtype == jnp.float32


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_twenty_iterations_from_one_start_are_those_of_scikit_learn():
    ours = GaussianMixture(n_components=3, max_iter=20, tol=0, random_state=0).fit(X)
    theirs = Reference(n_components=3, max_iter=20, tol=0, random_state=0).fit(X)
    order = np.argmin(np.linalg.norm(ours.means_[None] - theirs.means_[:, None], axis=-1), axis=1)
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(ours.weights_[order], theirs.weights_, rtol=1e-7)
    np.testing.assert_allclose(ours.means_[order], theirs.means_, rtol=1e-7)
    np.testing.assert_allclose(ours.covariances_[order], theirs.covariances_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X)[:, order], theirs.predict_proba(X), atol=1e-7)


def test_partial_fit_learns_from_a_stream():
    rng = np.random.default_rng(0)
    stream = [X[rng.permutation(150)[:50]] for _ in range(30)]
    mixture = GaussianMixture(n_components=3, random_state=0)
    for batch in stream:
        mixture.partial_fit(batch)
    batch_fit = GaussianMixture(n_components=3, random_state=0).fit(X)
    assert mixture.n_points_seen_ == 1500
    assert mixture.score(X) > batch_fit.score(X) - 0.1


def test_the_width_of_a_point_is_added_once_however_long_the_stream():
    mixture = GaussianMixture(n_components=1, reg_covar=0.5, rate=0.5)
    for _ in range(40):
        mixture.partial_fit(X)
    expected = np.cov(X.T, bias=True) + 0.5 * np.eye(4)
    np.testing.assert_allclose(mixture.covariances_[0], expected, rtol=1e-9)


def test_sites_combine_to_about_the_fit_of_everything():
    parts = [X[i::3] for i in range(3)]
    fitted = [GaussianMixture(n_components=2, random_state=i).fit(part) for i, part in enumerate(parts)]
    together = kullback.combine(fitted)
    whole = GaussianMixture(n_components=2, random_state=0).fit(X)
    assert together.n_points_seen_ == 150
    assert together.score(X) > whole.score(X) - 0.1
    assert together.means_.dtype == np.float64


def test_combining_copies_returns_the_estimator():
    one = GaussianMixture(n_components=3, random_state=0).fit(X)
    same = kullback.combine([one, one])
    np.testing.assert_allclose(same.covariances_, one.covariances_, rtol=1e-12)


def test_state_is_numpy_and_travels():
    one = GaussianMixture(n_components=2, random_state=0).fit(X)
    for copied in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        np.testing.assert_array_equal(copied.predict_proba(X), one.predict_proba(X))
    assert all(type(leaf) is np.ndarray for leaf in jax.tree.leaves(one.to_model()))


def test_a_failed_partial_fit_leaves_the_estimator_as_it_was():
    one = GaussianMixture(n_components=2, random_state=0).fit(X)
    before = one.score(X)
    with pytest.raises(ValueError, match="features"):
        one.partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        one.partial_fit(np.full((3, 4), np.nan))
    assert one.score(X) == before
    assert one.partial_fit(X[:20]).n_points_seen_ == 170


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n_components is 0"):
        GaussianMixture(n_components=0).fit(X)
    with pytest.raises(ValueError, match="rate is 1.5"):
        GaussianMixture(rate=1.5).partial_fit(X)
    with pytest.raises(ValueError, match="X has 2 rows: n_components=3"):
        GaussianMixture(n_components=3).fit(X[:2])
    with pytest.raises(ValueError, match="fitted is empty"):
        kullback.combine([])
