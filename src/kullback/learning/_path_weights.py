"""log Z along the path of a training: chains of their own, weighed by how the energy of each has moved."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.core import Estimate
from kullback.models import MOST_SPREAD, RestrictedBoltzmannMachine

#: Machines between two visits at most.
_BETWEEN = 20


class PathWeights(NamedTuple):
    """Chains that follow a machine as it learns, with weights that know its log Z.

    They must not be those that give the gradient: a step that depends on the chains lowers their energies, and log Z
    would come out too low. `machine` is that of the last visit, and `energy` has the free energies of the chains under
    it; `log_partition` and `variance` are what was found before weights were made alike the last time. `spread` is the
    largest standard deviation, in nats, by which log weights have grown at once: above 3 the chains have lost the
    machine, and nothing that they say is to be trusted.
    """

    machine: RestrictedBoltzmannMachine
    v: Float[Array, "chains visible"]
    energy: Float[Array, " chains"]
    log_weight: Float[Array, " chains"]
    log_partition: Float[Array, ""]
    variance: Float[Array, ""]
    spread: Float[Array, ""]

    @classmethod
    def start(cls, machine: RestrictedBoltzmannMachine, chains: int, key: Array) -> "PathWeights":
        """Return draws of the machine without its weights, of which everything is known."""
        dtype = jnp.asarray(machine.weights).dtype
        parts = machine.visible_bias, machine.hidden_bias, machine.log_scale
        free = jax.tree.map(jnp.asarray, RestrictedBoltzmannMachine(jnp.zeros_like(machine.weights), *parts))
        v = free.draw_visible(key, jnp.zeros((chains, len(machine.hidden_bias)), dtype))
        hidden = jnp.sum(jax.nn.softplus(jnp.asarray(machine.hidden_bias)))
        if machine.log_scale is None:
            visible = jnp.sum(jax.nn.softplus(jnp.asarray(machine.visible_bias)))
        else:
            visible = jnp.sum(machine.log_scale + 0.5 * np.log(2 * np.pi))
        nothing = jnp.zeros((), dtype)
        constant = (hidden + visible).astype(dtype)
        return cls(free, v, free.energy(v), jnp.zeros(chains, dtype), constant, nothing, nothing)

    def visit(self, machine: RestrictedBoltzmannMachine, key: Array) -> "PathWeights":
        """Return the chains at a machine that has moved, by as many machines in between as weights need to stay near.

        From one machine to the next the weight of a chain grows by F(v) − F′(v). Where the effective number of chains
        is below half, they are drawn anew by their weights. A Gibbs step under the machine follows.
        """
        machine = jax.tree.map(jnp.asarray, machine)
        steps = jnp.clip(jnp.ceil(2 * jnp.std(self.energy - machine.energy(self.v))), 1, _BETWEEN)

        def turn(number: Array, path: PathWeights) -> PathWeights:
            share = ((number + 1) / steps).astype(self.energy.dtype)
            at = jax.tree.map(lambda one, other: one + share * (other - one), self.machine, machine)
            return path._step(at, jax.random.fold_in(key, number))

        found = jax.lax.fori_loop(0, steps.astype(int), turn, self)
        return found._replace(machine=machine)

    def _step(self, machine: RestrictedBoltzmannMachine, key: Array) -> "PathWeights":
        first, second = jax.random.split(key)
        chains = len(self.energy)
        grown = self.energy - machine.energy(self.v)
        log_weight = self.log_weight + grown
        weighed = self._replace(log_weight=log_weight)
        few = weighed.effective_size < chains / 2
        found = weighed.log_partition_estimate
        # evenly spaced points in the cumulative weights: each chain is taken as often as its share says, up to rounding
        points = (jnp.arange(chains) + jax.random.uniform(first, dtype=log_weight.dtype)) / chains
        drawn = jnp.searchsorted(jnp.cumsum(jax.nn.softmax(log_weight)), points)
        chosen = jnp.where(few, jnp.minimum(drawn, chains - 1), jnp.arange(chains))
        v = machine.sweep(second, self.v[chosen])
        return PathWeights(
            self.machine,
            v,
            machine.energy(v),
            jnp.where(few, 0, log_weight),
            jnp.where(few, found.value, self.log_partition),
            jnp.where(few & ~self.lost, found.standard_error**2, self.variance),
            jnp.maximum(self.spread, jnp.std(grown)),
        )

    @property
    def lost(self) -> Bool[Array, ""]:
        """Whether the machine has once moved too far for the chains to follow."""
        return jnp.asarray(self.spread) > MOST_SPREAD

    @property
    def effective_size(self) -> Float[Array, ""]:
        """How many equal chains the weighed ones are worth."""
        return 1 / jnp.sum(jnp.square(jax.nn.softmax(self.log_weight)))

    @property
    def log_partition_estimate(self) -> Estimate:
        """Log Z of the machine of the last visit; its standard error is that of the weights, infinite once lost."""
        chains = len(self.energy)
        value = self.log_partition + jax.nn.logsumexp(self.log_weight) - np.log(chains)
        spread = jnp.maximum(chains / self.effective_size - 1, 0) / chains
        return Estimate(value, jnp.where(self.lost, jnp.inf, jnp.sqrt(self.variance + spread)))
