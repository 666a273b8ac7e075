"""The missing part of rows of an autoencoder: z of lowest energy or drawn, and entries given it."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.core import Batch, Completion, Want, refuse_temperature
from kullback.models._importance import average_weights
from kullback.models.autoencoder._posterior import Peak, climb, for_rows, log_joint, weigh

if TYPE_CHECKING:
    from kullback.models.autoencoder._model import VariationalAutoencoder

#: Draws of z of which one is kept by its weight, and candidates for missing entries.
_DRAWS, _CANDIDATES = 64, 8
#: How often entries and z are found in turn.
_ROUNDS = 5


def resample(
    model: "VariationalAutoencoder", key: Array, peak: Peak, v: Array, observed: Any
) -> Float[Array, " latents"]:
    """Return one of many draws of z, chosen by its weight."""
    first, second = jax.random.split(key)
    h, log_q = peak.draw(first, _DRAWS)
    return h[jax.random.categorical(second, weigh(model, h, log_q, v, observed))]


def complete(model: "VariationalAutoencoder", batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
    """Return what `complete` returns."""
    if temperature not in (0, 1):
        raise refuse_temperature(temperature, "a VariationalAutoencoder", "what is hidden or missing")
    key = jax.random.key(0) if key is None else key
    if want == ("v",):
        v, energy = for_rows(model, _visible_by(model, temperature), key, batch, _DRAWS)
        return Completion(v, None, energy, batch.observed is None)
    v, h, energy = for_rows(model, _hidden_by(model, "v" in want, temperature), key, batch, _DRAWS)
    return Completion(v if "v" in want else None, h, energy, False)


def _hidden_by(model: "VariationalAutoencoder", with_entries: bool, temperature: float) -> Any:
    """Return the function of a row that finds z, and entries with it where they are wanted."""

    def one(key: Array, peak: Peak, v: Array, observed: Any) -> tuple[Array, Array, Array]:
        first, second = jax.random.split(key)
        z = peak.mean if temperature == 0 else resample(model, first, peak, v, observed)
        if observed is None or not with_entries:
            return v, z, -log_joint(model, z, v, observed)
        if temperature != 0:
            v = _draw(model, second, z, v, observed)
            return v, z, -log_joint(model, z, v, None)
        filled = _most_probable(model, z, v, observed)
        least = -log_joint(model, z, filled, None)
        for _ in range(_ROUNDS):  # each in turn given the other: the energy never grows
            moved = climb(model, z, filled, None).mean
            entries = _most_probable(model, moved, v, observed)
            found = -log_joint(model, moved, entries, None)
            better = found < least
            z, filled = jnp.where(better, moved, z), jnp.where(better, entries, filled)
            least = jnp.minimum(found, least)
        return filled, z, least

    return one


def _visible_by(model: "VariationalAutoencoder", temperature: float) -> Any:
    """Return the function of a row that finds its entries: z is summed out."""

    def free_energy(key: Array, start: Array, v: Array) -> Array:
        peak = climb(model, start, v, None)
        return -average_weights(weigh(model, *peak.draw(key, _DRAWS), v, None)[None]).value[0]

    def one(key: Array, peak: Peak, v: Array, observed: Any) -> tuple[Array, Array]:
        first, second, third = jax.random.split(key, 3)
        if observed is None:
            return v, free_energy(third, peak.mean, v)
        if temperature != 0:
            z = resample(model, first, peak, v, observed)
            found = _draw(model, second, z, v, observed)
            return found, free_energy(third, z, found)

        def candidate(key: Array) -> tuple[Array, Array]:
            z = resample(model, key, peak, v, observed)
            found = _most_probable(model, z, v, observed)
            return found, free_energy(third, z, found)

        likeliest = _most_probable(model, peak.mean, v, observed)
        found, energies = jax.vmap(candidate)(jax.random.split(first, _CANDIDATES))
        found = jnp.concatenate([likeliest[None], found])
        energies = jnp.concatenate([free_energy(third, peak.mean, likeliest)[None], energies])
        best = jnp.argmin(energies)
        return found[best], energies[best]

    return one


def _most_probable(model: "VariationalAutoencoder", z: Array, v: Array, observed: Any) -> Array:
    row = Batch(v[None], observed=observed[None])
    found: Array = model.kind.at("free", model.decoder(z)).conditional_mode(row)[0]
    return found.astype(v.dtype)


def _draw(model: "VariationalAutoencoder", key: Array, z: Array, v: Array, observed: Any) -> Array:
    row = Batch(v[None], observed=observed[None])
    found: Array = model.kind.at("free", model.decoder(z)).impute(row, key)[0]
    return found.astype(v.dtype)
