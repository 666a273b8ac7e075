"""What observations say of a hidden chain: the forward–backward recursion.

Rows stand one below the other, `first` marks those that begin a sequence. With the scores log p(v_t | h), seen from
their peak in each row as b_t, what comes from the past is p_t = α_{t−1}A, or π where a sequence begins, and
α_t ∝ p_t·b_t is the filtered distribution. What comes from the future is g_t = b_t·β_t with β_t ∝ A g_{t+1}, or 1 where
a sequence ends. Both are normalized at each step. Then, with n_t = Σ_h p_t g_t,

- p(v_t | v_1 … v_{t−1}) = Σ_h p_t b_t, from its peak,
- the posterior is p_t·g_t / n_t,
- the expected transitions are A ∘ Σ_t α_{t−1} ⊗ g_t / n_t: one matrix product, no matrix for each step.

Numbers that far apart are 0 to the machine lose paths that only later prove to be the likely ones. Where that shows,
by a sum next to 0, everything is computed again with logarithms (`_log_forward_backward.py`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.models import _log_forward_backward as logarithms


class Chain(NamedTuple):
    """π and A: how sequences begin, and where each state leads. Rows of A may sum to less than 1."""

    initial: Float[Array, " k"]
    transitions: Float[Array, "k k"]


class Observed(NamedTuple):
    """Scores log p(v_t | h), where sequences begin, and the state before the first row if that one continues."""

    scores: Float[Array, "rows k"]
    first: Bool[Array, " rows"]
    before: Float[Array, " k"]


class Filtered(NamedTuple):
    """p(h_t | v_1 … v_t) and log p(v_t | v_1 … v_{t−1}) for each row."""

    states: Float[Array, "rows k"]
    evidence: Float[Array, " rows"]


class Smoothed(NamedTuple):
    """Also p(h_t | all of the sequence), and the expected transitions, each with the weight of the row it leads to."""

    filtered: Float[Array, "rows k"]
    evidence: Float[Array, " rows"]
    posterior: Float[Array, "rows k"]
    transitions: Float[Array, "k k"]


def filtered(chain: Chain, observed: Observed) -> Filtered:
    """Run forward."""
    b, peak = _from_peak(observed.scores)
    past = _forward(chain, b, observed.first, observed.before)
    states, total = _normalized(past * b)
    return jax.lax.cond(
        jnp.all(total > _least(b)),
        lambda: Filtered(states, jnp.log(total) + peak),
        lambda: Filtered(*logarithms.filtered(chain, observed)),
    )


def smoothed(chain: Chain, observed: Observed, weight: Float[Array, " rows"]) -> Smoothed:
    """Run forward and backward."""
    b, peak = _from_peak(observed.scores)
    past = _forward(chain, b, observed.first, observed.before)
    future = _backward(chain, b, observed.first)
    states, total = _normalized(past * b)
    posterior, both = _normalized(past * future)

    def quick() -> Smoothed:
        share = jnp.where(observed.first, 0, weight) / both
        before = jnp.concatenate([observed.before[None], states[:-1]])
        counts = chain.transitions * (before.T @ (future * share[:, None]))
        return Smoothed(states, jnp.log(total) + peak, posterior, counts)

    least = _least(b)
    return jax.lax.cond(
        jnp.all((total > least) & (both > least)),
        quick,
        lambda: Smoothed(*logarithms.smoothed(chain, observed, weight)),
    )


def _from_peak(scores: Float[Array, "rows k"]) -> tuple[Float[Array, "rows k"], Float[Array, " rows"]]:
    """Return exp(score − peak) and the peak. A row that no state explains says nothing of them: it is all 1."""
    peak = jnp.max(scores, axis=-1)
    sound = jnp.isfinite(peak)
    away = jnp.where(sound[:, None], scores - jnp.where(sound, peak, 0)[:, None], 0)
    return jnp.exp(away), peak


def _least(like: Array) -> float:
    """Return what is next to 0: from there on lost paths might count."""
    return float(np.finfo(like.dtype).tiny) ** 0.5


def _normalized(value: Float[Array, "rows k"]) -> tuple[Float[Array, "rows k"], Float[Array, " rows"]]:
    total = jnp.sum(value, axis=-1)
    return value / total[:, None], total


def _forward(
    chain: Chain, b: Float[Array, "rows k"], first: Bool[Array, " rows"], before: Float[Array, " k"]
) -> Float[Array, "rows k"]:
    """Return p_t: what the past says of each row's state."""

    def step(alpha: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here, begins = row
        past = jnp.where(begins, chain.initial, alpha @ chain.transitions)
        joint = past * here
        return joint / jnp.sum(joint), past

    return jax.lax.scan(step, before, (b, first))[1]


def _backward(chain: Chain, b: Float[Array, "rows k"], first: Bool[Array, " rows"]) -> Float[Array, "rows k"]:
    """Return g_t: what each row and its future say of its state."""

    def step(beta: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here, begins = row
        future = here * beta
        earlier = chain.transitions @ future
        return jnp.where(begins, 1, earlier / jnp.sum(earlier)), future

    return jax.lax.scan(step, jnp.ones_like(b[0]), (b, first), reverse=True)[1]
