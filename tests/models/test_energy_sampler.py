"""Energies and samplers: networks written out in NumPy, and chains on energies whose law is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.core import Batch
from kullback.models import EnergySampler
from tiers import slow

#: A Gaussian with standard deviations 1.5 and 1.3 and a correlation of 0.6.
COVARIANCE = np.array([[2.25, 1.17], [1.17, 1.69]])
PRECISION = np.linalg.inv(COVARIANCE)


def gaussian_energy(x):
    return 0.5 * jnp.einsum("...i,ij,...j", x, PRECISION, x)


def forward(network, x, function):
    for place, weights in enumerate(np.asarray(each) for each in network.weights):
        x = (x if place == 0 else function(x)) @ weights[:-1] + weights[-1]
    return x


def silu(x):
    return x / (1 + np.exp(-x))


def test_both_energies_written_out():
    x = np.random.default_rng(0).normal(size=(7, 3))
    z = (x - [1, 2, 3]) / [1, 2, 1]  # a scale of 0 is that of a constant
    options = {"hidden": (5, 4), "center": [1, 2, 3], "scale": [1, 2, 0]}
    model = EnergySampler.start(3, 0, "mlp", **options)
    expected = forward(model.energy_function.network, z, silu)[:, 0] + (z**2).sum(1) / 32
    np.testing.assert_allclose(eqx.filter_jit(model.energy)(x), expected, rtol=1e-4, atol=1e-5)
    model = EnergySampler.start(3, 0, "autoencoder", **options, n_code=2)
    code = forward(model.energy_function.encoder, z, silu)
    assert code.shape == (7, 2)
    expected = ((forward(model.energy_function.decoder, code, silu) - z) ** 2).sum(1)
    np.testing.assert_allclose(eqx.filter_jit(model.energy)(x), expected, rtol=1e-4)


@pytest.mark.parametrize("n_noise", [2, 3, 5])
def test_a_sampler_begins_near_a_gaussian_as_wide_as_the_data(n_noise):
    model = EnergySampler.start(3, 1, hidden=(8,), n_noise=n_noise, center=[5.0, 0.0, -5.0], scale=[1.0, 2.0, 0.1])
    x = np.asarray(model.sample(0, (4000,)))
    z = (x - [5, 0, -5]) / [1, 2, 0.1]
    np.testing.assert_allclose(z.mean(0), 0, atol=0.15)
    np.testing.assert_allclose(z.var(0).sum(), 3, rtol=0.1)
    assert model.sample(0).shape == (3,)
    assert model.n_features == 3


def test_an_energy_rises_far_from_the_data_whatever_its_weights():
    model = EnergySampler.start(2, 0, hidden=(8, 8))
    large = jax.tree.map(lambda leaf: 5 * leaf, model.energy_function.network)
    energy = eqx.filter_jit(type(model.energy_function)(model.energy_function.standardized, large))
    angles = np.linspace(0, 2 * np.pi, 16)
    ray = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert np.all(np.diff([energy(r * ray) for r in (1e5, 1e6, 1e7)], axis=0) > 0)


@pytest.mark.parametrize("method", ["langevin", slow("hmc")])
def test_polish_brings_points_to_the_law_of_the_energy(method):
    model = EnergySampler.start(2, 0, gaussian_energy, hidden=(4,), center=[2.0, 0.0])
    x = np.asarray(eqx.filter_jit(lambda m, x: m.polish(1, x, 300, method))(model, model.sample(0, (3000,))))
    error = np.sqrt(2 / 3000) * np.diag(COVARIANCE)
    assert np.all(np.abs((x**2).mean(0) - np.diag(COVARIANCE)) < 4 * error)
    assert np.abs(np.cov(x.T)[0, 1] - 1.17) < 0.2


@pytest.mark.slow
def test_what_is_missing_is_drawn_given_the_rest():
    model = EnergySampler.start(2, 0, gaussian_energy, hidden=(4,))
    values = np.tile([2.0, np.nan], (2000, 1))
    x = np.asarray(eqx.filter_jit(model.impute)(Batch(values, observed=~np.isnan(values)), jax.random.key(0)))
    assert np.all(x[:, 0] == 2)
    variance = 1.69 - 1.17**2 / 2.25
    assert abs(x[:, 1].mean() - 2 * 1.17 / 2.25) < 4 * np.sqrt(variance / 2000)
    assert abs(x[:, 1].var() - variance) < 4 * variance * np.sqrt(2 / 2000)
    whole = np.zeros((2, 2))
    np.testing.assert_array_equal(model.impute(Batch(whole), jax.random.key(0)), whole)


def test_its_likelihood_lacks_a_constant_and_nothing_is_hidden():
    model = EnergySampler.start(2, 0, gaussian_energy, hidden=(4,))
    x = np.random.default_rng(1).normal(size=(5, 2))
    found = model.estimate_log_likelihood(Batch(x))
    np.testing.assert_allclose(found.value, -model.energy(x))
    assert not model.normalized
    assert model.posterior(Batch(x)) is None


def test_an_unknown_energy_is_refused():
    with pytest.raises(ValueError, match="'mlp' or 'autoencoder'"):
        EnergySampler.start(2, 0, "gan")
