"""Networks that learn side by side: how they begin, and windows of a stream for all of them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from kullback.core import Batch, TimeIndex
from kullback.families import ExponentialFamily
from kullback.learning import ProcessGradient
from kullback.models import SpikingMemory

#: Windows that go through one compiled function at a time.
AT_ONCE = 64
#: More numbers than this are not kept: traces have one for each weight of the memory, chain and replica.
_MOST_NUMBERS = 2**30


def check_memory(n_units: int, n_chains: int, n_init: int, embedding: int) -> None:
    """Raise where networks and their traces, for rows embedded in so many numbers, would be too many numbers."""
    numbers = n_init * (n_chains + 6) * (n_units + embedding + 1) * n_units
    if numbers > _MOST_NUMBERS:
        raise ValueError(
            f"n_units = {n_units}, n_chains = {n_chains} and n_init = {n_init} keep {numbers:.1e} numbers in memory, "
            f"more than {_MOST_NUMBERS:.1e}: take fewer."
        )


def first_replicas(
    learner: ProcessGradient[SpikingMemory],
    member: ExponentialFamily,
    units: int,
    count: int,
    seed: int,
    center: Any,
    scale: Any,
) -> tuple[Any, Any, Any]:
    """Return networks, states of their optimizers, and memories to begin with, with an axis of replicas.

    Rows are like the `member`; their embedding is standardized by `center` and `scale`.
    """

    def first(key: Any) -> tuple[Any, Any, Any]:
        one, other = jax.random.split(key)
        model = SpikingMemory.random(member, units, one, center=center, scale=scale, dtype=jnp.float32)
        return model, learner.init(model, lambda: None), learner.memory(model, lambda: None, other)

    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), 2**31 - 1), count)
    replicas = [jax.tree.map(jnp.asarray, first(key)) for key in keys]
    stacked: tuple[Any, Any, Any] = jax.tree.map(lambda *leaves: jnp.stack(leaves), *replicas)
    return stacked


def windows_of(points: np.ndarray, starts: np.ndarray, window: int) -> Batch:
    """Return rows as `AT_ONCE` windows, stacked; what is not there has no weight, and the value of the first row."""
    rows, total = len(points), AT_ONCE * window
    values = np.concatenate([points, np.repeat(points[:1], total - rows, axis=0)])
    begins, weight = np.zeros(total, bool), np.zeros(total, np.float32)
    begins[:rows], weight[:rows] = starts, 1
    batch = Batch(values.reshape(total, -1), weight, time=TimeIndex(begins))
    shape, variance = (AT_ONCE, window), np.zeros(AT_ONCE, np.float32)

    def stack(leaf: Any) -> np.ndarray:
        leaf = np.asarray(leaf)
        return variance if leaf.ndim == 0 else leaf.reshape(*shape, *leaf.shape[1:])

    stacked: Batch = jax.tree.map(stack, batch)
    return eqx.tree_at(lambda batch: batch.values, stacked, values.reshape(*shape, *points.shape[1:]))
