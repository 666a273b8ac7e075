"""Laws of the blocks that networks are built from, chapter 3 of the machine learning notes; equinox has the blocks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def test_layer_norm_forgets_how_far_a_point_is_from_the_origin():
    """(0.9, 0) and (2, 0), which a circle separates, both become (1, −1)."""
    norm = eqx.nn.LayerNorm(2, eps=0.0)
    for x in ([0.9, 0.0], [2.0, 0.0]):
        np.testing.assert_allclose(norm(jnp.asarray(x)), [1, -1], rtol=1e-12)


def test_a_convolution_shifts_with_its_input():
    convolution = eqx.nn.Conv1d(3, 5, kernel_size=3, padding="SAME", padding_mode="CIRCULAR", key=jax.random.key(0))
    x = jnp.asarray(RNG.normal(size=(3, 12)))
    np.testing.assert_allclose(convolution(jnp.roll(x, 4, axis=1)), jnp.roll(convolution(x), 4, axis=1), rtol=1e-10)


def test_attention_permutes_with_its_input_and_a_causal_one_does_not_look_ahead():
    attention = eqx.nn.MultiheadAttention(num_heads=2, query_size=6, key=jax.random.key(0))
    x, order = jnp.asarray(RNG.normal(size=(7, 6))), RNG.permutation(7)
    np.testing.assert_allclose(attention(x[order], x[order], x[order]), attention(x, x, x)[order], rtol=1e-10)

    causal = jnp.tril(jnp.ones((7, 7), bool))
    jacobian = np.asarray(jax.jacobian(lambda z: attention(z, z, z, mask=causal))(x))
    reach = np.abs(jacobian).sum(axis=(1, 3))  # of output i on input j
    assert np.all(reach[np.triu_indices(7, 1)] == 0)
    assert np.all(reach[np.tril_indices(7)] > 0)


def test_rotary_products_depend_on_the_distance_of_positions_only():
    rotary = eqx.nn.RotaryPositionalEmbedding(embedding_size=8)
    q, k = RNG.normal(size=(2, 8))
    queries, keys = (np.asarray(rotary(jnp.broadcast_to(jnp.asarray(each), (10, 8)))) for each in (q, k))
    products = queries @ keys.T
    for distance in range(-9, 10):
        diagonal = np.diagonal(products, distance)
        np.testing.assert_allclose(diagonal, diagonal[0], rtol=1e-6)  # its tables are of 32 bits
    assert np.ptp(products[0]) > 0.1


def test_whitened_inputs_make_the_hessian_of_least_squares_the_identity():
    x = RNG.normal(size=(500, 3)) @ RNG.normal(size=(3, 3)) + [5, -3, 1]
    y = RNG.normal(size=500)

    def loss(parameters, x):
        return 0.5 * jnp.mean((x @ parameters[:3] + parameters[3] - y) ** 2)

    centered = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered / len(x))
    white = centered @ (vectors / np.sqrt(values)) @ vectors.T
    hessian = jax.hessian(loss)
    assert np.linalg.cond(hessian(jnp.zeros(4), jnp.asarray(x))) > 10
    np.testing.assert_allclose(hessian(jnp.zeros(4), jnp.asarray(white)), np.eye(4), atol=1e-12)


def test_sinusoidal_positions_turn_by_a_rotation_that_does_not_depend_on_the_place():
    """(3.30), mended: columns 2k and 2k + 1 of position i have sin and cos of i·L^(−2k/d)."""
    d, base = 6, 10_000.0
    angle = base ** (-np.arange(0, d, 2) / d)
    i = np.arange(20)[:, None] * angle
    table = np.stack([np.sin(i), np.cos(i)], axis=-1)  # (position, pair, 2)
    for shift in (1, 5):
        turn = np.stack(
            [
                np.stack([np.cos(shift * angle), np.sin(shift * angle)], -1),
                np.stack([-np.sin(shift * angle), np.cos(shift * angle)], -1),
            ],
            -2,
        )
        np.testing.assert_allclose(np.einsum("kij,pkj->pki", turn, table[:-shift]), table[shift:], atol=1e-12)


def test_the_gate_of_equinox_is_that_of_the_notes_where_its_matrix_is_diagonal():
    """equinox applies the reset gate after U_h, the notes before it: the same for a diagonal U_h."""
    cell = eqx.nn.GRUCell(3, 4, key=jax.random.key(0))
    diagonal = jnp.asarray(np.diag(RNG.normal(size=4)))
    cell = eqx.tree_at(
        lambda c: (c.weight_hh, c.bias_n), cell, (cell.weight_hh.at[8:].set(diagonal), jnp.zeros_like(cell.bias_n))
    )
    x, h = RNG.normal(size=3), RNG.normal(size=4)
    w_r, w_u, w_h = np.split(np.asarray(cell.weight_ih), 3)
    u_r, u_u, u_h = np.split(np.asarray(cell.weight_hh), 3)
    b_r, b_u, b_h = np.split(np.asarray(cell.bias), 3)

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    reset, update = sigmoid(w_r @ x + u_r @ h + b_r), sigmoid(w_u @ x + u_u @ h + b_u)
    candidate = np.tanh(w_h @ x + u_h @ (reset * h) + b_h)
    np.testing.assert_allclose(cell(x, h), update * h + (1 - update) * candidate, rtol=1e-10)
