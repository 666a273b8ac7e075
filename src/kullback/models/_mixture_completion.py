"""What is missing of rows under a mixture: the label, the entries, or both."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from kullback.core import Batch, Completion, Want, map_rows, refuse_temperature
from kullback.models._ascent import best_of_starts
from kullback.models._enumeration import enumerate_visible


def complete_rows(mixture: Any, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
    """Return what `complete` returns for a mixture: see the table in docs/completing.md."""
    whole = batch.observed is None
    if want == ("v",):
        return _complete_visible(mixture, batch, temperature, key)
    if want == ("h",) or whole:
        h, energy = map_rows(lambda rows, block: _find_labels(mixture, rows, temperature, key, block), batch)
        return Completion(batch.values if "v" in want else None, h, energy, True)
    if temperature == 0:
        v, h, energy = map_rows(lambda rows, _: _lowest_pair(mixture, rows), batch)
    else:
        h, v = (mixture if temperature == 1 else mixture.tempered(temperature)).impute_joint(batch, key)
        energy = map_rows(lambda rows, _, labels: _energy(mixture, rows, labels), batch.filled(v), h)
    return Completion(v, h, energy, True)


def _complete_visible(mixture: Any, batch: Batch, temperature: float, key: Any) -> Completion:
    if batch.observed is None or temperature == 1:
        v = batch.values if batch.observed is None else mixture.impute(batch, key)
        return Completion(v, None, -mixture.log_likelihood(batch.filled(v)), True)
    found = enumerate_visible(mixture, batch, temperature, key)
    if found is not None:
        return found
    if temperature != 0:
        raise refuse_temperature(temperature, "a Mixture", "what is missing of a row")
    v, energy = map_rows(lambda rows, _: _most_probable_rows(mixture, rows), batch)
    return Completion(v, None, energy, False)


def _find_labels(mixture: Any, rows: Batch, temperature: float, key: Any, block: Array) -> tuple[Array, Array]:
    share = mixture.posterior(rows, temperature=temperature)
    if temperature == 0:
        h = jnp.argmax(share, axis=-1)
    else:
        first, _ = jax.random.split(jax.random.fold_in(key, block))
        h = jax.random.categorical(first, jnp.log(share), axis=-1)
    return h, _energy(mixture, rows, h)


def _energy(mixture: Any, rows: Batch, h: Num[Array, " rows"]) -> Float[Array, " rows"]:
    """Return −log p(h, vₒ)."""
    return -jnp.take_along_axis(mixture.log_joint(rows), h[:, None], axis=-1)[:, 0]


def _lowest_pair(mixture: Any, rows: Batch) -> tuple[Array, Array, Array]:
    """Return the entries and labels of least energy: of each label the conditional mode, and of these the best."""
    own = mixture.components.conditional_mode(rows)
    energies = mixture.components.energy(own) - jnp.log(mixture.weights)
    h = jnp.argmin(energies, axis=-1)
    each = jnp.arange(h.shape[0])
    return own[each, h], h, energies[each, h]


def _most_probable_rows(mixture: Any, rows: Batch) -> tuple[Array, Array]:
    """Return entries of low free energy: the best of ascents from the conditional mode of each component."""
    starts = jnp.moveaxis(mixture.components.conditional_mode(rows), 1, 0)
    starts = starts.astype(jnp.result_type(starts, jnp.asarray(rows.values)))

    def energy(v: Array) -> Array:
        return -mixture.log_likelihood(rows.filled(v))

    def share(v: Array) -> Array:
        posterior: Array = mixture.posterior(rows.filled(v))
        return posterior

    return best_of_starts(starts, rows, mixture.components.visible_family, energy, share)
