"""Sums over all states of the smaller layer: log Z, and log p of rows that lack entries."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

if TYPE_CHECKING:
    from kullback.models.boltzmann._machine import RestrictedBoltzmannMachine

#: Binary units whose states are gone through without being asked to, and at most.
ENUMERATED, MOST = 20, 24
#: Numbers of the other layer that are worked on at once.
_AT_ONCE = 2**20


def smaller_layer(machine: "RestrictedBoltzmannMachine") -> int:
    """Return how many units the smaller layer has, of those that are binary."""
    visible, hidden = np.shape(machine.weights)
    return min(visible, hidden) if machine.log_scale is None else hidden


def log_partition(machine: "RestrictedBoltzmannMachine") -> Float[Array, ""]:
    """Return log Z, in blocks of states of the smaller layer."""
    visible, hidden = np.shape(machine.weights)
    if machine.log_scale is None and visible < hidden:
        dtype = jnp.asarray(machine.visible_bias).dtype
        return over_states(visible, hidden, dtype, lambda v: -machine.energy(v))
    nothing = jnp.zeros((1, visible), jnp.asarray(machine.visible_bias).dtype)
    return log_sums(machine, nothing, jnp.zeros((1, visible), bool))[0]


def log_sums(
    machine: "RestrictedBoltzmannMachine", v: Float[Array, "rows visible"], observed: Bool[Array, "rows visible"]
) -> Float[Array, " rows"]:
    """Return log Σ_h ∫ e^(−E) over missing entries, for each row, by going through the states of h."""
    visible, hidden = np.shape(machine.weights)
    there, dtype = observed.astype(v.dtype), v.dtype
    bias = jnp.asarray(machine.visible_bias)

    def each(h: Float[Array, "states hidden"]) -> Float[Array, "states rows"]:
        shift = h @ jnp.asarray(machine.weights).T
        if machine.log_scale is None:
            seen, summed = (there * v) @ (bias + shift).T, jax.nn.softplus(bias + shift)
        else:
            scale = jnp.exp(machine.log_scale)
            from_bias = there * (v - bias) / scale
            seen = from_bias @ (shift / scale).T - 0.5 * jnp.sum(from_bias**2, axis=1)[:, None]
            summed = 0.5 * (shift / scale) ** 2 + 0.5 * np.log(2 * np.pi) + machine.log_scale
        return (seen + (1 - there) @ summed.T).T + (h @ machine.hidden_bias)[:, None]

    return over_states(hidden, visible + 2 * len(v), dtype, each)


def log_sum_given(
    machine: "RestrictedBoltzmannMachine",
    v: Float[Array, "rows visible"],
    observed: Bool[Array, "rows visible"],
    h: Float[Array, "rows hidden"],
) -> Float[Array, " rows"]:
    """Return log ∫ e^(−E(v, h)) over missing entries, for each row with its own h."""
    location = machine.visible_location(h)
    if machine.log_scale is None:
        each = jnp.where(observed, v * location, jax.nn.softplus(location))
    else:
        scaled = jnp.stack([v - machine.visible_bias, location - machine.visible_bias]) * jnp.exp(-machine.log_scale)
        summed = 0.5 * scaled[1] ** 2 + 0.5 * np.log(2 * np.pi) + machine.log_scale
        each = jnp.where(observed, scaled[0] * scaled[1] - 0.5 * scaled[0] ** 2, summed)
    return jnp.sum(each, axis=1) + h @ machine.hidden_bias


def over_states(
    units: int, width: int, dtype: Any, log_mass: Callable[[Float[Array, "states _"]], Float[Array, "states *rows"]]
) -> Float[Array, "*rows"]:
    """Return the logarithm of the sum of masses over all states of so many binary units, block after block."""
    if units > MOST:
        raise ValueError(
            f"the layer to be summed out has {units} binary units: up to {MOST} are gone through state by state, so "
            "ask for an estimate (estimate_log_likelihood, anneal_log_partition)."
        )
    block = min(2**units, max(1, 1 << (max(_AT_ONCE // width, 1).bit_length() - 1)))

    def turn(number: Array, total: Array) -> Array:
        found = log_mass(states(number * block + jnp.arange(block), units, dtype))
        return jnp.logaddexp(total, jax.nn.logsumexp(found, axis=0))

    rows = jax.eval_shape(lambda: log_mass(jnp.zeros((1, units), dtype)))
    nothing = jnp.full(rows.shape[1:], -jnp.inf, rows.dtype)
    return jax.lax.fori_loop(0, 2**units // block, turn, nothing)


def states(numbers: Array, units: int, dtype: Any) -> Float[Array, "states units"]:
    """Return the states with these numbers: their binary digits."""
    return ((numbers[:, None] >> jnp.arange(units)) & 1).astype(dtype)
