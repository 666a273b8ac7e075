"""Memories that go along rows without learning: how likely each row is, given those before it."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from kullback.runtime import filter_jit

#: So many rows are scored at a time: each takes the states and the noise of all chains.
MOST_ROWS = 2**14


class Carry(NamedTuple):
    """What the next rows need of those before: the memories of all chains, the last row, how many rows there were."""

    z: Any
    last: Any
    rows: Any


class Scores(NamedTuple):
    """log p of each row given those before it, the same without each column, the share of chains in which a unit fires.

    A row that begins a sequence is given, and has 0.
    """

    log_likelihood: Any
    without: Any
    states: Any
    carry: Carry


def blank_carry(model: Any, chains: int) -> Carry:
    """Return what comes before the first row, which begins a sequence."""
    dtype = jnp.asarray(model.memory_weights).dtype
    z = jnp.zeros((chains, model.units), dtype)
    return Carry(z, jnp.asarray(model.blank_row(), dtype), jnp.zeros((), jnp.int32))


@filter_jit
def score_rows(model: Any, carry: Carry, rows: Any, starts: Any, there: Any, key: Array) -> Scores:
    """Return what the rows that are there are worth; the noise of a row depends on its number only."""
    rows = jnp.asarray(rows, carry.last.dtype)
    chains, length = len(carry.z), len(rows)
    before = jnp.concatenate([carry.last[None], rows[:-1]])
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, carry.rows + jnp.arange(length))
    noise = jax.vmap(lambda key: model.noise(key, (chains,)))(keys)
    fresh = jax.vmap(lambda key: model.start(key, chains))(keys)
    begins = starts & there

    def step(z: Array, row: tuple[Array, ...]) -> tuple[Array, tuple[Array, Array]]:
        drive, noise, fresh, begins, there = row
        moved = model.step(model.driven_natural(z, drive), noise).astype(z.dtype)
        after = jnp.where(begins, fresh, jnp.where(there, moved, z))
        return after, (z, after)

    end, (z, after) = jax.lax.scan(step, carry.z, (model.drive(before), noise, fresh, begins, there))
    free = model.prediction_free(z, before[:, None])
    whole = model.log_prediction(z, before[:, None], rows[:, None])
    counted = there & ~starts

    def mix(each: Array) -> Array:
        return jnp.where(counted, jax.nn.logsumexp(each, axis=1) - jnp.log(chains), 0)

    without = jnp.zeros((length, 1), whole.dtype)
    if rows.ndim == 2:
        kept = ~jnp.eye(rows.shape[1], dtype=bool)

        def leave_out(observed: Array) -> Array:
            return mix(model.visible_kind.log_prob_at("free", free, rows[:, None], observed))

        without = jax.vmap(leave_out, out_axes=1)(kept)
    count = jnp.sum(there)
    last = jnp.where(count > 0, rows[jnp.maximum(count - 1, 0)], carry.last)
    return Scores(mix(whole), without, after.mean(axis=1), Carry(end, last, carry.rows + count))
