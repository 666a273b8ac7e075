"""The most probable v where a label or a path is summed out: ascent by averages of natural coordinates.

With the responsibilities r_k of labels at the present v, log p(v′) is at least Σ r_k log p(v′ | k) plus what does not
depend on v′ (Jensen). For members of an exponential family that is, up to a constant, the log density of the member
with natural coordinates Σ r_k θ_k, whose mode given what is observed is known. So each step finds it, and log p never
falls.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from kullback.core import Batch

#: Steps at most; gains of less than so many units of rounding end the ascent.
_STEPS, _ROUNDING = 1000, 8


def blended_mode(family: Any, share: Float[Array, "rows k"], batch: Batch) -> Num[Array, "rows ..."]:
    """Return the rows v that make Σ_k share_k log p(v | k) largest, with what is observed of them as it is."""
    natural = jax.vmap(lambda member: member.natural)(family)
    # a member that has no part in a row may have coordinates that are infinite
    mixed = jnp.sum(jnp.where(share[..., None] > 0, share[..., None] * natural, 0), axis=1)

    def one(vector: Array, values: Array, observed: Array) -> Array:
        rows = Batch(values[None], observed=observed[None])
        mode: Array = family.at("natural", vector).conditional_mode(rows)[0]
        return mode.astype(values.dtype)

    return jax.vmap(one)(mixed, jnp.asarray(batch.values), jnp.asarray(batch.observed))


def climb(
    start: Num[Array, "rows ..."],
    energy: Callable[[Array], Float[Array, " rows"]],
    step: Callable[[Array], Array],
) -> tuple[Num[Array, "rows ..."], Float[Array, " rows"]]:
    """Take steps from `start` while they lower the energy; rows for which one does not stay where they are."""

    def one(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        v, least, _, number = state
        there = step(v)
        found = energy(there)
        better = found < least - _ROUNDING * float(np.finfo(least.dtype).eps) * jnp.abs(least)
        rows = better.reshape(-1, *(1,) * (v.ndim - 1))
        return jnp.where(rows, there, v), jnp.where(better, found, least), jnp.any(better), number + 1

    state = (start, energy(start), jnp.asarray(True), jnp.asarray(0))
    v, least, *_ = jax.lax.while_loop(lambda s: s[2] & (s[3] < _STEPS), one, state)
    return v, least


def best_of_starts(
    starts: Num[Array, "starts rows ..."],
    batch: Batch,
    family: Any,
    energy: Callable[[Array], Float[Array, " rows"]],
    share: Callable[[Array], Float[Array, "rows k"]],
) -> tuple[Num[Array, "rows ..."], Float[Array, " rows"]]:
    """Return the lowest energy that ascents from several starts reach; without a family, that of the starts."""

    def ascend(start: Array) -> tuple[Array, Array]:
        if family is None:
            return start, energy(start)
        return climb(start, energy, lambda v: blended_mode(family, share(v), batch))

    found, energies = jax.lax.map(ascend, starts)
    best = jnp.argmin(energies, axis=0)
    rows = jnp.arange(best.shape[0])
    return found[best, rows], energies[best, rows]
