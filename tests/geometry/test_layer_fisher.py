"""The metric of layers: against dense solves in several ways, other coordinates of units, and Newton's steps."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from contracts.quick import quick
from kullback.geometry import damped_inverse, layer_moments, refresh_due, refresh_share, scale_by_layer_fisher

RNG = np.random.default_rng(0)
SAMPLES, INPUTS, UNITS = 40, 6, 3
H = (RNG.random((SAMPLES, INPUTS)) < 0.4).astype(float)
WEIGHT = RNG.dirichlet(np.ones(SAMPLES))
SLOPES = RNG.uniform(0.01, 0.25, (SAMPLES, UNITS))
ERRORS = RNG.normal(size=(SAMPLES, UNITS))


def with_one(inputs):
    return np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)


def conjugate_gradients(matrix, right):
    """Solve by conjugate gradients, a column after the other."""
    x, residual = np.zeros_like(right), right.copy()
    direction = residual.copy()
    for _ in range(2 * len(matrix)):
        size = np.sum(residual**2, axis=0)
        step = size / np.maximum(np.sum(direction * (matrix @ direction), axis=0), 1e-300)
        x, residual = x + step * direction, residual - step * (matrix @ direction)
        direction = residual + np.sum(residual**2, axis=0) / np.maximum(size, 1e-300) * direction
    return x


def test_all_ways_to_solve_have_the_same_damped_step():
    """A dense solve, conjugate gradients, and the space of the samples, where nothing is divided by σ′."""
    X, damping = with_one(H), 0.2
    penalty = damping * (np.arange(INPUTS + 1) < INPUTS)
    gradient = X.T @ ERRORS

    @quick
    def found(inputs, weight):
        moments = layer_moments(inputs, weight)
        return moments, damped_inverse(moments, damping)

    moments, inverse = (np.asarray(part) for part in found(jnp.asarray(H), jnp.asarray(WEIGHT)))
    np.testing.assert_allclose(moments, np.einsum("s,sa,sb->ab", WEIGHT, X, X), rtol=1e-12)
    step = inverse @ gradient
    matrix = moments + np.diag(penalty)
    np.testing.assert_allclose(step, np.linalg.solve(matrix, gradient), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(step, conjugate_gradients(matrix, gradient), rtol=1e-8, atol=1e-8)
    # Woodbury in the space of samples, about the centered inputs: the entry of the bias is not damped
    mean = WEIGHT @ H
    center = H - mean
    inner = center.T @ ERRORS
    upper = np.linalg.solve(damping * np.eye(SAMPLES) + WEIGHT[:, None] * (center @ center.T), ERRORS)
    weights = center.T @ upper
    np.testing.assert_allclose(damping * weights + center.T @ (WEIGHT[:, None] * (center @ weights)), inner, atol=1e-10)
    bias = ERRORS.sum(axis=0) - mean @ weights
    np.testing.assert_allclose(step, np.concatenate([weights, bias[None]]), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_32_bits_keep_the_digits_of_a_step_of_many_inputs():
    """300 inputs that go together: to invert the matrix itself, of condition 10⁵, costs 2.4e-4 of the step."""
    rng = np.random.default_rng(1)
    factors, loadings = rng.normal(size=(2000, 5)), rng.normal(size=(5, 300))
    X = with_one((factors @ loadings + 3 * rng.normal(size=300) > 0).astype(float))
    moments, gradient = X.T @ X / len(X), X[:32].T @ rng.normal(size=(32, UNITS))
    matrix = moments + 0.05 * np.diag(np.arange(301) < 300)
    assert np.linalg.cond(matrix) > 1e5
    expected = np.linalg.solve(matrix, gradient)
    inverse = np.asarray(quick(damped_inverse)(jnp.asarray(moments, jnp.float32), np.float32(0.05)), float)
    assert np.abs(inverse @ gradient - expected).max() < 5e-5 * np.abs(expected).max()


def given(inputs):
    return {"inputs": [jnp.asarray(inputs)], "slopes": [jnp.asarray(SLOPES)], "weight": jnp.asarray(WEIGHT)}


def test_without_damping_the_change_of_the_log_odds_is_the_same_for_units_of_plus_and_minus_1():
    transform = scale_by_layer_fisher(damping=0.0, floor=0.0)

    @quick
    def changes(inputs):
        X = jnp.concatenate([inputs, jnp.ones((SAMPLES, 1))], axis=1)
        gradient = X.T @ ERRORS
        step, _ = transform.update(gradient, transform.init(gradient), **given(inputs))
        return X @ step, X @ gradient

    (one, plain), (other, other_plain) = changes(jnp.asarray(H)), changes(jnp.asarray(2 * H - 1))
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)
    assert np.abs(other_plain - plain).max() > 0.1 * np.abs(plain).max()  # the gradient itself does depend on it


@pytest.mark.slow
def test_averages_and_inverses_are_refreshed_at_the_first_steps_and_then_once_in_a_while():
    """Against running averages in NumPy: the first count alike, later ones by the memory."""
    damping, floor, refresh, memory = 0.3, 0.02, 3, 0.6
    transform = scale_by_layer_fisher(damping, floor, refresh, memory)
    leaves = {"biases": np.zeros(2), "weights": np.zeros((INPUTS + 1, UNITS))}
    update = quick(lambda g, s, h, a, b, w: transform.update(g, s, inputs=[None, h], slopes=[a, b], weight=w))
    state = transform.init(leaves)
    moments, scales, biases, taken = 0.0, 0.0, 0.0, 0
    for turn in range(8):
        rng = np.random.default_rng(turn)
        inputs, slopes, weight = rng.random((9, INPUTS)), rng.random((9, UNITS)), rng.dirichlet(np.ones(9))
        even = rng.random((9, 2))
        gradient = {name: rng.normal(size=leaf.shape) for name, leaf in leaves.items()}
        if turn in (0, 1, 2, 3, 6):
            share = max(1 - memory, 1 / (1 + taken))
            X, taken = with_one(inputs), taken + 1
            moments = (1 - share) * moments + share * (X * weight[:, None]).T @ X
            scales = (1 - share) * scales + share * weight @ slopes
            biases = (1 - share) * biases + share * weight @ even
        found, state = update(gradient, state, inputs, even, slopes, weight)
        matrix = moments + damping * np.diag(np.arange(INPUTS + 1) < INPUTS)
        expected = np.linalg.solve(matrix, gradient["weights"]) / (scales + floor)
        np.testing.assert_allclose(found["weights"], expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found["biases"], gradient["biases"] / (biases + floor), rtol=1e-9)
    assert int(state.steps) == 8
    assert int(state.refreshes) == taken == 5
    due = np.asarray(jax.vmap(lambda step: refresh_due(step, 3))(jnp.arange(8)))
    assert np.flatnonzero(due).tolist() == [0, 1, 2, 3, 6]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dead_units_and_flat_slopes_have_finite_steps_of_their_type(dtype):
    transform = optax.chain(scale_by_layer_fisher(), optax.scale(0.1))
    inputs = np.concatenate([np.zeros((SAMPLES, 1)), np.ones((SAMPLES, 1)), H[:, :1], H[:, :1]], axis=1).astype(dtype)
    gradient = RNG.normal(size=(5, UNITS)).astype(dtype)

    @quick
    def update(gradient, inputs):
        beside = {"inputs": [inputs], "slopes": [jnp.zeros((SAMPLES, UNITS), dtype)], "weight": jnp.asarray(WEIGHT)}
        return transform.update(gradient, transform.init(gradient), gradient, **beside)[0]

    found = update(gradient, inputs)
    assert found.dtype == dtype
    assert np.all(np.isfinite(found))


def test_known_moments_have_one_inverse():
    X = with_one(H)
    moments = (X * WEIGHT[:, None]).T @ X
    gradient = RNG.normal(size=(INPUTS + 1, UNITS))
    transform = scale_by_layer_fisher(known=[moments])

    @quick
    def both(gradient, inputs):
        other, _ = scale_by_layer_fisher().update(gradient, scale_by_layer_fisher().init(gradient), **given(inputs))
        beside = {"inputs": [None], "slopes": [jnp.asarray(SLOPES)], "weight": jnp.asarray(WEIGHT)}
        return transform.update(gradient, transform.init(gradient), **beside)[0], other

    np.testing.assert_allclose(*both(gradient, jnp.asarray(H)), rtol=1e-10)


def test_what_is_not_given_is_asked_for():
    gradient = np.zeros((INPUTS + 1, UNITS))
    transform = scale_by_layer_fisher()
    with pytest.raises(ValueError, match="inputs, slopes or weight is None: pass those of each leaf"):
        transform.update(gradient, transform.init(gradient), gradient)
    with pytest.raises(ValueError, match="known has 2 entries: there are 1 leaves"):
        scale_by_layer_fisher(known=[None, None]).init(gradient)


def test_the_first_moments_count_alike():
    shares = [float(refresh_share(number, 0.75)) for number in range(6)]
    np.testing.assert_allclose(shares, [1, 1 / 2, 1 / 3, 1 / 4, 1 / 4, 1 / 4])
