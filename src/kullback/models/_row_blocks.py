"""What a model says of each row of a long batch, with the memory of a short one."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
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

    def one(index: Array, found: Array) -> Array:
        # the last block begins early enough to be full
        start = jnp.minimum(index * block, total - block)
        return jax.lax.dynamic_update_slice_in_dim(found, function(batch.rows(start, block), index), start, 0)

    shape = jax.eval_shape(lambda rows: function(rows.rows(0, block), jnp.asarray(0)), batch)
    return jax.lax.fori_loop(0, -(-total // block), one, jnp.zeros((total, *shape.shape[1:]), shape.dtype))
