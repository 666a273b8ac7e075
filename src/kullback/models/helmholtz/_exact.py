"""What all states of the hidden units say: the likelihood, and the Fisher matrices. For machines that are small."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.models.helmholtz._layers import Units, log_prob, logits

if TYPE_CHECKING:
    from kullback.models.helmholtz._machine import HelmholtzMachine

#: So many hidden units are summed out by going through all of their states.
MOST_HIDDEN = 20
#: States that are looked at together.
_BLOCK = 2**12


def log_likelihood(
    machine: "HelmholtzMachine", v: Float[Array, "rows visible"], observed: Any = None
) -> Float[Array, " rows"]:
    """Return log p(v) for each row; what is not observed is summed out."""
    there = jnp.ones_like(v) if observed is None else jnp.asarray(observed).astype(v.dtype)
    v = v * there

    def of_block(hidden: tuple[Units, ...], log_prior: Array, inside: Array) -> Array:
        log_odds = logits(machine.generation[0], hidden[0])
        each = v @ log_odds.T - there @ jax.nn.softplus(log_odds).T + log_prior
        return jax.nn.logsumexp(jnp.where(inside, each, -jnp.inf), axis=1)

    return jax.nn.logsumexp(_over_states(machine, of_block), axis=0)


def generation_fisher(machine: "HelmholtzMachine") -> tuple[Float[Array, "units _ _"], ...]:
    """Return E_p[σ′(a_j)·(h, 1)(h, 1)ᵀ] for each unit j, layer by layer, and σ′ of the top layer."""

    def of_block(hidden: tuple[Units, ...], log_prior: Array, inside: Array) -> tuple[Array, ...]:
        share = jnp.where(inside, jnp.exp(log_prior), 0)
        return tuple(_blocks(weights, above, share) for weights, above in zip(machine.generation, hidden, strict=True))

    found = jax.tree.map(lambda part: jnp.sum(part, axis=0), _over_states(machine, of_block))
    return (*found, _slope(jnp.asarray(machine.top))[:, None, None])


def recognition_fisher(
    machine: "HelmholtzMachine", v: Float[Array, "rows visible"]
) -> tuple[Float[Array, "units _ _"], ...]:
    """Return E[σ′(a_j)·(h, 1)(h, 1)ᵀ] for each unit j over the layer h that it follows, under the rows and q."""
    first = _blocks(machine.recognition[0], v, jnp.full(len(v), 1 / len(v), v.dtype))

    def of_block(hidden: tuple[Units, ...], log_prior: Array, inside: Array) -> tuple[Array, ...]:
        log_q = log_prob(hidden[0], logits(machine.recognition[0], v)[:, None])  # a row for each point, then states
        for weights, below, above in zip(machine.recognition[1:], hidden[:-1], hidden[1:], strict=True):
            log_q = log_q + log_prob(above, logits(weights, below))
        share = jnp.mean(jnp.where(inside, jnp.exp(log_q), 0), axis=0)
        pairs = zip(machine.recognition[1:], hidden[:-1], strict=True)
        return tuple(_blocks(weights, below, share) for weights, below in pairs)

    return (first, *jax.tree.map(lambda part: jnp.sum(part, axis=0), _over_states(machine, of_block)))


def _over_states(machine: "HelmholtzMachine", of_block: Callable[[tuple[Units, ...], Array, Array], Any]) -> Any:
    """Return what a function says of all states of the hidden units, block after block.

    It is given the layers of the states, log p(h), and which of them are states: the last block may have too many.
    """
    count = sum(machine.sizes[1:])
    if count > MOST_HIDDEN:
        raise ValueError(
            f"the machine has {count} hidden units: up to {MOST_HIDDEN} are summed out by going through all of their "
            "states, so ask estimate_log_likelihood, which draws them."
        )
    block, dtype = min(_BLOCK, 2**count), jnp.asarray(machine.top).dtype

    def one(number: Array) -> Any:
        places = number * block + jnp.arange(block)
        hidden = machine.split(((places[:, None] >> jnp.arange(count)) & 1).astype(dtype))
        log_prior = log_prob(hidden[-1], jnp.asarray(machine.top))
        for weights, below, above in zip(machine.generation[1:], hidden[:-1], hidden[1:], strict=True):
            log_prior = log_prior + log_prob(below, logits(weights, above))
        return of_block(hidden, log_prior, places < 2**count)

    return jax.lax.map(one, jnp.arange(-(-(2**count) // block)))


def _blocks(weights: Any, units: Units, share: Float[Array, " states"]) -> Float[Array, "units _ _"]:
    """Return Σ share·σ′(a_j)·(h, 1)(h, 1)ᵀ for each unit j."""
    with_one = jnp.concatenate([units, jnp.ones_like(units[:, :1])], axis=1)
    return jnp.einsum("s,sj,sa,sb->jab", share, _slope(logits(weights, units)), with_one, with_one)


def _slope(log_odds: Array) -> Array:
    """Return σ′, which is even: of a large log odds it keeps its digits."""
    return jax.nn.sigmoid(log_odds) * jax.nn.sigmoid(-log_odds)
