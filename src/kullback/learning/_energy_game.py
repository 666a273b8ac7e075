"""Samplers that learn from an energy, or in a game with it: it falls where data is, and rises where they draw."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import Batch
from kullback.geometry import kernel_entropy, mmd_entropy
from kullback.learning._gradient import Loss
from kullback.learning._learner import Key
from kullback.models import EnergySampler
from kullback.runtime import is_array

#: What stands for the entropy of a sampler, by name.
ENTROPIES: dict[str, Callable[[Any], Any]] = {"kernel": kernel_entropy, "mmd": mmd_entropy}


@dataclasses.dataclass(frozen=True)
class FollowEnergy:
    """The objective of a sampler of a given energy, for `Gradient`: mean e(g(ε)) − H, the relative entropy to exp(−e).

    (5.45) with its sign turned, less the constant of exp(−e). The rows of a batch are the noise ε, one for each point.
    `entropy` is "kernel" or "mmd": `geometry.kernel_entropy`, `geometry.mmd_entropy`. Parameters of the energy do not
    move.
    """

    entropy: str = "kernel"

    def __post_init__(self) -> None:
        check_entropy(self.entropy)

    def __call__(self, model: EnergySampler, batch: Batch, memory: None, key: Key) -> Loss:
        """Return the relative entropy of the sampler, up to a constant."""
        noise = jnp.asarray(batch.values, jnp.asarray(model.sampler.linear).dtype)
        drawn = model.sampler(noise)
        return Loss(jnp.mean(_still(model).energy(drawn)) - sample_entropy(model, drawn, self.entropy))


@dataclasses.dataclass(frozen=True)
class EnergyGame:
    """The objective of an energy and its sampler together, for `Gradient`: two players in one loss, by signs.

    min over e and max over g of E_data e − E_g e + H(g) (5.59), where the energy also pays `regularization` times
    E_data e² + E_g e²: without it e could be multiplied by any number. Its value is E_data e − E_g e + H, in nats: at
    most the mean −log p of the data, and equal to it where the sampler draws from exp(−e), as far as H is the entropy.

    Parameters
    ----------
    entropy : "kernel" or "mmd"
        What stands for the entropy of the sampler.
    draws : int
        Of the sampler, for each step.
    regularization : float
        Above 0. Energies of points that only data or only the sampler visits end near ∓1/(2·regularization).

    """

    entropy: str = "kernel"
    draws: int = 256
    regularization: float = 0.05

    def __post_init__(self) -> None:
        check_entropy(self.entropy)
        if self.draws < 2:
            raise ValueError(f"draws is {self.draws}: entropy is that of two points at least, so take some, as 256.")
        if not self.regularization > 0:
            raise ValueError(
                f"regularization is {self.regularization}: it must be above 0, or energies fall without end."
            )

    def __call__(self, model: EnergySampler, batch: Batch, memory: None, key: Key) -> Loss:
        """Return the loss of both players."""
        assert key is not None  # it draws
        weight = jnp.asarray(batch.weight, jnp.asarray(model.sampler.linear).dtype)
        share = weight / jnp.maximum(jnp.sum(weight), 1e-30)
        drawn = model.sampler(model.sampler.draw_noise(key, (self.draws,)))
        of_data, of_draws = model.energy(batch.values), model.energy(jax.lax.stop_gradient(drawn))
        squares = jnp.sum(share * of_data**2) + jnp.mean(of_draws**2)
        gap = jnp.sum(share * of_data) - jnp.mean(of_draws)
        energy_player = gap + self.regularization * squares
        entropy = sample_entropy(model, drawn, self.entropy)
        sampler_player = jnp.mean(_still(model).energy(drawn)) - entropy
        return Loss(_shown(gap + entropy, energy_player + sampler_player))


def sample_entropy(model: EnergySampler, drawn: Float[Array, "draws d"], entropy: str) -> Float[Array, ""]:
    """Return the entropy of draws of a sampler, worked out in units of the data."""
    units = model.sampler.standardized
    return jnp.asarray(ENTROPIES[entropy](units.to(drawn))) + jnp.sum(jnp.log(units.numbers.value[1]))


def check_entropy(entropy: str) -> None:
    """Raise unless there is such an entropy."""
    if entropy not in ENTROPIES:
        raise ValueError(f"entropy is {entropy!r}: it must be one of {', '.join(map(repr, ENTROPIES))}.")


def two_rates(learning_rate: Any, sampler_rate: Any, b1: Any = 0.5, delay: Any = np.inf) -> Any:
    """Return Adam with a learning rate for the energy of an `EnergySampler` and one for its sampler.

    Adam moves every parameter by itself, so one on all of them, whose moves are then scaled, is two. Rates fall as
    1/(1 + (steps/delay)⁴): they stay what they are until about `delay` steps, and then go quickly to 0.
    """
    import optax

    def scale(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        ratio = sampler_rate / learning_rate
        sampler = jax.tree.map(lambda update: ratio * update, updates.sampler)
        return EnergySampler(updates.energy_function, sampler), state

    scaled = optax.GradientTransformation(lambda params: optax.EmptyState(), scale)
    return optax.chain(
        optax.flatten(optax.adam(lambda count: learning_rate / (1 + (count / delay) ** 4), b1=b1)), scaled
    )


def _still(model: EnergySampler) -> EnergySampler:
    """Return a model whose parameters are constants; its energy may be a function."""
    found: EnergySampler = jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if is_array(leaf) else leaf, model)
    return found


def _shown(value: Float[Array, ""], loss: Float[Array, ""]) -> Float[Array, ""]:
    """Return a number with the gradient of a loss."""
    still = jax.lax.stop_gradient((value, loss))
    return still[0] + (loss - still[1])
