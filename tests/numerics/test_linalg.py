"""Whitening against NumPy, and the flat form of a vector with its symmetric matrix."""

import os
import subprocess
import sys

import numpy as np
import pytest

from contracts.quick import quick
from kullback.numerics import apply, dimension, gram, log_determinant, outer, pack, pairs, unpack, whitener


def covariances(n, batch=(2, 3)):
    rng = np.random.default_rng(n)
    half = rng.standard_normal((*batch, n, n)) / np.sqrt(n) + 2 * np.eye(n)
    scale = 10.0 ** rng.uniform(-3, 3, (*batch, n))
    return half @ np.swapaxes(half, -1, -2) * scale[..., :, None] * scale[..., None, :]


@pytest.mark.parametrize("n", range(1, 11))
def test_whitener(n):
    """Both ways of working it out: entry by entry for small matrices, LAPACK for others."""
    covariance = covariances(n)
    w, log_det = quick(lambda c: (whitener(c), log_determinant(whitener(c))))(covariance)
    w = np.asarray(w)
    assert np.all(np.triu(w, 1) == 0)
    scale = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    unit = w * scale[..., None, :]
    expected = np.linalg.inv(np.linalg.cholesky(covariance / scale[..., :, None] / scale[..., None, :]))
    np.testing.assert_allclose(unit, expected, rtol=1e-10, atol=1e-11)
    whitened = w @ covariance @ np.swapaxes(w, -1, -2)
    np.testing.assert_allclose(whitened, np.broadcast_to(np.eye(n), whitened.shape), atol=1e-10)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(covariance)[1], rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("n", [3, 8])
def test_whitener_of_an_indefinite_matrix_is_nan(n):
    covariance = covariances(n)
    covariance[0, 1] = np.diag(np.r_[np.ones(n - 1), -1.0])
    bad = np.isnan(quick(whitener)(covariance)).any(axis=(-2, -1))
    assert bad[0, 1]
    assert bad.sum() == 1


def test_products():
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal((4, 3, 3)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(gram(w), np.swapaxes(w, -1, -2) @ w, rtol=1e-13)
    np.testing.assert_allclose(apply(w, v), (w @ v[..., None])[..., 0], rtol=1e-13)
    np.testing.assert_allclose(outer(v), v[:, :, None] * v[:, None, :])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_pack_and_unpack(n):
    rng = np.random.default_rng(n)
    vector, matrix = rng.standard_normal((3, n)), covariances(n, (3,))
    for factor in (1.0, 2.0):
        packed = np.asarray(pack(vector, matrix, factor))
        assert packed.shape == (3, n * (n + 3) // 2)
        assert dimension(packed.shape[-1]) == n
        back = unpack(packed, factor)
        np.testing.assert_allclose(back[0], vector)
        np.testing.assert_allclose(back[1], matrix, rtol=1e-15)


def test_order_of_the_flat_form():
    """The vector, the diagonal, then i < j in lexicographic order."""
    assert [(int(i), int(j)) for i, j in zip(*pairs(3), strict=True)] == [(0, 1), (0, 2), (1, 2)]
    matrix = np.array([[11.0, 12, 13], [12, 22, 23], [13, 23, 33]])
    assert pack(np.array([1.0, 2, 3]), matrix, 2.0).tolist() == [1, 2, 3, 11, 22, 33, 24, 26, 46]


def test_dimension():
    assert [dimension(n * (n + 3) // 2) for n in range(1, 200)] == list(range(1, 200))
    for size in (1, 3, 4, 6, 10):
        with pytest.raises(ValueError, match=f"{size} coordinates do not fit"):
            dimension(size)


SIX_FACTORS = """
import jax, jax.numpy as jnp

@jax.jit
def six(x):
    return [jnp.linalg.cholesky(x + i * jnp.eye(64)) for i in range(6)]

for _ in range(5):
    jax.block_until_ready(six(64 * jnp.eye(64) + jnp.ones((50, 64, 64))))
print("done")
"""


def test_several_batched_factorizations_in_one_function_finish():
    """jaxlib 0.10.1 and 0.10.2 wait for ever on 2 cores: the reason why jax is kept below 0.10."""
    try:
        plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
        run = subprocess.run(
            [sys.executable, "-c", SIX_FACTORS], timeout=300, capture_output=True, text=True, check=False, env=plain
        )
    except subprocess.TimeoutExpired:
        pytest.fail("six batched Cholesky factorizations in one compiled function did not finish in 300 s")
    assert run.stdout.strip() == "done", run.stderr
