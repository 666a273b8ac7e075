"""How surprising each entry of a row is given the others: of one entry no constant is needed."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

if TYPE_CHECKING:
    from kullback.models.boltzmann._machine import RestrictedBoltzmannMachine

#: Points of a sum are so far apart, in units of σ, and it ends so far outside of all means.
_STEP, _BEYOND = 0.5, 8.0
#: Points of a sum at most, and how far apart they may be: then 1e-8 of an integral is lost.
_MOST, _WIDEST = 4096, 1.0


def surprises(machine: "RestrictedBoltzmannMachine", v: Float[Array, "rows visible"]) -> Float[Array, "rows visible"]:
    """Return −log p(v_i | the rest of the row) of every entry.

    A binary entry between 0 and 1 counts as the share of a 1. That of a Gaussian one is a mixture of Gaussians of its
    own σ, so that evenly spaced points give its integral; NaN where weights are so large that they would be too many.
    """
    log_odds = machine.hidden_logits(v)
    entry = _binary if machine.log_scale is None else _gaussian

    def column(number: Array) -> Float[Array, " rows"]:
        return entry(machine, v[:, number], log_odds, number)

    return jax.lax.map(column, jnp.arange(v.shape[1])).T


def _binary(
    machine: "RestrictedBoltzmannMachine", here: Float[Array, " rows"], log_odds: Array, number: Array
) -> Float[Array, " rows"]:
    row = jnp.asarray(machine.weights)[number]
    without = log_odds - here[:, None] * row
    gain = jnp.sum(jax.nn.softplus(without + row) - jax.nn.softplus(without), axis=1)
    odds = gain + jnp.asarray(machine.visible_bias)[number]
    return jax.nn.softplus(odds) - here * odds


def _gaussian(
    machine: "RestrictedBoltzmannMachine", here: Float[Array, " rows"], log_odds: Array, number: Array
) -> Float[Array, " rows"]:
    log_scale = jnp.asarray(machine.log_scale)[number]
    reach = jnp.asarray(machine.weights)[number] * jnp.exp(-log_scale)
    at = (here - jnp.asarray(machine.visible_bias)[number]) * jnp.exp(-log_scale)
    without = log_odds - at[:, None] * reach
    return log_scale + _log_integral(reach, without) - _log_mass(at, reach, without)


def _log_mass(at: Float[Array, "#rows"], reach: Array, without: Array) -> Float[Array, " rows"]:
    """Return −F of rows up to a constant, with the entry at these places, in units of its σ."""
    return -0.5 * jnp.square(at) + jnp.sum(jax.nn.softplus(without + at[:, None] * reach), axis=1)


def _log_integral(reach: Float[Array, " hidden"], without: Float[Array, "rows hidden"]) -> Float[Array, " rows"]:
    """Return log ∫ e^(−F) over the entry: means given what is hidden lie between the sums of reaches of one sign."""
    low = jnp.sum(jnp.minimum(reach, 0)) - _BEYOND
    high = jnp.sum(jnp.maximum(reach, 0)) + _BEYOND
    count = jnp.clip(jnp.ceil((high - low) / _STEP), 1, _MOST)
    step = (high - low) / count

    def turn(place: Array, total: Array) -> Array:
        return jnp.logaddexp(total, _log_mass((low + step * place)[None], reach, without))

    nothing = jnp.full(len(without), -np.inf, without.dtype)
    found = jax.lax.fori_loop(0, count.astype(int) + 1, turn, nothing)
    return jnp.where(step <= _WIDEST, found + jnp.log(step), jnp.nan)
