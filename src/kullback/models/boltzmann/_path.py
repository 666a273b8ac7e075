"""The path from independent visible units to a machine: annealing along it gives log Z, tempering draws."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.models.kernels import Annealed, annealed_importance, gibbs
from kullback.numerics import draw_binary, normal

if TYPE_CHECKING:
    from kullback.models.boltzmann._machine import RestrictedBoltzmannMachine

#: Chains and steps that find what the units of a machine are on average.
_PILOT_CHAINS, _PILOT_STEPS = 64, 100
#: Temperatures at which missing entries of rows are summed out.
_ROW_TEMPERATURES = 200


class Base(NamedTuple):
    """Independent visible units: log odds of binary ones, or means and standard deviations."""

    location: Float[Array, " visible"]
    scale: Float[Array, " visible"] | None

    @classmethod
    def of_moments(cls, mean: Any, deviation: Any = None) -> "Base":
        """Return units with these means, and these standard deviations where they are Gaussian."""
        if deviation is not None:
            return cls(jnp.asarray(mean), jnp.asarray(deviation))
        inside = jnp.clip(jnp.asarray(mean), 0.01, 0.99)
        return cls(jnp.log(inside) - jnp.log1p(-inside), None)


class Path(NamedTuple):
    """log p_β(v) = (1 − β)·log base(v) + β·(−visible energy) + Σ softplus(β·(log odds of hidden units)).

    At β = 0 it is the base with all hidden units at even odds; at β = 1 it is −F. Where entries are `observed` they
    stay as they are, and the law is that of the others.
    """

    machine: "RestrictedBoltzmannMachine"
    base: Base
    observed: Bool[Array, "... visible"] | None = None

    @property
    def log_partition(self) -> Array:
        """The logarithm of the constant at β = 0: of all entries, or for each row of those that are not observed."""
        hidden = len(self.machine.hidden_bias) * np.log(2)
        if self.base.scale is None:
            each = jax.nn.softplus(self.base.location)
        else:
            each = jnp.log(self.base.scale) + 0.5 * np.log(2 * np.pi)
        if self.observed is not None:
            each = jnp.where(self.observed, 0, each)
        return jnp.sum(each, axis=-1) + hidden

    def log_density(self, beta: Array, v: Float[Array, "... visible"]) -> Float[Array, "..."]:
        """Return the unnormalized log density."""
        base, machine = self.base, self.machine
        each = v * base.location if base.scale is None else -0.5 * jnp.square((v - base.location) / base.scale)
        if self.observed is not None:
            each = jnp.where(self.observed, 0, each)
        hidden = jax.nn.softplus(beta[..., None] * machine.hidden_logits(v))
        return (1 - beta) * jnp.sum(each, axis=-1) - beta * machine.visible_energy(v) + jnp.sum(hidden, axis=-1)

    def kernel(self, key: Array, beta: Array, v: Float[Array, "... visible"]) -> Float[Array, "... visible"]:
        """Return chains after a step of Gibbs sampling at β."""
        first, second = jax.random.split(key)
        wide = beta[..., None]
        h = draw_binary(first, wide * self.machine.hidden_logits(v))
        location = self.machine.visible_location(h)
        base, log_scale = self.base, self.machine.log_scale
        if base.scale is None or log_scale is None:
            drawn = draw_binary(second, (1 - wide) * base.location + wide * location)
        else:
            from_base, from_machine = (1 - wide) / base.scale**2, wide * jnp.exp(-2 * log_scale)
            precision = from_base + from_machine
            mean = (from_base * base.location + from_machine * location) / precision
            drawn = mean + normal(second, mean.shape, mean.dtype) / jnp.sqrt(precision)
        return drawn if self.observed is None else jnp.where(self.observed, v, drawn)

    def start(self, key: Array, shape: tuple[int, ...]) -> Float[Array, "... visible"]:
        """Draw from the base."""
        base = self.base
        location = jnp.broadcast_to(base.location, (*shape, len(base.location)))
        if base.scale is None:
            return draw_binary(key, location)
        return location + base.scale * normal(key, location.shape, location.dtype)


def own_base(machine: "RestrictedBoltzmannMachine", key: Array) -> Base:
    """Return independent units that are on average what those of the machine are, as far as short chains tell."""
    first, second = jax.random.split(key)
    even = jnp.full((_PILOT_CHAINS, len(machine.hidden_bias)), 0.5, jnp.asarray(machine.weights).dtype)
    begin = machine.draw_visible(first, even)
    v = gibbs([machine.sweep], begin, second, _PILOT_STEPS)
    means = machine.visible_mean(jax.nn.sigmoid(machine.hidden_logits(v)))
    if machine.log_scale is None:
        return Base.of_moments(jnp.mean(means, axis=0))
    spread = jnp.sqrt(jnp.var(v, axis=0) + 1e-3 * jnp.exp(2 * machine.log_scale))
    return Base.of_moments(jnp.mean(means, axis=0), spread)


def ladder(count: int, dtype: Any) -> Float[Array, " temperatures"]:
    """Return β from 0 to 1, in even steps."""
    if count < 2:
        raise ValueError(f"temperatures is {count}: a path has two ends at least.")
    return jnp.linspace(0, 1, count, dtype=dtype)


def anneal(
    machine: "RestrictedBoltzmannMachine", key: Array, chains: int, temperatures: int, base: Base | None
) -> Annealed:
    """Return log Z by annealed importance sampling."""
    pilot, first, second = jax.random.split(key, 3)
    path = Path(machine, own_base(machine, pilot) if base is None else base)
    betas = ladder(temperatures, jnp.asarray(machine.weights).dtype)
    found = annealed_importance(path.log_density, path.kernel, betas, path.start(first, (chains,)), second)
    return found._replace(value=found.value + path.log_partition)


def anneal_rows(machine: "RestrictedBoltzmannMachine", key: Array, v: Array, observed: Array, chains: int) -> Annealed:
    """Return log Σ ∫ e^(−F) over the missing entries of each row, by chains of its own."""
    pilot, last = jax.random.split(key)
    base = own_base(machine, pilot)
    betas = ladder(_ROW_TEMPERATURES, v.dtype)

    def one(row: tuple[Array, Array, Array]) -> Annealed:
        number, v, observed = row
        first, second = jax.random.split(jax.random.fold_in(last, number))
        path = Path(machine, base, observed)
        start = jnp.where(observed, v, path.start(first, (chains,)))
        found = annealed_importance(path.log_density, path.kernel, betas, start, second)
        return found._replace(value=found.value + path.log_partition)

    return jax.lax.map(one, (jnp.arange(len(v)), v, observed))
