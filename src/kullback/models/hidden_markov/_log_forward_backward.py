"""The forward–backward recursion with logarithms: slower, and right however unlikely the data is.

A row that cannot be, given the rows before it, has a likelihood of 0. It says nothing of the states: they go on as the
chain predicts. A row that no state leads to begins anew.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.models.hidden_markov._chain import Chain, Filtered, Observed, Smoothed
from kullback.runtime import one_kernel


def filter_states(chain: Chain, observed: Observed) -> Filtered:
    """Return p(h_t | v_1 … v_t) and log p(v_t | v_1 … v_{t−1}) for each row."""
    found = _forward(*_logarithms(chain, observed), observed.scores, observed.places, observed.starts)
    return Filtered(jnp.exp(found.alpha), found.evidence)


def smooth_states(chain: Chain, observed: Observed, weight: Float[Array, " rows"], row: Int[Array, ""]) -> Smoothed:
    """Return the weighted posterior, the evidence, the expected transitions and the filtered states of one row."""
    kernel, initial, before = _logarithms(chain, observed)
    found = _forward(kernel, initial, before, observed.scores, observed.places, observed.starts)
    earlier = jnp.concatenate([before[None], found.alpha[:-1]])
    known = found.past, found.evidence, found.begins, earlier
    share, counts = _backward(kernel, observed.scores, observed.places, known, weight)
    return Smoothed(share, found.evidence, counts, jnp.exp(found.alpha[row]))


class _Forward(NamedTuple):
    """Logarithms: of what the past says, of the filtered states, of the evidence; and which rows begin."""

    past: Float[Array, "rows k"]
    alpha: Float[Array, "rows k"]
    evidence: Float[Array, " rows"]
    begins: Bool[Array, " rows"]


def _logarithms(chain: Chain, observed: Observed) -> tuple[Array, Array, Array]:
    return _log(chain.transitions), _log(chain.initial), _log(observed.before)


def _log(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return log x, and −inf with gradient 0 at 0: what is 0 stays 0."""
    return jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)), -jnp.inf)


@one_kernel
def _forward(
    kernel: Float[Array, "k k"],
    initial: Float[Array, " k"],
    before: Float[Array, " k"],
    scores: Float[Array, "distinct k"],
    places: Int[Array, " rows"],
    starts: Bool[Array, " rows"],
) -> _Forward:
    def step(alpha: Array, row: tuple[Array, Array]) -> tuple[Array, _Forward]:
        place, begins = row
        score = scores[place]
        past = _log_sum(alpha[:, None] + kernel)
        lost = jnp.max(past) == -jnp.inf
        past = jnp.where(begins | lost, initial, past)
        total = jnp.where(lost & ~begins, -jnp.inf, _log_sum(past + score))
        explained = jnp.isfinite(total)
        joint = past + jnp.where(explained, score, 0)
        alpha = joint - _log_sum(joint)
        return alpha, _Forward(past, alpha, total, begins | lost)

    return jax.lax.scan(step, before, (places, starts))[1]


@one_kernel
def _backward(
    kernel: Float[Array, "k k"],
    scores: Float[Array, "distinct k"],
    places: Int[Array, " rows"],
    known: tuple[Float[Array, "rows k"], Float[Array, " rows"], Bool[Array, " rows"], Float[Array, "rows k"]],
    weight: Float[Array, " rows"],
) -> tuple[Float[Array, "rows k"], Float[Array, "k k"]]:
    """Return the weighted posterior, and the expected transitions.

    `known` are of each row what the past says, the evidence, whether it begins, and the filtered states before it.
    """
    turned = kernel.T

    def step(carry: tuple[Array, Array], row: tuple[Any, ...]) -> tuple[tuple[Array, Array], Array]:
        beta, counts = carry
        place, (past, evidence, begins, alpha), w = row
        future = jnp.where(jnp.isfinite(evidence), scores[place], 0) + beta
        both = past + future
        total = _log_sum(both)
        pairs = alpha[:, None] + kernel + future - total
        counts = counts + jnp.where(begins | (w <= 0), 0, w * jnp.exp(pairs))
        before = _log_sum(turned + future[:, None])
        beta = jnp.where(begins, 0, before - jnp.max(before))
        return (beta, counts), w * jnp.exp(both - total)

    start = (jnp.zeros_like(kernel[0]), jnp.zeros_like(kernel))
    (_, counts), share = jax.lax.scan(step, start, (places, known, weight), reverse=True)
    return share, counts


def _log_sum(x: Float[Array, "k ..."]) -> Float[Array, "..."]:
    """Return log Σ exp x over the first axis, from the largest; −inf where there is nothing."""
    peak = jnp.max(x, axis=0)
    shift = jnp.where(jnp.isfinite(peak), peak, 0)
    return _log(jnp.sum(jnp.exp(x - shift), axis=0)) + shift
