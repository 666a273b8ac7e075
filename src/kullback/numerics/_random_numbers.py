"""Random numbers in one pass: the bits of `jax.random`, in a loop that what is done with them is part of."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

#: Threefry-2x32 (Salmon and others, 2011): how far words are turned in each round, and what makes the third key.
_TURNS = (13, 15, 26, 6), (17, 29, 16, 24)
_ROUNDS, _PARITY = 5, 0x1BD11BDA


def uniform(key: Array, shape: tuple[int, ...], dtype: Any) -> Float[Array, "..."]:
    """Return what `jax.random.uniform` returns, for fewer than 2³² numbers and keys of its usual kind.

    JAX goes over all numbers once for each four rounds, to be quick to compile: that takes three times as long.

    >>> bool(uniform(jax.random.key(1), (), np.float32) == jax.random.uniform(jax.random.key(1), (), np.float32))
    True
    """
    count, dtype = math.prod(shape), jax.dtypes.canonicalize_dtype(dtype)  # 64 bits are 32 where JAX has no more
    if count >= 2**32 or not _is_usual(key, dtype):
        return jax.random.uniform(key, shape, dtype)
    first, second = _threefry(jax.random.key_data(key), jax.lax.iota(np.uint32, count))
    if dtype == np.float64:
        bits = (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)
        mantissa = (bits >> np.uint64(12)) | np.uint64(0x3FF0 << 48)
    else:
        mantissa = ((first ^ second) >> np.uint32(9)) | np.uint32(0x7F << 23)
    return (jax.lax.bitcast_convert_type(mantissa, dtype) - 1).reshape(shape)


def normal(key: Array, shape: tuple[int, ...], dtype: Any) -> Float[Array, "..."]:
    """Return what `jax.random.normal` returns, as `uniform` does.

    >>> bool(normal(jax.random.key(1), (), np.float32) == jax.random.normal(jax.random.key(1), (), np.float32))
    True
    """
    dtype = jax.dtypes.canonicalize_dtype(dtype)
    if not _is_usual(key, dtype):
        return jax.random.normal(key, shape, dtype)
    least = np.nextafter(np.array(-1, dtype), np.array(0, dtype))
    between = jnp.maximum(uniform(key, shape, dtype) * (1 - least) + least, least)
    return jax.lax.erf_inv(between) * np.array(np.sqrt(2), dtype)


def draw_binary(key: Array, log_odds: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Draw 0 or 1 with these log odds of 1."""
    return (uniform(key, log_odds.shape, log_odds.dtype) < jax.nn.sigmoid(log_odds)).astype(log_odds.dtype)


def _is_usual(key: Array, dtype: np.dtype) -> bool:
    """Whether this is one key of threefry, and numbers have 32 or 64 bits: of anything else JAX knows what to say."""
    alone = jax.random.key_impl(key) == "threefry2x32" and jax.random.key_data(key).shape == (2,)
    return alone and dtype in (np.float32, np.float64)


def _threefry(key: Array, count: Array) -> tuple[Array, Array]:
    """Return two words for each count, which is the second word that goes in; the first is 0."""
    keys = key[0], key[1], key[0] ^ key[1] ^ np.uint32(_PARITY)
    one, other = jnp.broadcast_to(keys[0], count.shape), count + keys[1]
    for number in range(1, _ROUNDS + 1):
        for turn in _TURNS[(number - 1) % 2]:
            one = one + other
            other = one ^ ((other << np.uint32(turn)) | (other >> np.uint32(32 - turn)))
        one, other = one + keys[number % 3], other + keys[(number + 1) % 3] + np.uint32(number)
    return one, other
