import jax
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis as Peer

from contracts.models import mixture
from contracts.quick import quick
from kullback.families import Batch
from kullback.learning import em
from kullback.models import FactorAnalysis


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    loadings = np.array([[2.0, 0.0], [1.5, 0.3], [-1.0, 1.0], [0.2, 2.0], [0.0, 1.2], [0.5, -0.7]])
    noise = rng.uniform(0.3, 2, 6)
    return rng.normal(size=(300, 2)) @ loadings.T + np.sqrt(noise) * rng.normal(size=(300, 6)) + np.arange(6)


def test_likelihood_is_scikit_learns(data):
    peer = Peer(2, svd_method="lapack").fit(data)
    model = FactorAnalysis(peer.mean_, peer.components_.T, peer.noise_variance_)
    rows, means = quick(lambda m, b: (m.log_likelihood(b), m.posterior(b).mean))(model, Batch(data))
    np.testing.assert_allclose(rows, peer.score_samples(data), rtol=1e-10)
    np.testing.assert_allclose(means, peer.transform(data), rtol=1e-9, atol=1e-12)


def test_em_reaches_the_likelihood_of_scikit_learn(data):
    peer = Peer(2, svd_method="lapack", tol=1e-12, max_iter=10_000).fit(data)
    start = FactorAnalysis.from_moments(data.mean(0), np.cov(data.T, bias=True), 2)
    model, history = em(start, Batch(data), steps=600, tolerance=1e-11)
    assert np.all(np.diff(history) > -1e-12)
    assert float(np.mean(model.log_likelihood(Batch(data)))) == pytest.approx(peer.score(data), abs=1e-7)
    np.testing.assert_allclose(model.covariance, peer.get_covariance(), rtol=2e-3, atol=2e-3)


def test_the_start_is_close_and_knows_no_units(data):
    mean, covariance = data.mean(0), np.cov(data.T, bias=True)
    start = FactorAnalysis.from_moments(mean, covariance, 2)
    np.testing.assert_allclose(np.diag(start.covariance), np.diag(covariance), rtol=1e-12)
    scale = np.array([1e-3, 1.0, 1e3, 5.0, 0.1, 2.0])
    scaled = FactorAnalysis.from_moments(mean * scale, covariance * np.outer(scale, scale), 2)
    np.testing.assert_allclose(scaled.loadings, start.loadings * scale[:, None] * _signs(scaled, start), rtol=1e-9)
    np.testing.assert_allclose(scaled.noise, start.noise * scale**2, rtol=1e-9)


def _signs(a, b):
    return np.sign(a.loadings[0] * b.loadings[0])


def test_mixture_of_factor_analyzers_is_a_mixture_of_gaussians():
    model = mixture("FactorAnalysis")(np.random.default_rng(2))
    X = np.asarray(model.sample(jax.random.key(0), (30,)))
    parts = model.components
    joint = [
        np.log(w) + multivariate_normal(m, c).logpdf(X)
        for w, m, c in zip(model.weights, parts.mean, parts.covariance, strict=True)
    ]
    np.testing.assert_allclose(model.log_likelihood(Batch(X)), logsumexp(joint, axis=0), rtol=1e-11)


def test_mixture_of_factor_analyzers_learns_with_holes():
    model = mixture("FactorAnalysis")(np.random.default_rng(2))
    rng = np.random.default_rng(3)
    X = np.asarray(model.sample(jax.random.key(0), (200,)))
    batch = Batch(X, observed=rng.random(X.shape) < 0.7)
    other = mixture("FactorAnalysis")(rng)
    _, history = em(other, batch, steps=25, tolerance=-np.inf)
    assert np.all(np.diff(history) > -1e-11)
    assert history[-1] > history[0]
    drawn = quick(lambda m, b, k: m.impute(b, k))(model, batch, jax.random.key(1))
    assert np.array_equal(np.asarray(drawn)[batch.observed], X[batch.observed])
