"""What a model says of each row of a long batch, with the memory of a short one."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from kullback.families import Batch
from kullback.families._batch import block_rows


def without_time(batch: Batch) -> Batch:
    """Return the rows as independent points."""
    return eqx.tree_at(lambda b: b.steps, batch, None, is_leaf=lambda leaf: leaf is None)


def each_row(function: Callable[[Batch, Array], Array], batch: Batch) -> Array:
    """Return what the function says of each row, block by block. It is given the rows, and the number of the block."""
    total, block = batch.values.shape[0], block_rows(batch)
    if total <= block:
        return function(batch, jnp.asarray(0))
    count = -(-total // block)
    # the last block begins early enough to be full
    starts = np.minimum(np.arange(count) * block, total - block)
    parts = jax.lax.map(lambda place: function(batch.rows(place[0], block), place[1]), (starts, np.arange(count)))
    if total == count * block:
        return parts.reshape(total, *parts.shape[2:])
    rest = total - (count - 1) * block
    return jnp.concatenate([parts[:-1].reshape(total - rest, *parts.shape[2:]), parts[-1, block - rest :]])
