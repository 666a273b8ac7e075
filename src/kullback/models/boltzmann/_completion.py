"""The missing part of rows under a restricted Boltzmann machine: of low energy, or drawn."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch, Completion, Want, refuse_temperature
from kullback.models.boltzmann import _draws, _exact
from kullback.numerics import draw_binary, is_concrete

if TYPE_CHECKING:
    from kullback.models.boltzmann._machine import RestrictedBoltzmannMachine

#: States of unknowns that are gone through: 2 to this power.
_ENUMERATED = 20
#: Chains from which descents begin, and steps of a descent at most.
_STARTS, _STEPS = 16, 100


def complete(
    machine: "RestrictedBoltzmannMachine", batch: Batch, want: Want, temperature: float, key: Any
) -> Completion | None:
    """Return what `complete` returns, or None where states are few enough to be gone through."""
    if batch.observed is None:
        return _given_all(machine, batch, want, temperature, key)
    unknown = _most_missing(batch) + (len(machine.hidden_bias) if "h" in want else 0)
    if machine.log_scale is None and unknown <= _ENUMERATED:
        return None
    if temperature not in (0, 1):
        raise refuse_temperature(temperature, "a RestrictedBoltzmannMachine of this size", "what is missing")
    v, observed = machine.as_visible(batch.values), jnp.asarray(batch.observed)
    first, second = jax.random.split(jax.random.key(0) if key is None else key)
    if temperature == 1:
        x = _draws.clamped(machine, first, v, observed)
        return _report(machine, x, machine.draw_hidden(second, x), observed, want)
    keys = jax.random.split(first, _STARTS)
    starts = jax.lax.map(lambda key: _draws.clamped(machine, key, v, observed, 20), keys)
    starts = starts.at[0].set(_draws.mean_field(machine, v, observed))
    found = jax.lax.map(lambda x: _descend(machine, x, v, observed, want), starts)
    best = jnp.argmin(found[2], axis=0)
    x, h, _ = (jnp.take_along_axis(part, best.reshape(1, -1, *(1,) * (part.ndim - 2)), axis=0)[0] for part in found)
    return _report(machine, x, h, observed, want)


def _given_all(
    machine: "RestrictedBoltzmannMachine", batch: Batch, want: Want, temperature: float, key: Any
) -> Completion:
    """Return hidden units of rows that lack nothing: they are independent, at every temperature."""
    v = machine.as_visible(batch.values)
    if "h" not in want:
        return Completion(v, None, machine.energy(v), True)
    log_odds = machine.hidden_logits(v)
    h = (log_odds > 0).astype(v.dtype) if temperature == 0 else draw_binary(key, log_odds / temperature)
    return Completion(v if "v" in want else None, h, machine.energy(v, h), True)


def _energy(machine: "RestrictedBoltzmannMachine", v: Array, h: Array, observed: Array, want: Want) -> Array:
    """Return the energy of what is wanted: the rest is summed out."""
    if want == ("v",):
        return machine.energy(v)
    return machine.energy(v, h) if want == ("h", "v") else -_exact.log_sum_given(machine, v, observed, h)


def _report(machine: "RestrictedBoltzmannMachine", v: Array, h: Array, observed: Array, want: Want) -> Completion:
    energy = _energy(machine, v, h, observed, want)
    return Completion(v if "v" in want else None, h if "h" in want else None, energy, False)


def _descend(
    machine: "RestrictedBoltzmannMachine", start: Array, v: Array, observed: Array, want: Want
) -> tuple[Array, Array, Float[Array, " rows"]]:
    """Alternate: h given v, then v given h; what is wanted is put at its mode, what is summed out at its mean.

    The logarithm of a sum of exponentials is convex, and the mean is its slope: so no turn raises the energy.
    """

    def hidden(x: Array) -> Array:
        log_odds = machine.hidden_logits(x)
        return jax.nn.sigmoid(log_odds) if want == ("v",) else (log_odds > 0).astype(x.dtype)

    def turn(_: Array, x: Array) -> Array:
        location = machine.visible_location(hidden(x))
        if machine.log_scale is None:
            location = jax.nn.sigmoid(location) if want == ("h",) else (location > 0).astype(x.dtype)
        return jnp.where(observed, v, location)

    x = jax.lax.fori_loop(0, _STEPS, turn, start)
    h = (machine.hidden_logits(x) > 0).astype(x.dtype)
    return x, h, _energy(machine, x, h, observed, want)


def _most_missing(batch: Batch) -> int:
    """Return how many entries a row lacks at most, as far as it is known."""
    if is_concrete(batch.observed):
        return int(np.max(np.sum(~np.asarray(batch.observed), axis=-1), initial=0))
    return batch.values.shape[1] if batch.most_missing is None else batch.most_missing
