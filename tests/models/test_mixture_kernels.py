"""Two orders of the same products, blocks, temperature, and what components share."""

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from contracts.quick import quick
from kullback.families import Batch, DiagonalGaussian, Gaussian, Poisson, SphericalGaussian, Standardization
from kullback.learning import em_step
from kullback.models import Mixture

RNG = np.random.default_rng(0)
K, N = 4, 3


def gaussians(kind, away=0.0):
    mean = 2 * RNG.normal(size=(K, N)) + away * np.arange(K)[:, None]
    root = RNG.normal(size=(K, N, N))
    match kind:
        case "full":
            return Gaussian(mean, root @ root.swapaxes(-1, -2) + np.eye(N))
        case "diag":
            return DiagonalGaussian(mean, RNG.uniform(0.5, 2, (K, N)))
    return SphericalGaussian(mean, RNG.uniform(0.5, 2, K))


@quick
def step(model, batch):
    data, _ = model.expected_statistics(batch)
    return model.maximize(data), data


def alike(a, b, rtol, atol=0.0):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_features_and_whitened_rows_say_the_same(kind):
    model = Mixture(RNG.dirichlet(np.ones(K)), gaussians(kind))
    X, weight = RNG.normal(size=(300, N)) * [1, 10, 0.1] + [5, -30, 0], RNG.uniform(0, 2, 300)
    standardization = Standardization(X.mean(axis=0), X.std(axis=0))
    alike(
        step(model, Batch(X, weight, 0.01, standardization=standardization)),
        step(model, Batch(X, weight, 0.01)),
        1e-9,
        1e-10,
    )


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_features_are_refused_where_they_would_lose_digits(kind):
    standardization = Standardization(np.zeros(N), np.ones(N))
    assert gaussians(kind).quick_kernel_is_accurate(standardization, 10.0)
    assert not gaussians(kind, away=1e5).quick_kernel_is_accurate(standardization, 10.0)
    assert not gaussians(kind).quick_kernel_is_accurate(standardization, 1e5)


@pytest.mark.parametrize("members", [2, 40])
@pytest.mark.parametrize("columns", [1, 5, 33, 64])
def test_quick_kernel_of_all_sizes_is_numpy_s_arithmetic(members, columns):
    """Products are cut in parts where columns are many: responsibilities and moments by SciPy and NumPy."""
    rng = np.random.default_rng(columns)
    X, weight = rng.normal(size=(90, columns)) + 3, rng.uniform(0, 2, 90)
    root = rng.normal(size=(members, columns, columns)) / columns
    mean, covariance = rng.normal(size=(members, columns)) + 3, root @ root.swapaxes(-1, -2) + np.eye(columns)
    model = Mixture(rng.dirichlet(np.ones(members)), Gaussian(mean, covariance))
    standardization = Standardization(X.mean(axis=0), X.std(axis=0))
    _, data = step(model, Batch(X, weight, 0.25, standardization=standardization))
    densities = [multivariate_normal(m, c).logpdf(X) for m, c in zip(mean, covariance, strict=True)]
    joint = np.log(model.weights) + np.transpose(densities)
    total = logsumexp(joint, axis=1)
    share = weight[:, None] * np.exp(joint - total[:, None])
    assert float(data.log_likelihood) == pytest.approx(weight @ total, rel=1e-12)
    np.testing.assert_allclose(data.components.mass, share.sum(axis=0), rtol=1e-11)
    for k in range(members):
        average = np.average(X, axis=0, weights=share[:, k])
        spread = np.cov(X.T, bias=True, aweights=share[:, k]).reshape(columns, columns) + 0.25 * np.eye(columns)
        np.testing.assert_allclose(data.components.mean[k], average, rtol=1e-11)
        np.testing.assert_allclose(data.components.spread[k], spread, rtol=1e-9, atol=1e-11)


def test_clusters_far_apart_keep_their_digits():
    """Two clusters of width 1 at 0 and 1e7, against the same clusters at 0 and 0: a shift changes no covariance."""
    X = RNG.normal(size=(400, N))
    far = np.where(np.arange(400)[:, None] < 200, X, X + 1e7)
    near = Mixture([0.5, 0.5], Gaussian([[0.0] * N, [1e7] * N], np.tile(np.eye(N), (2, 1, 1))))
    found, _ = step(near, Batch(far))
    for k, part in enumerate((X[:200], far[200:] - 1e7)):
        np.testing.assert_allclose(found.components.covariance[k], np.cov(part.T, bias=True), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
def test_blocks_and_padding_change_nothing(missing):
    rows = 5000 if missing else 9000
    X = RNG.normal(size=(rows, 16))
    model = Mixture([0.4, 0.6], DiagonalGaussian(RNG.normal(size=(2, 16)), np.ones((2, 16))))
    observed = RNG.random(X.shape) > 0.1 if missing else None
    padding = np.full((777, 16), 1e6)
    seen = None if observed is None else np.concatenate([observed, padding > 0])
    padded = Batch(np.concatenate([X, padding]), np.concatenate([np.ones(rows), np.zeros(777)]), observed=seen)
    whole = step(model, padded)[1]
    cut = slice(0, 512), slice(512, 1500), slice(1500, rows)
    parts = [model.expected_statistics(Batch(X[c], observed=None if observed is None else observed[c]))[0] for c in cut]
    alike(whole, parts[0].merge(parts[1]).merge(parts[2]), 1e-10, 1e-12)


def test_missing_entries_are_marginalized():
    X = RNG.normal(size=(40, N))
    observed = RNG.random(X.shape) > 0.4
    observed[0], observed[1] = False, True
    model = Mixture(RNG.dirichlet(np.ones(K)), gaussians("full"))
    expected = []
    for x, seen in zip(X, observed, strict=True):
        at = np.flatnonzero(seen)
        densities = [
            multivariate_normal(m[at], c[np.ix_(at, at)]).pdf(x[at]) if len(at) else 1.0
            for m, c in zip(model.components.mean, model.components.covariance, strict=True)
        ]
        expected.append(np.log(model.weights @ densities))
    found = quick(lambda m, b: m.log_likelihood(b))(model, Batch(np.where(observed, X, np.nan), observed=observed))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_hard_em_of_equal_spheres_is_kmeans():
    X = load_iris().data
    start = X[[0, 60, 140]]
    model = Mixture(
        np.full(3, 1 / 3), SphericalGaussian(start, np.ones(3)), temperature=0, tied=("variance",), fixed_weights=True
    )
    for _ in range(40):
        model, _ = em_step(model, Batch(X))
    reference = KMeans(3, init=start, n_init=1, max_iter=300, tol=0, algorithm="lloyd").fit(X)
    np.testing.assert_array_equal(np.argmax(model.posterior(Batch(X)), axis=1), reference.labels_)
    np.testing.assert_allclose(model.components.mean, reference.cluster_centers_, rtol=1e-10)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 3.0])
def test_em_raises_the_free_energy(temperature):
    X = load_iris().data
    model = Mixture([0.5, 0.5], DiagonalGaussian(X[[0, 100]], np.ones((2, 4))), temperature)
    history = []
    for _ in range(15):
        model, data = step(model, Batch(X))
        history.append(float(data.log_likelihood))
    assert np.diff(history).min() > -1e-9
    joint = np.asarray(np.log(model.weights) + model.components.log_likelihood(Batch(X)))
    value = joint.max(axis=1) if temperature == 0 else temperature * np.log(np.exp(joint / temperature).sum(axis=1))
    assert float(step(model, Batch(X))[1].log_likelihood) == pytest.approx(value.sum(), rel=1e-12)


@pytest.mark.slow
def test_shared_covariances_are_the_best_ones():
    X = load_iris().data
    model = Mixture(
        [0.3, 0.7], Gaussian(X[[0, 100]], np.tile(np.eye(4), (2, 1, 1))), tied=("covariance",), fixed_weights=True
    )
    data, _ = model.expected_statistics(Batch(X))
    found = model.maximize(data)
    np.testing.assert_array_equal(found.weights, model.weights)
    np.testing.assert_array_equal(found.components.covariance[0], found.components.covariance[1])
    least = float(found.cross_entropy(data))
    for sign in (1, -1):
        moved = found.components.covariance + sign * 1e-3 * np.ones((4, 4)) + sign * 1e-3 * np.eye(4)
        other = eqx.tree_at(lambda m: m.components.covariance, found, moved)
        assert float(other.cross_entropy(data)) > least


def test_what_cannot_be_is_named():
    with pytest.raises(ValueError, match="temperature is -1"):
        Mixture([0.5, 0.5], Poisson([1.0, 2.0]), temperature=-1)
    with pytest.raises(ValueError, match="only the covariance or variance of Gaussians"):
        Mixture([0.5, 0.5], Poisson([1.0, 2.0]), tied=("rate",))
