"""What is missing of sequences under a hidden Markov model: the path, the entries, or both."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.core import Batch, Completion, Want, map_rows, refuse_temperature, replace
from kullback.models._ascent import best_of_starts
from kullback.models._enumeration import enumerate_visible
from kullback.models._tempering import tempered_members
from kullback.models.hidden_markov._blocks import without_time
from kullback.models.hidden_markov._chain import Chain, Observed
from kullback.models.hidden_markov._forward_backward import filter_states
from kullback.models.hidden_markov._paths import draw_path_given, most_probable_path
from kullback.models.hidden_markov._timeline import sequence_starts


def complete_sequences(
    model: Any, chain: Chain, observed: Observed, batch: Batch, want: Want, temperature: float, key: Any
) -> Completion:
    """Return what `complete` returns for a chain, of which `observed` has the scores of what is observed."""
    whole = batch.observed is None
    if want == ("v",):
        return _complete_visible(model, observed, batch, temperature, key)
    if want == ("h",) or whole:
        h = _find_path(chain, observed, temperature, key)
        energy = path_energy(chain, observed, h)
        return Completion(batch.values if "v" in want else None, h, energy, True)
    if temperature == 0:
        v, h, energy = _lowest_pair(model, chain, observed, batch)
        return Completion(v, h, energy, True)
    h, v = (model if temperature == 1 else _tempered(model, temperature)).impute_joint(batch, key)
    return Completion(v, h, model.path_energy(batch.filled(v), h), True)


def _tempered(model: Any, temperature: float) -> Any:
    """Return a chain whose joint is in proportion to p(h, v)^(1/T): not normalized, for draws given data only."""
    emissions, log_scale = tempered_members(model.emissions, temperature)
    scale, power = jnp.exp(log_scale), 1 / temperature
    return replace(
        model,
        initial=jnp.asarray(model.initial) ** power * scale,
        transitions=jnp.asarray(model.transitions) ** power * scale,  # that of the state which is entered
        ending=None if model.ending is None else jnp.asarray(model.ending) ** power,
        emissions=emissions,
    )


def sequence_numbers(starts: Bool[Array, " rows"]) -> Int[Array, " rows"]:
    """Return the number of the sequence that each row belongs to."""
    return jnp.cumsum(starts) - 1


def sequence_totals(observed: Observed, each: Float[Array, " rows"]) -> Float[Array, " rows"]:
    """Return for each row what the rows of its sequence add up to."""
    number = sequence_numbers(observed.starts)
    return jax.ops.segment_sum(each, number, each.shape[0])[number]


def path_energy(chain: Chain, observed: Observed, h: Int[Array, " rows"]) -> Float[Array, " rows"]:
    """Return −log p(h, vₒ) of the sequence of each row."""
    begun, moved = jnp.log(chain.initial)[h], jnp.log(chain.transitions)[jnp.roll(h, 1), h]
    scores = observed.scores[observed.places, h]
    return -sequence_totals(observed, jnp.where(observed.starts, begun, moved) + scores)


def _find_path(chain: Chain, observed: Observed, temperature: float, key: Any) -> Int[Array, " rows"]:
    """Return the most probable path, or draw one: the chain of p^(1/T) has that power of every factor."""
    if temperature == 0:
        return most_probable_path(chain, observed)[0]
    if temperature != 1:
        chain = Chain(*(part ** (1 / temperature) for part in chain))
        observed = observed._replace(scores=observed.scores / temperature)
    return draw_path_given(chain, filter_states(chain, observed).states, observed.starts, key)


def _lowest_pair(model: Any, chain: Chain, observed: Observed, batch: Batch) -> tuple[Array, Array, Array]:
    """Return entries, path and energy of the lowest joint: Viterbi's path with emissions at their conditional modes."""

    def gain(rows: Batch, _: Array) -> Array:
        """Return log p of the missing entries at their mode, given the state and the rest of the row."""
        own = model.emissions.conditional_mode(rows)
        return -model.emissions.energy(own) - model.emissions.log_likelihood(rows)

    plain = without_time(batch)
    scores = observed.scores[observed.places] + map_rows(gain, plain)
    scores = jnp.where(jnp.isnan(scores), -jnp.inf, scores)  # a state that cannot be
    at_modes = Observed(scores, observed.starts, observed.before)
    h, _ = most_probable_path(chain, at_modes)

    def fill(rows: Batch, _: Array, states: Array) -> Array:
        own = model.emissions.conditional_mode(rows)
        return own[jnp.arange(own.shape[0]), states]

    return map_rows(fill, plain, h), h, path_energy(chain, at_modes, h)


def _complete_visible(model: Any, observed: Observed, batch: Batch, temperature: float, key: Any) -> Completion:
    def energy(filled: Batch) -> Array:
        return -sequence_totals(observed, model.log_likelihood(filled))

    if batch.observed is None or temperature == 1:
        v = batch.values if batch.observed is None else model.impute(batch, key)
        return Completion(v, None, energy(batch.filled(v)), True)
    with jax.ensure_compile_time_eval():  # known while tracing, where the time index is
        group = sequence_numbers(sequence_starts(batch.time, jnp.asarray(batch.weight), True))
    found = enumerate_visible(model, batch, temperature, key, energy, group)
    if found is not None:
        return found
    if temperature != 0:
        raise refuse_temperature(temperature, "a HiddenMarkovModel", "what is missing of a sequence")
    own = jnp.moveaxis(model.emissions.conditional_mode(without_time(batch)), 1, 0)
    both = model.completed(batch, ("h", "v"), 0.0, None).v
    starts = jnp.concatenate([own, jnp.stack([model.conditional_mode(batch), both])])
    starts = starts.astype(jnp.result_type(starts, jnp.asarray(batch.values)))
    v, least = best_of_starts(
        starts,
        batch,
        model.emissions.visible_family,
        lambda v: energy(batch.filled(v)),
        lambda v: model.posterior(batch.filled(v)),
    )
    return Completion(v, None, least, False)
