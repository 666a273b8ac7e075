"""Draws of a restricted Boltzmann machine: exact ones where it is small, otherwise by chains."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.core import Batch
from kullback.models.boltzmann import _exact, _path
from kullback.models.kernels import gibbs, parallel_tempering

if TYPE_CHECKING:
    from kullback.models.boltzmann._machine import RestrictedBoltzmannMachine

#: Units of a layer whose states are held in a table, to draw from it.
TABLE = 14
#: Chains with a ladder of temperatures, steps before the first draw, and between draws.
_CHAINS, _TEMPERATURES, _WARMUP, _BETWEEN = 64, 8, 200, 20
#: Steps of chains with observed entries, and rounds of mean field before them.
CLAMPED, ROUNDS = 100, 5


def sample(machine: "RestrictedBoltzmannMachine", key: Array, shape: tuple[int, ...]) -> Float[Array, "... visible"]:
    """Draw visible points."""
    count, visible = math.prod(shape), len(machine.visible_bias)
    draw = _from_table if _exact.smaller_layer(machine) <= TABLE else _tempered
    return draw(machine, key, max(count, 1))[:count].reshape(*shape, visible)


def _from_table(machine: "RestrictedBoltzmannMachine", key: Array, count: int) -> Float[Array, "count visible"]:
    """Draw exactly: a state of the smaller layer from the table of all of them, then the other layer."""
    first, second = jax.random.split(key)
    visible, hidden = np.shape(machine.weights)
    dtype = jnp.asarray(machine.weights).dtype
    if machine.log_scale is None and visible < hidden:
        v = _exact.states(jnp.arange(2**visible), visible, dtype)
        return v[jax.random.categorical(first, -machine.energy(v), shape=(count,))]
    h = _exact.states(jnp.arange(2**hidden), hidden, dtype)
    shift = h @ jnp.asarray(machine.weights).T
    if machine.log_scale is None:
        each = jax.nn.softplus(machine.visible_bias + shift)
    else:
        each = 0.5 * (shift * jnp.exp(-machine.log_scale)) ** 2
    log_mass = jnp.sum(each, axis=1) + h @ machine.hidden_bias
    return machine.draw_visible(second, h[jax.random.categorical(first, log_mass, shape=(count,))])


def _tempered(machine: "RestrictedBoltzmannMachine", key: Array, count: int) -> Float[Array, "count visible"]:
    """Draw by chains with parallel tempering, of which those at β = 1 are looked at now and then."""
    pilot, first, second = jax.random.split(key, 3)
    path = _path.Path(machine, _path.own_base(machine, pilot))
    betas = _path.ladder(_TEMPERATURES, jnp.asarray(machine.weights).dtype)
    chains = min(_CHAINS, count)
    start = path.start(first, (_TEMPERATURES, chains))

    def look(x: Array, number: Array) -> tuple[Array, Array]:
        steps = jnp.where(number == 0, _WARMUP, _BETWEEN)
        here = jax.random.fold_in(second, number)
        x = parallel_tempering(path.log_density, path.kernel, betas, x, here, steps).x
        return x, x[-1]

    _, found = jax.lax.scan(look, start, jnp.arange(-(-count // chains)))
    return found.reshape(-1, found.shape[-1])


def mean_field(
    machine: "RestrictedBoltzmannMachine", v: Float[Array, "rows visible"], observed: Bool[Array, "rows visible"]
) -> Float[Array, "rows visible"]:
    """Return rows with means in place of missing entries: those given the means of hidden units, and so on."""
    even = jnp.full(len(machine.hidden_bias), 0.5, v.dtype)
    begin = jnp.where(observed, v, machine.visible_mean(even))

    def turn(_: Array, filled: Array) -> Array:
        means = machine.visible_mean(jax.nn.sigmoid(machine.hidden_logits(filled)))
        return jnp.where(observed, v, means)

    return jax.lax.fori_loop(0, ROUNDS, turn, begin)


def clamped(
    machine: "RestrictedBoltzmannMachine",
    key: Array,
    v: Float[Array, "rows visible"],
    observed: Bool[Array, "rows visible"],
    steps: int = CLAMPED,
) -> Float[Array, "rows visible"]:
    """Draw missing entries by chains in which observed entries stay as they are."""

    def block(key: Array, x: Array) -> Array:
        return jnp.where(observed, v, machine.sweep(key, x))

    return gibbs([block], mean_field(machine, v, observed), key, steps)


def hidden_means(machine: "RestrictedBoltzmannMachine", key: Array, batch: Batch) -> Float[Array, "rows hidden"]:
    """Return the probabilities of hidden units given what is observed: means of p(h | v) along chains."""
    return _along(machine, key, batch, lambda key, v: jax.nn.sigmoid(machine.hidden_logits(v)))


def visible_means(machine: "RestrictedBoltzmannMachine", key: Array, batch: Batch) -> Float[Array, "rows visible"]:
    """Return E[v] given what is observed: means of E[v | h] along chains."""
    return _along(machine, key, batch, lambda key, v: machine.visible_mean(machine.draw_hidden(key, v)))


def _along(
    machine: "RestrictedBoltzmannMachine", key: Array, batch: Batch, value: Callable[[Array, Array], Array]
) -> Float[Array, "rows _"]:
    """Return the mean of a function of v along chains in which observed entries stay as they are."""
    v, observed = machine.as_visible(batch.values), jnp.asarray(batch.observed)
    begin = clamped(machine, jax.random.fold_in(key, CLAMPED), v, observed)

    def turn(number: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        x, total = carry
        first, second = jax.random.split(jax.random.fold_in(key, number))
        x = jnp.where(observed, v, machine.sweep(first, x))
        return x, total + value(second, x)

    nothing = jnp.zeros_like(value(key, v))
    return jax.lax.fori_loop(0, CLAMPED, turn, (begin, nothing))[1] / CLAMPED
