"""How the rows of a batch belong to sequences, as a hidden Markov model sees it."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.core import Batch, TimeIndex


class Timeline(NamedTuple):
    """Which rows begin a sequence, which end one, and with what weight each counts."""

    starts: Bool[Array, " rows"]
    ends: Bool[Array, " rows"]
    counted: Float[Array, " rows"]

    @property
    def last(self) -> Int[Array, ""]:
        """The last row that counts, or −1."""
        return jnp.max(jnp.where(self.counted > 0, jnp.arange(self.counted.shape[0]), -1))


def timeline(batch: Batch, anew: bool, like: Array) -> Timeline:
    """Read it off the batch. With `anew` the first row begins a sequence whatever its mark says."""
    weight = jnp.asarray(batch.weight)
    first = sequence_starts(batch.time, weight, anew)
    ends = jnp.concatenate([first[1:], jnp.ones(1, bool)]) & (weight > 0)
    if batch.time is not None:
        # after a row ahead more may come, unless another sequence does
        known = jnp.concatenate([(weight > 0)[1:], jnp.zeros(1, bool)])
        ends = ends & (~jnp.asarray(batch.time.lookahead) | known)
    return Timeline(first, ends, jnp.asarray(batch.counted, like.dtype))


def sequence_starts(time: TimeIndex | None, weight: Float[Array, " rows"], anew: bool) -> Bool[Array, " rows"]:
    """Return which rows begin a sequence: also those without weight, and what comes after them."""
    if time is None:
        return jnp.ones(weight.shape, bool)
    padded = weight <= 0
    after = jnp.concatenate([jnp.full(1, anew), padded[:-1]])
    return jnp.asarray(time.starts) | padded | after
