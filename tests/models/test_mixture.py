import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from contracts.models import MIXTURES
from contracts.quick import quick
from kullback.families import Batch, Categorical, Gaussian, Poisson
from kullback.learning import em_step
from kullback.models import Mixture
from tiers import slow_among


def plain_em(X, weight, weights, means, covariances, width):
    """One EM step in plain NumPy, straight from the textbook."""
    density = np.stack(
        [w * multivariate_normal(m, c).pdf(X) for w, m, c in zip(weights, means, covariances, strict=True)], axis=-1
    )
    share = weight[:, None] * density / density.sum(axis=1, keepdims=True)
    mass = share.sum(axis=0)
    new_means = (share.T @ X) / mass[:, None]
    new_covariances = [
        (share[:, k, None] * (X - m)).T @ (X - m) / mass[k] + width * np.eye(X.shape[1])
        for k, m in enumerate(new_means)
    ]
    likelihood = np.sum(weight * np.log(density.sum(axis=1))) / weight.sum()
    return mass / mass.sum(), new_means, np.array(new_covariances), likelihood


def test_a_step_of_em_is_the_textbook_one():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(60, 2)), rng.uniform(0.2, 2, 60)
    weights, means = np.array([0.3, 0.7]), np.array([[-1.0, 0.0], [1.0, 0.5]])
    covariances = np.array([[[1.0, 0.2], [0.2, 0.8]], [[0.7, 0.0], [0.0, 1.3]]])
    model, report = em_step(Mixture(weights, Gaussian(means, covariances)), Batch(X, weight, 0.01))
    expected = plain_em(X, weight, weights, means, covariances, 0.01)
    np.testing.assert_allclose(model.weights, expected[0], rtol=1e-12)
    np.testing.assert_allclose(model.components.mean, expected[1], rtol=1e-11)
    np.testing.assert_allclose(model.components.covariance, expected[2], rtol=1e-11)
    assert float(report.value) == pytest.approx(expected[3], rel=1e-12)


@pytest.mark.parametrize("name", slow_among(MIXTURES, "Mixture of CompoundDirichlet"))
def test_the_posterior_is_bayes_rule_for_each_label(name):
    model = MIXTURES[name][1](np.random.default_rng(7))
    batch = Batch(quick(lambda m, key: m.sample(key, (50,)))(model, jax.random.key(0)))
    energy = quick(lambda m, v, h: m.energy(v, h))
    joint = np.stack([np.asarray(energy(model, batch.values, np.full(50, h))) for h in range(3)], axis=-1)
    expected = np.exp(-joint) / np.exp(-joint).sum(axis=-1, keepdims=True)
    posterior, likelihood = quick(lambda m: (m.posterior(batch), m.log_likelihood(batch)))(model)
    np.testing.assert_allclose(posterior, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(likelihood, np.log(np.exp(-joint).sum(axis=-1)), rtol=1e-10)


def test_a_component_without_mass_stays_as_it_is():
    start = Mixture([0.5, 0.5], Poisson([1.0, 1e-300]))
    model, _ = em_step(start, Batch([3.0, 4.0]))
    assert float(model.components.rate[0]) == pytest.approx(3.5)
    assert np.isfinite(model.components.rate).all()


def test_a_row_that_no_component_explains_makes_no_nan():
    start = Mixture([0.4, 0.6], Categorical([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]]))
    batch = Batch([0, 1, 2])
    np.testing.assert_allclose(start.posterior(batch)[2], [0.4, 0.6])
    assert start.log_likelihood(batch)[2] == -np.inf
    model, _ = em_step(start, batch)
    assert np.isfinite(model.components.probabilities).all()


def test_sampling_follows_the_weights():
    model = Mixture([0.2, 0.8], Poisson([1.0, 50.0]))
    h, v = model.sample_joint(jax.random.key(0), (4000,))
    assert float(np.mean(h)) == pytest.approx(0.8, abs=5 * np.sqrt(0.16 / 4000))
    assert v[h == 1].min() > v[h == 0].max()


def test_mixture_says_what_is_wrong():
    with pytest.raises(ValueError, match="both must be"):
        Mixture([0.5, 0.5], Poisson([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="both must be"):
        Mixture([0.5, 0.5], Poisson(1.0))
    with pytest.raises(ValueError, match="sums to 0.9"):
        Mixture([0.5, 0.4], Poisson([1.0, 2.0]))
