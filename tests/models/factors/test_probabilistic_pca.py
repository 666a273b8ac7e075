import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.decomposition import PCA

from contracts.quick import quick
from kullback.families import Batch
from kullback.learning import em
from kullback.models import ProbabilisticPCA


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(6)
    return rng.normal(size=(200, 2)) @ rng.normal(size=(2, 5)) * 2 + rng.normal(size=(200, 5)) + 10


def test_likelihood_is_that_of_scikit_learns_pca(data):
    peer = PCA(2).fit(data)
    lengths = np.sqrt(peer.explained_variance_ - peer.noise_variance_)
    model = ProbabilisticPCA(peer.mean_, peer.components_.T * lengths, peer.noise_variance_)
    np.testing.assert_allclose(model.log_likelihood(Batch(data)), peer.score_samples(data), rtol=1e-10)
    assert float(jnp.mean(model.log_likelihood(Batch(data)))) == pytest.approx(peer.score(data), abs=1e-8)
    again = ProbabilisticPCA.from_moments(data.mean(0), np.cov(data.T), 2)
    np.testing.assert_allclose(again.covariance, peer.get_covariance(), rtol=1e-11)
    assert float(again.noise) == pytest.approx(peer.noise_variance_, rel=1e-11)


def test_the_closed_form_is_the_most_likely_model(data):
    best = ProbabilisticPCA.from_moments(data.mean(0), np.cov(data.T, bias=True), 2)
    slope = quick(jax.grad(lambda m: jnp.mean(m.log_likelihood(Batch(data)))))(best)
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(slope)) < 1e-12
    stays, _ = em(best, Batch(data), steps=1)
    for a, b in zip(jax.tree.leaves(stays), jax.tree.leaves(best), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_em_finds_the_closed_form(data):
    best = ProbabilisticPCA.from_moments(data.mean(0), np.cov(data.T, bias=True), 2)
    rng = np.random.default_rng(0)
    start = ProbabilisticPCA(np.zeros(5), rng.normal(size=(5, 2)), 3.0)
    model, history = em(start, Batch(data), steps=900, tolerance=-np.inf)
    assert np.all(np.diff(history) > -1e-11)
    np.testing.assert_allclose(model.covariance, best.covariance, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.principal_axes().loadings, best.loadings, rtol=1e-9, atol=1e-10)


def test_a_covariance_of_low_rank_has_a_small_noise():
    root = np.random.default_rng(1).normal(size=(6, 2))
    covariance = root @ root.T
    model = ProbabilisticPCA.from_moments(np.zeros(6), covariance, 2)
    assert 0 < float(model.noise) < 1e-9 * np.trace(covariance)
    np.testing.assert_allclose(model.covariance, covariance, atol=1e-8)
    within = (root @ np.ones(2))[None]
    assert np.isfinite(model.log_likelihood(Batch(within))).all()
    below = ProbabilisticPCA.from_moments(np.zeros(6), covariance, 1)
    assert float(below.noise) == pytest.approx(np.linalg.eigvalsh(covariance)[-2] / 5, rel=1e-10)


def test_the_noise_is_one_number_for_each_member():
    model = ProbabilisticPCA(np.zeros((2, 3)), np.ones((3, 1)), [1.0, 2.0])
    assert model.batch_shape == (2,)
    assert model.event_shape == (3,)
    assert model.loadings.shape == (2, 3, 1)
    np.testing.assert_array_equal(model.noises, [[1, 1, 1], [2, 2, 2]])
