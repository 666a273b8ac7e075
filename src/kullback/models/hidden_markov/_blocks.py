"""Long batches block by block: what is said of each row, and sweeps in time, with little memory.

Memory that is new at every call costs as much as the computation: a page has to be fetched and cleared for it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch, block_rows, replace
from kullback.models.hidden_markov._chain import Chain
from kullback.models.hidden_markov._forward_backward import (
    Messages,
    backward,
    combine_messages,
    forward,
    relative_likelihoods,
    smallest_reliable,
)
from kullback.models.hidden_markov._timeline import Timeline

Merged = TypeVar("Merged")


def without_time(batch: Batch) -> Batch:
    """Return the rows as independent points."""
    return replace(batch, time=None)


def forward_backward_blocks(
    chain: Chain,
    before: Float[Array, " k"],
    batch: Batch,
    line: Timeline,
    scores: Callable[[Batch, Timeline], Array],
    statistics: Callable[[Batch, Timeline, Array, Array, Array], Merged],
) -> tuple[Merged, Float[Array, " k"], Array]:
    """Sweep forward and then backward over the blocks of a batch without time.

    `statistics` is given a block, its timeline, its weighted posterior, its evidence and its expected transitions.
    Returns the statistics of all blocks, the filtered states of the last row that counts, and whether numbers were near
    enough to each other for that.
    """
    total, block = batch.values.shape[0], block_rows(batch)
    count = -(-total // block)
    batch, line = _pad_rows(batch, line, count * block - total)
    seen = jnp.asarray(batch.weight) > 0
    used = (jnp.max(jnp.where(seen, jnp.arange(count * block), -1)) + block) // block

    def at(index: Any) -> tuple[Batch, Timeline]:
        return batch.rows(index * block, block), Timeline(*_cut(line, index * block, block))

    def ahead(index: Array, carry: tuple[Array, _Kept]) -> tuple[Array, _Kept]:
        alpha, kept = carry
        rows, here = at(index)
        b, peak = relative_likelihoods(scores(rows, here))
        incoming, alpha = forward(chain, b, here.starts, alpha)
        found = (b, peak, incoming)
        placed = (
            jax.lax.dynamic_update_slice_in_dim(whole, part, index * block, 0)
            for whole, part in zip(kept, found, strict=True)
        )
        return alpha, _Kept(*placed)

    none = jnp.zeros((count * block, *before.shape), before.dtype)
    alpha, kept = jax.lax.fori_loop(0, used, ahead, (before, _Kept(none, none[:, 0], none)))

    def back(index: Any, beta: Array, kept: _Kept) -> tuple[Array, Array, Merged]:
        rows, here = at(index)
        b, peak, incoming = _cut(kept, index * block, block)
        future, beta = backward(chain, b, here.starts, beta)
        found = combine_messages(chain, Messages(b, here.starts, here.counted, incoming, future))
        evidence = jnp.log(found.total) + peak
        sound = jnp.all(found.both > smallest_reliable(b))
        return beta, sound, statistics(rows, here, found.share, evidence, found.transitions)

    def further(index: Array, carry: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        beta, sound, merged = carry
        beta, here, found = back(used - 1 - index, beta, kept)
        return beta, sound & here, merged.merge(found)

    shapes = jax.eval_shape(lambda: back(0, before, kept)[2])
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    start = (jnp.ones_like(before), jnp.asarray(True), nothing)
    _, sound, merged = jax.lax.fori_loop(0, used, further, start)
    after = line.last + 1
    states = jnp.where(after < used * block, kept.incoming[jnp.minimum(after, count * block - 1)], alpha)
    return merged, jnp.where(after > 0, states, before), sound


class _Kept(NamedTuple):
    b: Float[Array, "rows k"]
    peak: Float[Array, " rows"]
    incoming: Float[Array, "rows k"]


def _cut(parts: tuple[Array, ...], start: Any, rows: int) -> tuple[Array, ...]:
    return tuple(jax.lax.dynamic_slice_in_dim(part, start, rows) for part in parts)


def _pad_rows(batch: Batch, line: Timeline, more: int) -> tuple[Batch, Timeline]:
    """Add rows without weight at the end."""
    if more == 0:
        return batch, line

    def longer(part: Any) -> Any:
        return None if part is None else jnp.concatenate([part, jnp.broadcast_to(part[:1], (more, *part.shape[1:]))])

    weight = jnp.pad(jnp.asarray(batch.weight), (0, more))
    batch = replace(batch, values=longer(batch.values), weight=weight, observed=longer(batch.observed))
    first, ends, counted = (
        jnp.pad(part, (0, more), constant_values=fill) for part, fill in zip(line, (True, False, 0), strict=True)
    )
    return batch, Timeline(first, ends, counted)
