"""The missing part of rows under a model without a closed form: by its energy alone."""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch, Completion, Model, Want
from kullback.models._descent import descend, draw
from kullback.models._enumeration import MOST_STATES, Digits, Levels, best_state, digits_of, enumerate_visible
from kullback.numerics import with_article

#: How many starts a descent has.
_STARTS = 8


def search(model: Model, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
    """Return what `complete` returns, by enumeration where unknowns are discrete and few, or by descent and chains.

    The model says by `hidden_levels` and `visible_levels` what its unknowns may be.
    """
    name, whole = with_article(type(model).__name__), batch.observed is None
    if batch.time is not None:
        raise ValueError(f"batch has a time index: {name} has no closed form, and is completed for independent rows.")
    hidden = model.hidden_levels
    if hidden == () and want == ("h",):
        raise ValueError(f"want is ('h',): nothing is hidden in {name}, so ask for 'v', what is missing of rows.")
    if want == ("v",) or hidden == ():
        return _visible(model, batch, temperature, key, name)
    if hidden is None:
        raise ValueError(
            f"want is {want}: {name} does not say what its hidden variables may be, so give it `hidden_levels`."
        )
    if not whole and model.visible_levels is None:
        raise _no_visible_levels(name)
    digits = digits_of(model.visible_levels, batch)
    if all(hidden) and (whole or digits is not None):
        return _hidden_states(model, batch, want, temperature, key, hidden, digits)
    if want == ("h",) and not whole:
        raise ValueError(
            f"want is ('h',): missing entries are summed out where they and h are discrete and few, and in {name} they "
            "are not, so give all entries of v, or want both."
        )
    if any(hidden) or (not whole and any(model.visible_levels or ())):
        raise ValueError(
            f"want is {want}: unknowns are found together where all are discrete, up to 2^20 states, or all real "
            f"numbers, and in {name} they are not, so give more entries of v."
        )
    return _real(model, batch, want, temperature, key, len(hidden))


def _no_visible_levels(name: str) -> ValueError:
    return ValueError(f"rows lack entries, and {name} does not say what these may be: give it `visible_levels`.")


def _visible(model: Model, batch: Batch, temperature: float, key: Any, name: str) -> Completion:
    """Complete v with the free energy of the model, which sums h out."""

    def energy(filled: Batch) -> Array:
        return _energies(model, filled)

    if batch.observed is None:
        return Completion(batch.values, None, energy(batch), True)
    found = enumerate_visible(model, batch, temperature, key, energy)
    if found is not None:
        return found
    if temperature == 1:
        v = model.impute(batch, key)
        return Completion(v, None, energy(batch.filled(v)), False)
    if model.visible_levels is None:
        raise _no_visible_levels(name)
    if any(model.visible_levels):
        raise ValueError(f"what is missing of a row has more than 2^20 states in {name}: give more of its entries.")
    return _real(model, batch, ("v",), temperature, key, 0)


def _hidden_states(
    model: Model, batch: Batch, want: Want, temperature: float, key: Any, hidden: Levels, digits: Digits | None
) -> Completion:
    """Look at all states of h, and of the missing entries: with them, or summed over them."""
    count, rows = math.prod(map(len, hidden)), batch.values.shape[0]
    inner = 1 if digits is None else digits.base**digits.most
    if count * inner > MOST_STATES:
        raise ValueError(
            f"h has {count} states and the missing entries of a row {inner}: all of them are looked at, up to 2^20."
        )
    states = jnp.asarray(np.array(list(itertools.product(*hidden))), _dtype(batch))

    def of_pair(state: Array, missing: Array) -> Array:
        filled, fits = (batch, jnp.ones(rows, bool)) if digits is None else digits.fill(batch, missing[None])
        return jnp.where(fits, _energies(model, filled, states[state]), jnp.inf)

    group = jnp.arange(rows)
    if want == ("h",):

        def summed(state: Array) -> Array:
            each = jax.lax.map(lambda missing: of_pair(state, missing), jnp.arange(inner))
            return -jax.nn.logsumexp(-each, axis=0)

        state, least = best_state(summed, count, count, rows, temperature, key, group)
        return Completion(None, states[state], least, True)
    every = count * inner
    pair, least = best_state(lambda s: of_pair(s % count, s // count), every, every, rows, temperature, key, group)
    v = batch.values if digits is None else digits.fill(batch, pair // count)[0].values
    return Completion(v, states[pair % count], least, True)


def _real(model: Model, batch: Batch, want: Want, temperature: float, key: Any, width: int) -> Completion:
    """Find unknown numbers, `width` of them hidden, by descent, or draw them by a chain that begins where it ends."""
    values = jnp.asarray(batch.values, _dtype(batch))
    observed = jnp.ones(values.shape, bool) if batch.observed is None else jnp.asarray(batch.observed)
    first, second = jax.random.split(jax.random.key(0))  # starts are the same for all draws: one descent serves them
    seen = jnp.asarray(model.sample(first, (_STARTS,)), values.dtype).reshape(_STARTS, -1)
    guess = jax.random.normal(second, (_STARTS, width), values.dtype).at[0].set(0)
    starts = jnp.concatenate([guess, seen], axis=1)

    def row(v: Array, there: Array, key: Array, inputs: Any) -> tuple[Array, Array, Array]:
        def pair(x: Array) -> tuple[Array, Array]:
            return jnp.where(there, v, x[width:].reshape(v.shape)), x[:width]

        def energy(x: Array) -> Float[Array, ""]:
            point, h = pair(x)
            found = model.energy(point, h if width else None, inputs)
            return found.astype(x.dtype)

        x, least = descend(energy, starts)
        if temperature != 0:
            x, least = draw(energy, x, temperature, key)
        return *pair(x), least

    keys = jax.random.split(first if key is None else key, values.shape[0])
    v, h, energies = jax.vmap(row)(values, observed, keys, batch.inputs)
    return Completion(v if "v" in want else None, h if "h" in want else None, energies, False)


def _energies(model: Model, batch: Batch, h: Any = None) -> Float[Array, " rows"]:
    """Return the energy of each row, all with the same h, or with h summed out."""
    return jax.vmap(lambda v, inputs: model.energy(v, h, inputs))(jnp.asarray(batch.values), batch.inputs)


def _dtype(batch: Batch) -> Any:
    return jnp.result_type(jnp.asarray(batch.values).dtype, float)
