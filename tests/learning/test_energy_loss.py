"""The corners of one loss are the losses of chapter 2 of the machine learning notes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn.metrics import hinge_loss

from kullback.learning import energy_loss

RNG = np.random.default_rng(0)
ENERGIES, Y = RNG.normal(size=(50, 4)) * 3, RNG.integers(4, size=50)


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def test_without_a_margin_it_is_the_cross_entropy():
    expected = optax.softmax_cross_entropy_with_integer_labels(-ENERGIES, Y)
    np.testing.assert_allclose(energy_loss(ENERGIES, Y), expected, rtol=1e-12)


def test_at_temperature_0_it_is_the_perceptrons_and_the_margin_loss():
    true = ENERGIES[np.arange(50), Y]
    np.testing.assert_allclose(energy_loss(ENERGIES, Y, temperature=0.0), true - ENERGIES.min(axis=1), rtol=1e-12)
    margin = energy_loss(ENERGIES, Y, margin=1.0, temperature=0.0)  # that of Crammer and Singer
    np.testing.assert_allclose(np.mean(margin), hinge_loss(Y, -ENERGIES, labels=np.arange(4)), rtol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 2.0])
def test_a_temperature_adds_at_most_its_share_of_the_outcomes(margin):
    cold = energy_loss(ENERGIES, Y, margin, 0.0)
    for temperature in (1e-3, 0.1, 1.0):
        warm = energy_loss(ENERGIES, Y, margin, temperature)
        assert np.all(warm >= cold - 1e-12)
        assert np.all(warm <= cold + temperature * np.log(4) + 1e-12)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_its_gradient_is_the_truth_against_what_the_energies_say(temperature):
    gradient = jax.grad(lambda e: jnp.sum(energy_loss(e, Y, temperature=temperature)))(jnp.asarray(ENERGIES))
    beta = 1 / temperature
    p = np.exp(-beta * ENERGIES) / np.exp(-beta * ENERGIES).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(gradient, np.eye(4)[Y] - p, atol=1e-12)


def test_the_perceptron_makes_no_more_mistakes_than_its_bound():
    rng = np.random.default_rng(3)
    normal = rng.normal(size=5)
    normal /= np.linalg.norm(normal)
    x = rng.normal(size=(400, 5))
    x = x[np.abs(x @ normal) > 0.2]
    y, radius, gap = (x @ normal > 0).astype(int), np.linalg.norm(x, axis=1).max(), np.abs(x @ normal).min()

    def loss(w, row, label):
        return energy_loss(jnp.stack([jnp.zeros(()), -(row @ w)]), label, temperature=0.0)

    step = jax.jit(jax.grad(loss))
    w, mistakes = jnp.zeros(5), 0
    for _ in range(3):
        for row, label in zip(x, y, strict=True):
            if (row @ w > 0) != bool(label) or not np.any(w):
                # at w = 0 both outcomes tie: the step is that of the true one against the other
                w = w - (step(w, row, label) if np.any(w) else (1 - 2 * label) * row)
                mistakes += 1
    assert mistakes <= (radius / gap) ** 2
    assert np.all((x @ np.asarray(w) > 0) == y.astype(bool))


def test_a_temperature_below_0_is_refused():
    with pytest.raises(ValueError, match="temperature is -1"):
        energy_loss(ENERGIES, Y, temperature=-1)
