"""The step of `partial_fit` is that of online EM, whichever kernel takes it."""

import jax
import numpy as np
import pytest

from kullback.estimators._online import online_step
from kullback.estimators.data._rows import Rows
from kullback.families import Batch, DiagonalGaussian, Gaussian, Poisson, SphericalGaussian
from kullback.learning import online_em_step
from kullback.models import Mixture

K, N = 3, 4


def components(kind, mean):
    match kind:
        case "full":
            return Gaussian(mean, np.tile(np.eye(N) + 0.5, (K, 1, 1)))
        case "diag":
            return DiagonalGaussian(mean, np.ones((K, N)))
    return SphericalGaussian(mean, np.ones(K))


def compare(model, X, weight, rtol):
    with jax.enable_x64(True):
        model = jax.tree.map(np.asarray, model)
        found, seen = online_step(model, Rows(X, weight, 1e-6), 0.3)
        plain, _, report = online_em_step(model, Batch(X, weight, 1e-6), 0.3)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(seen, report.value, rtol=rtol)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_with_the_standardization_of_the_model(kind, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, N)) + 3 * rng.integers(3, size=(100, 1))
    with jax.enable_x64(True):
        model = Mixture(np.full(K, 1 / K), components(kind, rng.normal(size=(K, N)) + 3 * np.arange(K)[:, None]))
    compare(model, X, rng.uniform(0.5, 2, 100) if weighted else None, 1e-10)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_clusters_that_are_far_apart_keep_their_digits(kind):
    rng = np.random.default_rng(0)
    far = 1e7 * np.arange(K)[:, None]
    X = np.concatenate([rng.normal(size=(40, N)) + shift for shift in far])
    with jax.enable_x64(True):
        model = Mixture(np.full(K, 1 / K), components(kind, np.zeros((K, N)) + far))
        found, _ = online_step(jax.tree.map(np.asarray, model), Rows(X), 1.0)
    variance = found.components.covariance if kind == "full" else found.components.variance
    for k, part in enumerate(np.split(X, K)):
        spread = {"full": np.cov(part.T, bias=True), "diag": part.var(axis=0), "spherical": part.var(axis=0).mean()}
        np.testing.assert_allclose(variance[k], spread[kind], atol=1e-7)


def test_one_far_row_changes_the_kernel_not_the_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, N))
    X[7] = 1e9
    with jax.enable_x64(True):
        model = Mixture(np.full(K, 1 / K), components("full", rng.normal(size=(K, N))))
    compare(model, X, None, 1e-12)


def test_other_components_have_no_standardization():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        model = Mixture([0.5, 0.5], Poisson([1.0, 9.0]))
    compare(model, rng.poisson(4, 60).astype(float), None, 1e-12)
