"""Long batches block by block: what is said of each row, and sweeps in time, with little memory.

Memory that is new at every call costs as much as the computation: a page has to be fetched and cleared for it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch, block_rows, replace
from kullback.models.hidden_markov._chain import Chain, Observed
from kullback.models.hidden_markov._forward_backward import expected_transitions, filtered_at, is_reliable, likelihoods
from kullback.models.hidden_markov._sweeps import Ahead, Counted, Likelihoods, backward, forward, nothing_ahead
from kullback.models.hidden_markov._timeline import Timeline

Merged = TypeVar("Merged")


def without_time(batch: Batch) -> Batch:
    """Return the rows as independent points."""
    return replace(batch, time=None, distinct=None)


def forward_backward_blocks(
    chain: Chain,
    before: Float[Array, " k"],
    batch: Batch,
    line: Timeline,
    scores: Callable[[Batch, Timeline], Array],
    statistics: Callable[[Batch, Timeline, Counted, Array], Merged],
) -> tuple[Merged, Float[Array, "k k"], Float[Array, " k"], Array]:
    """Sweep forward and then backward over the blocks of a batch without time.

    `statistics` is given a block, its timeline, what was counted in it and its evidence.
    Returns the statistics of all blocks, the expected transitions, the filtered states of the last row that counts, and
    whether numbers were near enough to each other for that.
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
        found, peak = likelihoods(Observed(scores(rows, here), here.starts, alpha))
        past, alpha = forward(chain, found, here.starts, alpha)
        placed = (
            jax.lax.dynamic_update_slice_in_dim(whole, part, index * block, 0)
            for whole, part in zip(kept, (found.b, peak, past), strict=True)
        )
        return alpha, _Kept(*placed)

    none = jnp.zeros((count * block, *before.shape), before.dtype)
    _, kept = jax.lax.fori_loop(0, used, ahead, (before, _Kept(none, none[:, 0], none)))

    def back(index: Any, behind: Ahead) -> tuple[Counted, Merged]:
        rows, here = at(index)
        b, peak, past = _cut(kept, index * block, block)
        found = backward(chain, Likelihoods(b), here.starts, here.counted, past, behind)
        return found, statistics(rows, here, found, jnp.log(found.total) + peak)

    def further(index: Array, carry: tuple[Ahead, Array, Array, Any]) -> tuple[Ahead, Array, Array, Any]:
        behind, moves, sound, merged = carry
        found, gathered = back(used - 1 - index, behind)
        return found.ahead, moves + found.moves, sound & is_reliable(found.least), merged.merge(gathered)

    shapes = jax.eval_shape(lambda: back(0, nothing_ahead(before))[1])
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    start = (nothing_ahead(before), jnp.zeros_like(chain.transitions), jnp.asarray(True), nothing)
    behind, moves, sound, merged = jax.lax.fori_loop(0, used, further, start)
    last = line.last
    states = filtered_at(kept.past, Likelihoods(kept.b), jnp.maximum(last, 0))
    transitions = expected_transitions(chain, before, moves, behind)
    return merged, transitions, jnp.where(last >= 0, states, before), sound


class _Kept(NamedTuple):
    b: Float[Array, "rows k"]
    peak: Float[Array, " rows"]
    past: Float[Array, "rows k"]


def _cut(parts: tuple[Array, ...], start: Any, rows: int) -> tuple[Array, ...]:
    return tuple(jax.lax.dynamic_slice_in_dim(part, start, rows) for part in parts)


def _pad_rows(batch: Batch, line: Timeline, more: int) -> tuple[Batch, Timeline]:
    """Add rows without weight at the end."""
    if more == 0:
        return batch, line

    def longer(part: Any) -> Any:
        return None if part is None else jnp.concatenate([part, jnp.broadcast_to(part[:1], (more, *part.shape[1:]))])

    weight = jnp.pad(jnp.asarray(batch.weight), (0, more))
    parts = {name: longer(getattr(batch, name)) for name in ("values", "observed", "inputs")}
    batch = replace(batch, weight=weight, **parts)
    first, ends, counted = (
        jnp.pad(part, (0, more), constant_values=fill) for part, fill in zip(line, (True, False, 0), strict=True)
    )
    return batch, Timeline(first, ends, counted)
