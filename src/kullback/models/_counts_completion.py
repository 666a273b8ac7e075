"""What is missing of rows of counts whose probabilities are hidden: the probabilities, and whole rows."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Batch, Completion, Want, keep_rows
from kullback.families import Dirichlet, multinomial_mode

#: How often counts and probabilities are found in turn: counts are whole, so that few turns are enough.
_TURNS = 50


def complete_counts(model: Any, batch: Batch, want: Want, temperature: float, key: Any) -> Completion:
    """Return probabilities, alone or with missing rows, under a compound Dirichlet: at their modes or drawn."""
    posterior = model.posterior(batch)
    if want == ("h",) or batch.observed is None:
        h = posterior.mode if temperature == 0 else posterior.sample(key)
        energy = jnp.where(_whole_rows(batch), model.energy(batch.values, h), -model.hidden.log_prob(h))
        return Completion(batch.values if "v" in want else None, h, energy, True)
    if temperature == 1:
        first, second = jax.random.split(key)
        h = posterior.sample(first)
        v = keep_rows(batch, draw_counts(second, model.trials, h))
    else:
        v, h = _lowest_pair(model, batch)
    return Completion(v, h, model.energy(v, h), temperature == 1)


def _lowest_pair(model: Any, batch: Batch) -> tuple[Array, Array]:
    """Return counts and probabilities of low energy: each at its mode given the other, in turn, from many starts.

    Starts of a missing row are its mode, its mean, and all trials in one category.
    """
    alpha = jnp.asarray(model.concentration)
    mean = multinomial_mode(model.trials, jnp.asarray(model.hidden.mean))
    starts = jnp.concatenate([model.mode[None], mean[None], model.trials * jnp.eye(alpha.shape[-1], dtype=alpha.dtype)])
    v = jax.lax.fori_loop(0, _TURNS, lambda _, v: multinomial_mode(model.trials, Dirichlet(alpha + v).mode), starts)
    best = v[jnp.argmin(model.energy(v, Dirichlet(alpha + v).mode))]
    rows = keep_rows(batch, jnp.broadcast_to(best, batch.values.shape))
    return rows, Dirichlet(alpha + rows).mode


def _whole_rows(batch: Batch) -> Bool[Array, " rows"]:
    """Return which rows are observed: with a missing entry the whole of one counts as missing."""
    if batch.observed is None:
        return jnp.ones(batch.values.shape[0], bool)
    return jnp.all(jnp.asarray(batch.observed), axis=-1)


def draw_counts(key: Array, trials: int, h: Float[Array, "... k"]) -> Num[Array, "... k"]:
    """Draw from the multinomial: up to 100 trials one by one, no slower than by binomials and soon compiled."""
    if trials > 100:
        return jax.random.multinomial(key, trials, h, dtype=h.dtype).astype(int)
    u = jax.random.uniform(key, (*h.shape[:-1], 1, trials), h.dtype)
    below = jnp.sum(u < jnp.cumsum(h, axis=-1)[..., :-1, None], axis=-1)
    ends = jnp.broadcast_to(jnp.asarray([0, trials], below.dtype), (*below.shape[:-1], 2))
    return jnp.diff(jnp.concatenate([ends[..., :1], below, ends[..., 1:]], axis=-1), axis=-1)
