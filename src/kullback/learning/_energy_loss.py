"""One loss for all that chooses among outcomes by their energies."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from kullback.numerics import Numeric


def energy_loss(
    energies: Float[Numeric, "*rows outcomes"],
    y: Int[Numeric, "*rows"],
    margin: float | Float[Array, ""] = 0.0,
    temperature: float = 1.0,
) -> Float[Array, "*rows"]:
    """How far the energy of the true outcome is from being the lowest: T·log Σ_y′ exp((m·[y′ ≠ y] + e_y − e_y′)/T).

    Its corners are the losses of the field: without a margin and at temperature 1 it is the cross-entropy
    −log p(y) of p ∝ exp(−e), in nats; at temperature 0 the perceptron's loss, and with a margin the margin loss. Its
    gradient lowers the energy of y and raises those of the outcomes that are near it or below.

    >>> energies = jnp.array([[0.0, 2.0]])
    >>> round(float(energy_loss(energies, jnp.array([1]))[0]), 4)  # log(1 + e²)
    2.1269
    >>> float(energy_loss(energies, jnp.array([0]), margin=3.0, temperature=0.0)[0])
    1.0
    """
    if temperature < 0:
        raise ValueError(f"temperature is {temperature}: it must be 0 or more.")
    energies, y = jnp.asarray(energies), jnp.asarray(y)
    true = jnp.take_along_axis(energies, y[..., None], axis=-1)
    others = jnp.arange(energies.shape[-1]) != y[..., None]
    gaps = jnp.where(others, margin, 0) + true - energies
    if temperature == 0:
        return jnp.max(gaps, axis=-1)
    return temperature * jax.nn.logsumexp(gaps / temperature, axis=-1)
