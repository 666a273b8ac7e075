"""All states of discrete unknowns, up to 2^20 of them: the lowest energy, or an exact draw at any temperature.

The missing entries of a row, or of a sequence, are the digits of a number: states are counted, and no table of them is
held. The best is kept as they go by; with a Gumbel variable added to each −energy/T the best is a draw from
e^(−energy/T).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from kullback.core import Batch, Completion, replace
from kullback.numerics import is_concrete

#: So many states of a row, or of a sequence, are looked at.
MOST_STATES = 2**20
#: Numbers that are worked on at once, and rows that are looked at together.
_AT_ONCE, _BLOCK = 2**14, 256

Levels = tuple[tuple[float, ...], ...]


class Digits(NamedTuple):
    """The missing entries as digits: which one each is in its group, how many a group has, and what they stand for."""

    place: Int[Array, "rows n"]
    length: Int[Array, " rows"]
    group: Int[Array, " rows"]
    base: int
    most: int
    values: Float[Array, "n base"]
    sizes: Int[Array, " n"]

    def fill(self, batch: Batch, state: Int[Array, "#rows"]) -> tuple[Batch, Bool[Array, " rows"]]:
        """Return the rows in a state, or each in its own, and whether each group has such a state."""
        shape, rows = batch.values.shape, batch.values.shape[0]
        missing = ~_entries(jnp.asarray(batch.observed))
        digits = jnp.broadcast_to(state, (rows,))[:, None] // self.base ** jnp.arange(max(self.most, 1)) % self.base
        digit = jnp.take_along_axis(digits, jnp.clip(self.place, 0, digits.shape[1] - 1), axis=1)
        found = jnp.take_along_axis(self.values, digit.T, axis=1).T
        v = jnp.where(missing, found.astype(_float(batch.values)), _entries(jnp.asarray(batch.values)))
        fits = jnp.all(~missing | (digit < self.sizes), axis=1)
        fits = jax.ops.segment_min(fits.astype(int), self.group, rows)[self.group] > 0
        return batch.filled(v.reshape(shape)), fits & (state < self.base**self.length)


def digits_of(levels: Levels | None, batch: Batch, group: Int[Array, " rows"] | None = None) -> Digits | None:
    """Return the missing entries as digits; None where some have countless values, or are too many.

    Rows of one group, as of one sequence, are missing together. How many that are has to be known: to be concrete.
    """
    if levels is None or batch.observed is None:
        return None
    observed, rows = batch.observed, batch.values.shape[0]
    known = is_concrete(observed) and (group is None or is_concrete(group))
    if group is not None and not known:
        return None
    needed = np.flatnonzero(~_entries(np.asarray(observed)).all(axis=0)) if known else np.arange(len(levels))
    if any(not levels[column] for column in needed):
        return None
    missing = ~_entries(np.asarray(observed) if known else jnp.asarray(observed))
    if group is None:
        each: Any = jnp.arange(rows)
        place, count = jnp.cumsum(missing, axis=1) - 1, jnp.sum(missing, axis=1)
        most = int(np.max(np.sum(missing, axis=1), initial=0)) if known else batch.most_missing
        most = len(levels) if most is None else min(most, len(levels))
    else:
        each = np.asarray(group)
        totals = np.bincount(each, weights=missing.sum(axis=1), minlength=rows).astype(int)
        before = np.cumsum(totals) - totals
        place = np.cumsum(missing.ravel()).reshape(missing.shape) - 1 - before[each][:, None]
        count, most = totals[each], int(totals.max(initial=0))
    base = max((len(levels[column]) for column in needed), default=1)
    if most * math.log2(max(base, 1)) > math.log2(MOST_STATES):
        return None
    values = np.zeros((len(levels), base))
    for column in needed:
        values[column, : len(levels[column])] = levels[column]
    sizes = np.array([len(each_level) for each_level in levels])
    place, count, each = jnp.asarray(place), jnp.asarray(count), jnp.asarray(each)
    return Digits(place, count, each, base, most, jnp.asarray(values), jnp.asarray(sizes))


def best_state(
    energy: Callable[[Array], Float[Array, " rows"]],
    states: Int[Array, ""] | int,
    most: int,
    rows: int,
    temperature: float,
    key: Any,
    group: Int[Array, " rows"],
) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
    """Return the state of least energy of each row, or a draw from e^(−energy/T), and its energy.

    Energies of one group are the same, and its rows are in one state. There are `most` states at most.
    """
    chunk = min(1 << max(0, (_AT_ONCE // max(rows, 1)).bit_length() - 1), most)

    def look(turn: Array, best: tuple[Array, ...]) -> tuple[Array, ...]:
        numbers = turn * chunk + jnp.arange(chunk)
        energies = jax.vmap(energy)(numbers)
        energies = jnp.where((numbers < states)[:, None], energies, jnp.inf)
        scores = -energies
        if temperature != 0:
            noise = jax.random.gumbel(jax.random.fold_in(key, turn), energies.shape, energies.dtype)
            scores = scores / temperature + noise[:, group]
        first = jnp.argmax(scores, axis=0)[None]
        score, here = (jnp.take_along_axis(each, first, axis=0)[0] for each in (scores, energies))
        better = score > best[0]
        found = (score, here, numbers[first[0]])
        return tuple(jnp.where(better, new, old) for new, old in zip(found, best, strict=True))

    like = jax.eval_shape(energy, jnp.asarray(0))
    nothing = jnp.full((rows,), -jnp.inf, like.dtype), jnp.full((rows,), jnp.inf, like.dtype), jnp.zeros(rows, int)
    _, least, state = jax.lax.fori_loop(0, (states + chunk - 1) // chunk, look, nothing)
    return state, least


def enumerate_visible(
    model: Any,
    batch: Batch,
    temperature: float,
    key: Any,
    energy: Callable[[Batch], Float[Array, " rows"]] | None = None,
    group: Int[Array, " rows"] | None = None,
) -> Completion | None:
    """Return the missing entries of lowest free energy, or a draw of them; None where they are not few and discrete.

    The energy is that of rows in which nothing is missing: −log p(v), where it is not given.
    """
    digits = digits_of(model.visible_levels, batch, group)
    if digits is None:
        return None
    ask = energy or (lambda filled: -model.log_likelihood(filled))
    rows = batch.values.shape[0]
    if group is not None or rows <= _BLOCK:
        state, least = _best_fill(digits, batch, ask, temperature, key)
        return Completion(digits.fill(batch, state)[0].values, None, least, True)
    # rows that lack as many entries go together: a row has as many states as those of its block have at most
    order = jnp.argsort(digits.length)
    blocks = jnp.pad(order, (0, -rows % _BLOCK), mode="edge").reshape(-1, _BLOCK)

    def of_block(block: tuple[Array, Array]) -> tuple[Array, Array]:
        number, places = block
        own = digits._replace(place=digits.place[places], length=digits.length[places], group=jnp.arange(_BLOCK))
        again = None if temperature == 0 else jax.random.fold_in(key, number)
        return _best_fill(own, _take(batch, places), ask, temperature, again)

    found = jax.lax.map(of_block, (jnp.arange(len(blocks)), blocks))
    state, least = (jnp.zeros((rows,), part.dtype).at[order].set(part.ravel()[:rows]) for part in found)
    return Completion(digits.fill(batch, state)[0].values, None, least, True)


def _best_fill(
    digits: Digits, batch: Batch, energy: Callable[[Batch], Float[Array, " rows"]], temperature: float, key: Any
) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
    def of_state(state: Array) -> Array:
        filled, fits = digits.fill(batch, state[None])
        return jnp.where(fits, energy(filled), jnp.inf)

    states, rows = digits.base ** jnp.max(digits.length), batch.values.shape[0]
    return best_state(of_state, states, digits.base**digits.most, rows, temperature, key, digits.group)


def _take(batch: Batch, places: Int[Array, " some"]) -> Batch:
    """Return some of the rows."""
    parts = {"values": batch.values, "weight": batch.weight, "observed": batch.observed, "inputs": batch.inputs}
    return replace(batch, **{name: jnp.asarray(part)[places] for name, part in parts.items() if part is not None})


def _entries(array: Any) -> Any:
    """Return points as rows of entries."""
    return array.reshape(array.shape[0], -1)


def _float(values: Any) -> Any:
    return jnp.result_type(jnp.asarray(values).dtype, float)
