"""What observations say of a hidden chain: the forward–backward recursion.

Rows stand one below the other, `first` marks those that begin a sequence. With the scores log p(v_t | h), seen from
their peak in each row as b_t, what comes from the past is p_t = α_{t−1}A, or π where a sequence begins, and
α_t ∝ p_t·b_t is the filtered distribution. What comes from the future is g_t = b_t·β_t with β_t ∝ A g_{t+1}, or 1 where
a sequence ends. Both are normalized at each step. Then, with n_t = Σ_h p_t g_t,

- p(v_t | v_1 … v_{t−1}) = Σ_h p_t b_t, from its peak,
- the posterior is p_t·g_t / n_t,
- the expected transitions are A ∘ Σ_t α_{t−1} ⊗ g_t / n_t: one matrix product, no matrix for each step.

A path that is 0 to the machine may later prove to be the likely one. Then past and future disagree, n_t is next to 0,
and everything is computed again with logarithms (`_log_forward_backward.py`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from kullback.models import _log_forward_backward as logarithms

#: Numbers of one kind that are worked on at once.
_AT_ONCE = 2**15


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
    """p(h_t | all of the sequence) times the weight of the row, and what else is asked for of both directions."""

    share: Float[Array, "rows k"]
    evidence: Float[Array, " rows"]  # log p(v_t | v_1 … v_{t−1})
    transitions: Float[Array, "k k"]  # expected, each with the weight of the row it leads to
    states: Float[Array, " k"]  # p(h_t | v_1 … v_t) of one row


def filtered(chain: Chain, observed: Observed) -> Filtered:
    """Run forward. Where A has zeros a path can be lost for good: then the future is asked whether one was missed."""
    b, peak = _from_peak(observed.scores)
    incoming, last = _forward(chain, b, observed.first, observed.before)
    past = _past(chain, incoming, observed.first)
    total = jnp.einsum("tk,tk->t", past, b)
    least = _least(b)
    agrees = jax.lax.cond(
        jnp.any(chain.transitions < least),
        lambda: jnp.all(jnp.einsum("tk,tk->t", past, _backward(chain, b, observed.first)) > least),
        lambda: jnp.all(total > least),
    )
    return jax.lax.cond(
        agrees,
        lambda: Filtered(jnp.concatenate([incoming[1:], last[None]]), jnp.log(total) + peak),
        lambda: Filtered(*logarithms.filtered(chain, observed)),
    )


def smoothed(chain: Chain, observed: Observed, weight: Float[Array, " rows"], row: Int[Array, ""]) -> Smoothed:
    """Run forward and backward; `row` is the one whose filtered states are asked for."""
    b, peak = _from_peak(observed.scores)
    incoming, last = _forward(chain, b, observed.first, observed.before)
    future = _backward(chain, b, observed.first)
    found = _joined(chain, _Messages(b, observed.first, weight, incoming, future))
    after = jnp.minimum(row + 1, weight.shape[0] - 1)
    return jax.lax.cond(
        jnp.all(found.both > _least(b)),
        lambda: Smoothed(
            found.share,
            jnp.log(found.total) + peak,
            found.transitions,
            jnp.where(after == row + 1, incoming[after], last),
        ),
        lambda: Smoothed(*logarithms.smoothed(chain, observed, weight, row)),
    )


class _Messages(NamedTuple):
    b: Float[Array, "rows k"]
    first: Bool[Array, " rows"]
    weight: Float[Array, " rows"]
    incoming: Float[Array, "rows k"]  # α_{t−1}
    future: Float[Array, "rows k"]  # g_t


class _Joined(NamedTuple):
    share: Float[Array, "rows k"]
    total: Float[Array, " rows"]  # Σ p_t b_t
    both: Float[Array, " rows"]  # Σ p_t g_t
    transitions: Float[Array, "k k"]


def _joined(chain: Chain, messages: _Messages) -> _Joined:
    """Put what comes from the past and from the future together, a few rows at a time: they stay in the cache."""
    rows, k = messages.b.shape
    block = min(rows, max(64, _AT_ONCE // k))
    ones = jnp.ones(k, messages.b.dtype)  # a product with it, for the compiler would take a sum again at every entry

    def one(index: Array, found: _Joined) -> _Joined:
        # the last block begins early enough to be full; what was counted before is not counted again
        start = jnp.minimum(index * block, rows - block)
        here = _Messages(*(jax.lax.dynamic_slice_in_dim(part, start, block) for part in messages))
        fresh = start + jnp.arange(block) >= index * block
        past = _past(chain, here.incoming, here.first)
        both = (past * here.future) @ ones
        future = here.future * (here.weight / both)[:, None]
        counts = (here.incoming * jnp.where(here.first | ~fresh, 0, 1)[:, None]).T @ future
        parts = (past * future, (past * here.b) @ ones, both)
        share, total, both = (
            jax.lax.dynamic_update_slice_in_dim(whole, part, start, 0)
            for whole, part in zip(found[:3], parts, strict=True)
        )
        return _Joined(share, total, both, found.transitions + chain.transitions * counts)

    none = jnp.zeros_like(messages.weight)
    nothing = _Joined(jnp.zeros_like(messages.b), none, none, jnp.zeros_like(chain.transitions))
    return jax.lax.fori_loop(0, -(-rows // block), one, nothing)


def _from_peak(scores: Float[Array, "rows k"]) -> tuple[Float[Array, "rows k"], Float[Array, " rows"]]:
    """Return exp(score − peak) and the peak. A row that no state explains says nothing of them: it is all 1."""
    peak = jnp.max(scores, axis=-1)
    most = float(np.finfo(scores.dtype).max) / 4
    apart: Any = jax.lax.optimization_barrier  # or the peak is looked for again at every entry; it has no types
    shift = apart(jnp.clip(peak, -most, most))
    return jnp.exp(jnp.clip(scores, -most, most) - shift[:, None]), peak


def _least(like: Array) -> float:
    """Return what is next to 0: from there on lost paths might count."""
    return float(np.finfo(like.dtype).tiny) ** 0.5


def _past(chain: Chain, incoming: Float[Array, "rows k"], first: Bool[Array, " rows"]) -> Float[Array, "rows k"]:
    return jnp.where(first[:, None], chain.initial, incoming @ chain.transitions)


# Products of a vector and a matrix are written as sums: in a loop that is quicker than a call of a library.


def _forward(
    chain: Chain, b: Float[Array, "rows k"], first: Bool[Array, " rows"], before: Float[Array, " k"]
) -> tuple[Float[Array, "rows k"], Float[Array, " k"]]:
    """Return α_{t−1} for each row t, and that of the last row."""

    def step(joint: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here, begins = row
        alpha = joint / jnp.sum(joint)
        past = jnp.where(begins, chain.initial, jnp.sum(alpha[:, None] * chain.transitions, axis=0))
        return past * here, alpha

    joint, incoming = jax.lax.scan(step, before, (b, first))
    return incoming, joint / jnp.sum(joint)


def _backward(chain: Chain, b: Float[Array, "rows k"], first: Bool[Array, " rows"]) -> Float[Array, "rows k"]:
    """Return g_t: what each row and its future say of its state."""
    turned = chain.transitions.T

    def step(beta: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here, begins = row
        future = here * (beta / jnp.sum(beta))
        return jnp.where(begins, 1, jnp.sum(future[:, None] * turned, axis=0)), future

    return jax.lax.scan(step, jnp.ones_like(b[0]), (b, first), reverse=True)[1]
