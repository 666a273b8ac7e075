"""What is missing or hidden in a machine of any size: by draws of the recognition network, and their weights."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.core import Batch, Completion, Want, keep_observed, refuse_temperature
from kullback.models.helmholtz._layers import Units, draw, log_prob, logits
from kullback.numerics import is_concrete

if TYPE_CHECKING:
    from kullback.models.helmholtz._machine import HelmholtzMachine

#: Draws of what is hidden, of which one is kept by its weight; candidates for missing entries.
_DRAWS, _CANDIDATES = 64, 16
#: How often missing entries are guessed from what is hidden, and that from them.
_ROUNDS = 3
#: Hidden units that are turned at most, one after the other, where each lowers the energy.
_TURNS = 200
#: States of hidden units and missing entries that are gone through: 2 to this power.
_ENUMERATED = 20
#: Numbers of visible units that are worked on at once.
_AT_ONCE = 2**22


def fill(
    machine: "HelmholtzMachine", v: Float[Array, "rows visible"], observed: Bool[Array, "rows visible"]
) -> Float[Array, "rows visible"]:
    """Return the rows with probabilities in place of missing entries: those of the model, then of what is hidden."""
    guess = machine.downward_means(jax.nn.sigmoid(jnp.asarray(machine.top)), len(machine.generation))
    filled = jnp.where(observed, v, guess)
    for _ in range(_ROUNDS):
        hidden = jax.nn.sigmoid(logits(machine.recognition[0], filled))
        filled = jnp.where(observed, v, machine.downward_means(hidden, 1))
    return filled


def log_weights(
    machine: "HelmholtzMachine", key: Array, v: Float[Array, "rows visible"], draws: int, observed: Any = None
) -> Float[Array, "rows draws"]:
    """Return the log weights of so many draws for each row, with the memory of a few of them."""
    rows, width = v.shape
    group = max(1, min(rows, _AT_ONCE // width))
    some = max(1, min(draws, _AT_ONCE // (group * width)))
    turns, blocks = -(-draws // some), -(-rows // group)
    places = jnp.minimum(jnp.arange(blocks * group), rows - 1).reshape(blocks, group)

    def one(number: Array) -> Array:
        here = places[number // turns]
        there = None if observed is None else jnp.asarray(observed)[here]
        return machine.recognize(jax.random.fold_in(key, number), v[here], some, there).log_weight

    found = jax.lax.map(one, jnp.arange(blocks * turns)).reshape(blocks, turns, group, some)
    return jnp.moveaxis(found, 1, 2).reshape(blocks * group, turns * some)[:rows, :draws]


def resample(machine: "HelmholtzMachine", key: Array, batch: Batch) -> tuple[Units, ...]:
    """Return hidden layers of each row given what is observed of it: one of many draws, chosen by its weight."""

    def one(row: tuple[Any, ...]) -> tuple[Units, ...]:
        key, v, observed = row
        first, second = jax.random.split(key)
        found = machine.recognize(first, v[None], _DRAWS, None if observed is None else observed[None])
        chosen = jax.random.categorical(second, found.log_weight[0])
        return tuple(layer[0, chosen] for layer in found.layers)

    v = jnp.asarray(batch.values, machine.top.dtype)
    observed = None if batch.observed is None else jnp.asarray(batch.observed)
    group = max(1, _AT_ONCE // (_DRAWS * v.shape[1]))
    found: tuple[Units, ...] = jax.lax.map(one, (jax.random.split(key, len(v)), v, observed), batch_size=group)
    return found


def expect(machine: "HelmholtzMachine", batch: Batch) -> Float[Array, "rows visible"]:
    """Return the rows with the means of missing entries given the others: weighted, over draws of what is hidden."""
    v = jnp.asarray(batch.values, machine.top.dtype)
    if batch.observed is None:
        return v

    def one(row: tuple[Any, ...]) -> Array:
        key, v, observed = row
        found = machine.recognize(key, v[None], _DRAWS, observed[None])
        return jnp.where(observed, v, found.weights[0] @ jax.nn.sigmoid(found.generation_logits[0][0]))

    keys, group = jax.random.split(jax.random.key(0), len(v)), max(1, _AT_ONCE // (_DRAWS * v.shape[1]))
    filled: Array = jax.lax.map(one, (keys, v, jnp.asarray(batch.observed)), batch_size=group)
    return filled


def surprises(machine: "HelmholtzMachine", key: Array, batch: Batch, draws: int) -> Float[Array, "rows visible"]:
    """Return log p(the rest of a row) − log p(the row) for each entry: the mean of 1 / p(entry | h) over p(h | v)."""

    def one(row: tuple[Any, ...]) -> Array:
        key, v, observed = row
        found = machine.recognize(key, v[None], draws, None if observed is None else observed[None])
        log_odds = found.generation_logits[0][0]
        each = jax.nn.softplus(log_odds) - v * log_odds  # −log p(entry | h), a row for each draw
        return jax.nn.logsumexp(each + jax.nn.log_softmax(found.log_weight[0])[:, None], axis=0)

    v = jnp.asarray(batch.values, machine.top.dtype)
    keys, group = jax.random.split(key, len(v)), max(1, _AT_ONCE // (draws * v.shape[1]))
    observed = None if batch.observed is None else jnp.asarray(batch.observed)
    found: Array = jax.lax.map(one, (keys, v, observed), batch_size=group)
    return found


def complete(machine: "HelmholtzMachine", batch: Batch, want: Want, temperature: float, key: Any) -> Completion | None:
    """Return what `complete` returns, or None where states are few enough to be gone through."""
    if sum(machine.sizes[1:]) + _most_missing(batch) <= _ENUMERATED:
        return None
    if temperature not in (0, 1):
        raise refuse_temperature(temperature, "a HelmholtzMachine of this size", "what is hidden or missing")
    first, second = jax.random.split(jax.random.key(0) if key is None else key)
    if want == ("v",):
        return _visible(machine, batch, temperature, first, second)
    hidden = jnp.concatenate(resample(machine, first, batch), axis=-1)
    if temperature == 0:
        hidden = _turn_units(machine, batch, hidden, "v" in want)
    if "v" not in want:
        return Completion(None, hidden, _energy(machine, batch, hidden, False), False)
    log_odds = logits(machine.generation[0], machine.split(hidden)[0])
    best = (log_odds > 0).astype(log_odds.dtype) if temperature == 0 else draw(second, log_odds)
    v = keep_observed(batch, best)
    return Completion(v, hidden, -machine.log_prob(v, hidden), False)


def _visible(machine: "HelmholtzMachine", batch: Batch, temperature: float, first: Array, second: Array) -> Completion:
    """Draw missing entries; at temperature 0 keep the likeliest of some, each at the modes of its hidden units."""
    count = _CANDIDATES if temperature == 0 else 1

    def one(number: Array) -> tuple[Array, Array]:
        hidden = resample(machine, jax.random.fold_in(first, number), batch)
        log_odds = logits(machine.generation[0], hidden[0])
        drawn = draw(jax.random.fold_in(second, number), log_odds)
        v = keep_observed(batch, (log_odds > 0).astype(drawn.dtype) if temperature == 0 else drawn)
        found = jax.nn.logsumexp(log_weights(machine, second, v, _DRAWS), axis=1) - np.log(_DRAWS)
        return v, -found

    v, energies = jax.lax.map(one, jnp.arange(count))
    best = jnp.argmin(energies, axis=0)
    chosen = jnp.take_along_axis(v, best[None, :, None], axis=0)[0]
    return Completion(chosen, None, jnp.take_along_axis(energies, best[None], axis=0)[0], False)


def _turn_units(machine: "HelmholtzMachine", batch: Batch, hidden: Array, wanted: bool) -> Array:
    """Turn the hidden unit that lowers the energy most, again and again, in each row."""
    count = hidden.shape[1]

    def one(row: tuple[Any, ...]) -> Array:
        v, observed, h = row
        alone = Batch(v[None], observed=None if observed is None else observed[None])

        def energies(states: Array) -> Array:
            return _energy(machine, alone, states, wanted)

        def look(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            turn, h, least, _ = carry
            found = energies(jnp.where(jnp.eye(count, dtype=bool), 1 - h, h))
            best = jnp.argmin(found)
            better = found[best] < least
            turned = h.at[best].set(1 - h[best])
            return turn + 1, jnp.where(better, turned, h), jnp.minimum(found[best], least), better

        start = jnp.asarray(0), h, energies(h[None])[0], jnp.asarray(True)
        return jax.lax.while_loop(lambda carry: carry[3] & (carry[0] < _TURNS), look, start)[1]

    v = jnp.asarray(batch.values, hidden.dtype)
    observed = None if batch.observed is None else jnp.asarray(batch.observed)
    return jax.lax.map(one, (v, observed, hidden))


def _energy(machine: "HelmholtzMachine", batch: Batch, hidden: Array, wanted: bool) -> Float[Array, " rows"]:
    """Return −log p(h, v): missing entries are at their modes where they are wanted, and summed out otherwise."""
    layers = machine.split(hidden)
    log_odds = logits(machine.generation[0], layers[0])
    v = jnp.asarray(batch.values, hidden.dtype)
    each = v * log_odds - jax.nn.softplus(log_odds)
    if batch.observed is not None:
        missing = -jax.nn.softplus(-jnp.abs(log_odds)) if wanted else jnp.zeros_like(each)
        each = jnp.where(jnp.asarray(batch.observed), each, missing)
    found = jnp.sum(each, axis=-1) + log_prob(layers[-1], jnp.asarray(machine.top))
    for weights, below, above in zip(machine.generation[1:], layers[:-1], layers[1:], strict=True):
        found = found + log_prob(below, logits(weights, above))
    return -found


def _most_missing(batch: Batch) -> int:
    """Return how many entries a row lacks at most, as far as it is known."""
    if batch.observed is None:
        return 0
    if is_concrete(batch.observed):
        return int(np.max(np.sum(~np.asarray(batch.observed), axis=-1), initial=0))
    return batch.values.shape[1] if batch.most_missing is None else batch.most_missing
