"""What drawing takes: a random key, and the shape of what is drawn."""

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

#: A key of JAX, or the whole number that one is made from.
Key: TypeAlias = Array | int
#: How many draws: a number, or several, one for each axis.
Shape: TypeAlias = int | Sequence[int]


def as_key(key: Any) -> Array:
    """Return a random key: one of JAX as it is, of a whole number the key that `jax.random.key` makes of it.

    >>> as_key(3) == jax.random.key(3)
    Array(True, dtype=bool)
    """
    if isinstance(key, jax.Array):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) or key.dtype == np.uint32:
            return key
        if jnp.issubdtype(key.dtype, jnp.integer) and key.ndim == 0:
            return jax.random.key(key)
    elif isinstance(key, np.ndarray) and key.dtype == np.uint32 and key.ndim:
        return jnp.asarray(key)
    elif not isinstance(key, (bool, np.bool_, np.ndarray)):
        try:
            return jax.random.key(operator.index(key) % 2**32)
        except TypeError:
            pass
    raise ValueError(f"key is {key!r}: it must be a whole number such as 0, or a key such as jax.random.key(0).")


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return the shape of what is drawn as a tuple; a number is that of one axis.

    >>> as_shape(3), as_shape([2, 3])
    ((3,), (2, 3))
    """
    try:
        axes = tuple(operator.index(n) for n in (shape if np.iterable(shape) else (shape,)))
    except TypeError:
        axes = (-1,)
    if any(n < 0 for n in axes):
        raise ValueError(f"shape is {shape!r}: it must be a whole number, or a tuple of them, none negative.")
    return axes
