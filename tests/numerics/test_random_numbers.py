"""Random numbers in one pass are those of JAX, whose generator has known answers of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kullback.numerics import draw_binary, normal, uniform


@pytest.fixture(autouse=True)
def _the_bits_of_today():
    with jax.threefry_partitionable(True):
        yield


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 0), (100, 784)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("ours", "theirs"), [(uniform, jax.random.uniform), (normal, jax.random.normal)])
def test_numbers_are_those_of_jax_bit_for_bit(ours, theirs, dtype, shape):
    with jax.enable_x64(dtype == "float64"):
        for key in (jax.random.key(0), jax.random.split(jax.random.key(2**31 - 1))[1]):
            expected = theirs(key, shape, dtype)
            for found in (ours(key, shape, dtype), jax.jit(lambda key: ours(key, shape, dtype))(key)):
                assert found.dtype == dtype
                np.testing.assert_array_equal(found, expected)


def test_keys_may_be_many_or_of_another_kind():
    keys = jax.random.split(jax.random.key(3), 4)
    found = jax.vmap(lambda key: uniform(key, (5,), np.float32))(keys)
    np.testing.assert_array_equal(found, [jax.random.uniform(key, (5,), np.float32) for key in keys])
    other = jax.random.key(0, impl="rbg")
    np.testing.assert_array_equal(uniform(other, (5,), np.float32), jax.random.uniform(other, (5,), np.float32))


@pytest.mark.parametrize(("ours", "theirs"), [(uniform, jax.random.uniform), (normal, jax.random.normal)])
def test_types_that_are_not_there_or_are_others_are_those_of_jax(ours, theirs):
    """64 bits where JAX has 32 of them: the bits of the one would be read as the other, and all numbers were −1."""
    key = jax.random.key(0)
    with jax.enable_x64(False):
        np.testing.assert_array_equal(ours(key, (5,), np.float64), theirs(key, (5,), np.float32))
    found = ours(key, (5,), jnp.bfloat16)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(found, theirs(key, (5,), jnp.bfloat16))
    with pytest.raises(ValueError, match="must be a float"):
        ours(key, (5,), np.int32)


@pytest.mark.parametrize("ours", [uniform, normal])
@pytest.mark.parametrize("keys", [jax.random.split(jax.random.key(0)), jax.random.split(jax.random.PRNGKey(0))])
def test_several_keys_are_refused_where_one_belongs(ours, keys):
    """Two keys and two numbers: they would have been taken for the words of one key."""
    with pytest.raises(ValueError, match="accepts a single key"):
        ours(keys, (2,), np.float32)


def test_units_are_1_as_often_as_their_odds_say():
    log_odds = jnp.array([-np.inf, -2.0, 0.0, 1.0, np.inf])
    drawn = np.asarray(draw_binary(jax.random.key(5), jnp.broadcast_to(log_odds, (40_000, 5))))
    p = 1 / (1 + np.exp(-np.asarray(log_odds)))
    assert np.all(np.abs(drawn.mean(axis=0) - p) <= 4 * np.sqrt(p * (1 - p) / len(drawn)))
    assert set(np.unique(drawn)) == {0.0, 1.0}
