"""Mixtures brought to fewer components, and the bound between them."""

import jax
import numpy as np
import pytest

from kullback.families import Batch, Gaussian, Poisson
from kullback.geometry import relative_entropy
from kullback.models import Mixture, average_matching, concatenate_mixtures, reduce, spread_start, variational_bound


def gaussians(means, widths=1.0, weights=None):
    means = np.asarray(means, dtype=float)[:, None]
    k = len(means)
    return Mixture(np.full(k, 1 / k) if weights is None else weights, Gaussian(means, np.full((k, 1, 1), widths)))


@pytest.mark.slow
def test_the_united_mixture_is_the_average_of_the_densities():
    a, b = gaussians([0.0, 5.0]), gaussians([1.0, 9.0], 2.0)
    x = Batch(np.linspace(-3, 12, 20)[:, None])
    expected = 0.25 * np.exp(a.log_likelihood(x)) + 0.75 * np.exp(b.log_likelihood(x))
    np.testing.assert_allclose(
        np.exp(concatenate_mixtures([a, b], [0.25, 0.75]).log_likelihood(x)), expected, rtol=1e-12
    )


def test_copies_reduce_to_the_original():
    a = gaussians([0.0, 5.0, 20.0], 1.0, [0.2, 0.3, 0.5])
    found = reduce(concatenate_mixtures([a, a, a], [0.2, 0.3, 0.5]), a.components)
    np.testing.assert_allclose(found.weights, a.weights, rtol=1e-12)
    np.testing.assert_allclose(found.components.mean, a.components.mean, rtol=1e-12)
    np.testing.assert_allclose(found.components.covariance, a.components.covariance, rtol=1e-12)


@pytest.mark.slow
def test_a_reduction_keeps_the_moments_and_falls_in_divergence():
    rng = np.random.default_rng(0)
    many = Mixture(rng.dirichlet(np.ones(8)), Gaussian(5 * rng.normal(size=(8, 2)), np.tile(np.eye(2), (8, 1, 1))))
    start = spread_start(many, 3, np.random.RandomState(0))
    found = reduce(many, start)

    def total(components):
        table = np.array(
            [[float(relative_entropy(at(many.components, i), at(components, j))) for j in range(3)] for i in range(8)]
        )
        return many.weights @ table.min(axis=1)

    assert total(found.components) < total(start)
    mean = found.weights @ found.components.mean
    np.testing.assert_allclose(mean, many.weights @ many.components.mean, rtol=1e-12)


def at(components, i):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[i], components)


def test_what_agrees_is_averaged_and_what_does_not_is_left_out():
    a = gaussians([0.0, 5.0, 20.0])
    b = gaussians([0.2, 5.2, 20.2])
    blurred = gaussians([2.5, 19.0, 20.8], [[[7.0]], [[0.5]], [[0.5]]])
    found = average_matching([a, b, blurred], [1 / 3] * 3, reference=0)
    np.testing.assert_allclose(np.sort(np.ravel(found.components.mean))[:2], [0.1, 5.1], atol=1e-9)


@pytest.mark.slow
def test_the_bound_lies_between_marginal_and_joint():
    rng = np.random.default_rng(1)
    for seed in range(3):
        a, b = (
            Mixture(rng.dirichlet(np.ones(3)), Gaussian(2 * rng.normal(size=(3, 1)), rng.uniform(0.5, 2, (3, 1, 1))))
            for _ in range(2)
        )
        x = np.linspace(-15, 15, 20_001)[:, None]
        p, q = (np.exp(np.asarray(m.log_likelihood(Batch(x)))) for m in (a, b))
        marginal = np.trapezoid(p * np.log(p / q), x[:, 0])
        bound, joint = float(variational_bound(a, b)), float(relative_entropy(a, b))
        assert marginal < bound < joint, seed


def test_the_bound_does_not_look_at_labels():
    a = Mixture([0.2, 0.8], Poisson([1.0, 9.0]))
    b = Mixture([0.8, 0.2], Poisson([9.0, 1.0]))
    assert float(variational_bound(a, b)) == pytest.approx(0, abs=1e-12)
    assert float(relative_entropy(a, b)) > 1
    more = Mixture([0.2, 0.4, 0.4], Poisson([1.0, 9.0, 9.0]))
    assert float(variational_bound(a, more)) == pytest.approx(0, abs=1e-9)
