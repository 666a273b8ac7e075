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
#: Pairs of a row and a state that are looked at together.
_AT_ONCE = 2**22


def log_likelihood(
    machine: "HelmholtzMachine", v: Float[Array, "rows visible"], observed: Any = None
) -> Float[Array, " rows"]:
    """Return log p(v) for each row; what is not observed is summed out."""
    there = jnp.ones_like(v) if observed is None else jnp.asarray(observed).astype(v.dtype)
    v = v * there

    def of_block(hidden: tuple[Units, ...], log_prior: Array) -> Array:
        log_odds = logits(machine.generation[0], hidden[0])
        each = v @ log_odds.T - there @ jax.nn.softplus(log_odds).T + log_prior
        return jax.nn.logsumexp(each, axis=1)

    found: Array = _over_states(machine, of_block, jnp.logaddexp, len(v))
    return found


def generation_fisher(machine: "HelmholtzMachine") -> tuple[Float[Array, "_ _ _"], ...]:
    """Return E_p[σ′(a_j)·(h, 1)(h, 1)ᵀ] for each unit j, layer by layer, and σ′ of the top layer."""

    def of_block(hidden: tuple[Units, ...], log_prior: Array) -> tuple[Array, ...]:
        pairs = zip(machine.generation, hidden, strict=True)
        return tuple(_blocks(weights, above, jnp.exp(log_prior)) for weights, above in pairs)

    return (*_over_states(machine, of_block, jnp.add), _slope(jnp.asarray(machine.top))[:, None, None])


def recognition_fisher(
    machine: "HelmholtzMachine", v: Float[Array, "rows visible"]
) -> tuple[Float[Array, "_ _ _"], ...]:
    """Return E[σ′(a_j)·(h, 1)(h, 1)ᵀ] for each unit j over the layer h that it follows, under the rows and q."""
    first = _blocks(machine.recognition[0], v, jnp.full(len(v), 1 / len(v), v.dtype))
    log_odds = logits(machine.recognition[0], v)

    def of_block(hidden: tuple[Units, ...], log_prior: Array) -> tuple[Array, ...]:
        log_q = log_odds @ hidden[0].T - jnp.sum(jax.nn.softplus(log_odds), axis=1, keepdims=True)  # rows and states
        for weights, below, above in zip(machine.recognition[1:], hidden[:-1], hidden[1:], strict=True):
            log_q = log_q + log_prob(above, logits(weights, below))
        share = jnp.mean(jnp.exp(log_q), axis=0)
        pairs = zip(machine.recognition[1:], hidden[:-1], strict=True)
        return tuple(_blocks(weights, below, share) for weights, below in pairs)

    return (first, *_over_states(machine, of_block, jnp.add, len(v)))


def _over_states(
    machine: "HelmholtzMachine",
    of_block: Callable[[tuple[Units, ...], Array], Any],
    join: Callable[[Array, Array], Array],
    rows: int = 1,
) -> Any:
    """Return what a function says of all states of the hidden units, block after block, with what was joined before.

    It is given the layers of some states, and log p(h); fewer states for many rows.
    """
    count = sum(machine.sizes[1:])
    if count > MOST_HIDDEN:
        raise ValueError(
            f"the machine has {count} hidden units: up to {MOST_HIDDEN} are summed out by going through all of their "
            "states, so ask estimate_log_likelihood, which draws them."
        )
    most = max(1, min(_AT_ONCE // max(rows, 1), 2**12))
    block = min(1 << (most.bit_length() - 1), 2**count)  # a power of 2: it divides the number of states
    dtype = jnp.asarray(machine.top).dtype

    def one(number: Any) -> Any:
        places = number * block + jnp.arange(block)
        hidden = machine.split(((places[:, None] >> jnp.arange(count)) & 1).astype(dtype))
        log_prior = log_prob(hidden[-1], jnp.asarray(machine.top))
        for weights, below, above in zip(machine.generation[1:], hidden[:-1], hidden[1:], strict=True):
            log_prior = log_prior + log_prob(below, logits(weights, above))
        return of_block(hidden, log_prior)

    def more(found: Any, number: Array) -> tuple[Any, None]:
        return jax.tree.map(join, found, one(number)), None

    return jax.lax.scan(more, one(0), jnp.arange(1, 2**count // block))[0]


def _blocks(
    weights: Any, units: Float[Array, "states inputs"], share: Float[Array, " states"]
) -> Float[Array, "units _ _"]:
    """Return Σ share·σ′(a_j)·(h, 1)(h, 1)ᵀ for each unit j that follows the units h."""
    with_one = jnp.concatenate([units, jnp.ones_like(units[:, :1])], axis=1)
    return jnp.einsum("s,sj,sa,sb->jab", share, _slope(logits(weights, units)), with_one, with_one)


def _slope(log_odds: Array) -> Array:
    """Return σ′, which is even: of a large log odds it keeps its digits."""
    return jax.nn.sigmoid(log_odds) * jax.nn.sigmoid(-log_odds)
