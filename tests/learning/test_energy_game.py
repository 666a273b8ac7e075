"""Samplers trained on an energy: gradients of both players written out, and energies whose law is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from kullback.core import Batch
from kullback.families import DiagonalGaussian
from kullback.geometry import kernel_entropy, mmd_entropy
from kullback.learning import (
    Dreams,
    EnergyGame,
    Epochs,
    FollowEnergy,
    Gradient,
    Minibatches,
    Optimizer,
    begin,
    decaying_adam,
    fit,
    load_place,
    save_place,
    two_rates,
)
from kullback.models import EnergySampler

COVARIANCE = np.array([[2.25, 1.17], [1.17, 1.69]])
PRECISION = np.linalg.inv(COVARIANCE)
ROWS = (np.random.default_rng(0).normal(size=(48, 2)) * [1, 3]).astype(np.float32)


def gaussian_energy(x):
    return 0.5 * jnp.einsum("...i,ij,...j", x, PRECISION, x)


def two_gaussians(x):
    """Standard deviations of 0.5 around (±1.5, 0)."""
    apart = jnp.stack([jnp.sum((x - jnp.array([side, 0.0])) ** 2, axis=-1) for side in (-1.5, 1.5)])
    return -jax.nn.logsumexp(-apart / 0.5, axis=0)


def noise(rows, steps, n_noise=4, seed=0):
    """Noise is the data of a sampler of a given energy."""
    return Dreams([DiagonalGaussian(np.zeros(n_noise), np.ones(n_noise))], None, rows, steps, seed)


def prepare(places):
    return Batch(ROWS[places], np.ones(len(places), np.float32))


def game(rate=1e-2, **options):
    return Gradient(EnergyGame(draws=32, **options), Optimizer(two_rates, learning_rate=rate, sampler_rate=1e-3))


def small(energy="mlp", seed=0):
    return EnergySampler.start(2, seed, energy, (8,), scale=[1.0, 3.0])


@pytest.mark.parametrize(
    ("entropy", "energy"), [pytest.param("kernel", "mlp", marks=pytest.mark.slow), ("mmd", "autoencoder")]
)
def test_each_player_follows_its_own_gradient(entropy, energy):
    """The energy descends E_data e − E_g e + ρ(E_data e² + E_g e²), the sampler E_g e − H, both in their parameters."""
    model, weight = small(energy), np.arange(48) % 3
    batch, key = Batch(ROWS, weight.astype(np.float32)), jax.random.key(3)
    draws = model.sampler(model.sampler.draw_noise(key, (32,)))

    def of_energy(energy_function):
        on_data, on_draws = energy_function(jnp.asarray(ROWS)), energy_function(draws)
        squares = jnp.average(on_data**2, weights=weight) + jnp.mean(on_draws**2)
        return jnp.average(on_data, weights=weight) - jnp.mean(on_draws) + 0.1 * squares

    def of_sampler(sampler):
        x = sampler(sampler.draw_noise(key, (32,)))
        measure = {"kernel": kernel_entropy, "mmd": mmd_entropy}[entropy]
        return jnp.mean(model.energy_function(x)) - measure(x / jnp.array([1.0, 3.0]))

    objective = EnergyGame(entropy, 32, 0.1)
    found = eqx.filter_jit(eqx.filter_grad(lambda model: objective(model, batch, None, key).value))(model)
    for part, function in (("energy_function", of_energy), ("sampler", of_sampler)):
        expected = eqx.filter_jit(eqx.filter_grad(function))(getattr(model, part))
        for one, other in zip(jax.tree.leaves(getattr(found, part)), jax.tree.leaves(expected), strict=True):
            if one.ndim == 2:  # centers and scales are no parameters
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    gap = jnp.average(model.energy(ROWS), weights=weight) - jnp.mean(model.energy(draws))
    entropy_of_draws = jnp.mean(model.energy(draws)) - of_sampler(model.sampler) + np.log(3)  # in the units of the rows
    np.testing.assert_allclose(objective(model, batch, None, key).value, gap + entropy_of_draws, rtol=1e-4)


@pytest.mark.slow
def test_one_adam_with_scaled_moves_is_two():
    model = eqx.filter(small(), eqx.is_inexact_array)
    labels = EnergySampler(
        jax.tree.map(lambda _: "energy", model.energy_function), jax.tree.map(lambda _: "sampler", model.sampler)
    )
    two = optax.multi_transform({"energy": optax.adam(3e-3, b1=0.5), "sampler": optax.adam(1e-3, b1=0.5)}, labels)
    one = two_rates(3e-3, 1e-3)
    states = [one.init(model), two.init(model)]
    for seed in range(3):
        slopes = jax.tree.map(lambda leaf, seed=seed: jnp.sin(seed + 1e3 * leaf), model)
        found = [rule.update(slopes, state, model) for rule, state in zip((one, two), states, strict=True)]
        states = [state for _, state in found]
        for mine, theirs in zip(*(jax.tree.leaves(updates) for updates, _ in found), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-10)


def trained(energy, entropy, steps, seed=0, rows=256, hidden=(64, 64), rate=2e-3):
    rule, data = Epochs(1), noise(rows, steps, seed=seed)
    numbers = {"learning_rate": rate, "delay": steps / 2, "power": 2.0}
    learner = Gradient(FollowEnergy(entropy), Optimizer(decaying_adam, **numbers))
    model = EnergySampler.start(2, seed, energy, hidden)
    place, _ = fit(learner, begin(learner, model, data, rule, seed), data, rule, seed=seed)
    return place.model


@pytest.mark.parametrize("entropy", ["kernel", pytest.param("mmd", marks=pytest.mark.slow)])
def test_a_gaussian_energy_is_answered_with_its_standard_deviations(entropy):
    model = trained(gaussian_energy, entropy, 400, rows=128, hidden=(16,), rate=1e-2)
    x = np.asarray(model.sample(1, (4000,)))
    np.testing.assert_allclose(x.std(0), [1.5, 1.3], rtol=0.15)
    np.testing.assert_allclose(np.corrcoef(x.T)[0, 1], 0.6, atol=0.1)


@pytest.mark.slow
def test_two_gaussians_on_a_grid():
    """The relative entropy of 200,000 draws in 60 × 60 cells is at most 0.05 nats; true draws have 0.008."""
    x = np.asarray(trained(two_gaussians, "kernel", 2000).sample(7, (200_000,)))
    edges = np.linspace(-5, 5, 61)
    centers = (edges[1:] + edges[:-1]) / 2
    energies = two_gaussians(np.stack(np.meshgrid(centers, centers, indexing="ij"), axis=-1))
    log_p = np.asarray(jax.nn.log_softmax(-energies.ravel())).reshape(60, 60)
    q = np.histogram2d(*x.T, bins=[edges, edges])[0] / len(x)
    assert np.sum(q[q > 0] * (np.log(q[q > 0]) - log_p[q > 0])) <= 0.05
    assert q.sum() > 0.999


def same_bits(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.slow
def test_a_fit_that_was_stopped_and_read_again_ends_at_the_same_bits(tmp_path):
    data, rule, learner = Minibatches(prepare, 32, 16, seed=1), Epochs(8), game(entropy="mmd")
    first = begin(learner, small(), data, rule, seed=5)
    whole, _ = fit(learner, first, data, rule, seed=5)
    half, reason = fit(
        learner, first, data, rule, seed=5, chunk=1, callback=lambda place: "stop" if place.step > 8 else None
    )
    assert (reason, half.step) == ("stop", 9)
    save_place(tmp_path / "place", half)
    again, _ = fit(learner, load_place(tmp_path / "place", first), data, rule, seed=5, chunk=1)
    assert again.step == whole.step == 16
    assert same_bits(again.model, whole.model)
    assert same_bits(again.state, whole.state)


def test_a_fit_that_diverges_ends_with_a_sentence_and_a_finite_model():
    data, rule, learner = Minibatches(prepare, 32, 16, seed=1), Epochs(20), game(1e25, entropy="mmd")
    place, reason = fit(learner, begin(learner, small(), data, rule), data, rule)
    assert "not finite, the last at step" in reason
    assert "nats per point" in reason
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(place.model))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"entropy": "renyi"}, "entropy is 'renyi': it must be one of 'kernel', 'mmd'"),
        ({"draws": 1}, "draws is 1"),
        ({"regularization": 0.0}, "regularization is 0.0: it must be above 0"),
    ],
)
def test_bad_arguments_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        EnergyGame(**arguments)
