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

from kullback.models.hidden_markov import _log_forward_backward as logarithms
from kullback.models.hidden_markov._chain import Chain, Filtered, Observed, Smoothed


def filter_states(chain: Chain, observed: Observed) -> Filtered:
    """Run forward. Where A has zeros a path can be lost for good: then the future is asked whether one was missed."""
    b, peak = relative_likelihoods(observed.scores)
    incoming, last = forward(chain, b, observed.starts, observed.before)
    past = _past(chain, incoming, observed.starts)
    total = jnp.einsum("tk,tk->t", past, b)
    tiny = smallest_reliable(b)

    def heard() -> Array:
        future, _ = backward(chain, b, observed.starts, jnp.ones_like(last))
        return jnp.all(jnp.einsum("tk,tk->t", past, future) > tiny)

    agrees = jax.lax.cond(jnp.any(chain.transitions < tiny), heard, lambda: jnp.all(total > tiny))
    return jax.lax.cond(
        agrees,
        lambda: Filtered(jnp.concatenate([incoming[1:], last[None]]), jnp.log(total) + peak),
        lambda: logarithms.filter_states(chain, observed),
    )


def smooth_states(chain: Chain, observed: Observed, weight: Float[Array, " rows"], row: Int[Array, ""]) -> Smoothed:
    """Run forward and backward; `row` is the one whose filtered states are asked for."""
    b, peak = relative_likelihoods(observed.scores)
    incoming, last = forward(chain, b, observed.starts, observed.before)
    future, _ = backward(chain, b, observed.starts, jnp.ones_like(observed.before))
    found = combine_messages(chain, Messages(b, observed.starts, weight, incoming, future))
    after = jnp.minimum(row + 1, weight.shape[0] - 1)
    return jax.lax.cond(
        jnp.all(found.both > smallest_reliable(b)),
        lambda: Smoothed(
            found.share,
            jnp.log(found.total) + peak,
            found.transitions,
            jnp.where(after == row + 1, incoming[after], last),
        ),
        lambda: logarithms.smooth_states(chain, observed, weight, row),
    )


# --- the steps of it -----------------------------------------------------------------------------------------


class Messages(NamedTuple):
    """What meets at each row."""

    b: Float[Array, "rows k"]
    starts: Bool[Array, " rows"]
    weight: Float[Array, " rows"]
    incoming: Float[Array, "rows k"]  # α_{t−1}
    future: Float[Array, "rows k"]  # g_t


class Joined(NamedTuple):
    """What comes of it."""

    share: Float[Array, "rows k"]
    total: Float[Array, " rows"]  # Σ p_t b_t
    both: Float[Array, " rows"]  # Σ p_t g_t
    transitions: Float[Array, "k k"]


def combine_messages(chain: Chain, here: Messages) -> Joined:
    """Put what comes from the past and from the future together."""
    past = _past(chain, here.incoming, here.starts)
    ones = jnp.ones_like(chain.initial)  # a product with it, for the compiler would take a sum again at every entry
    both = (past * here.future) @ ones
    future = here.future * (here.weight / both)[:, None]
    counts = (here.incoming * jnp.where(here.starts, 0, 1)[:, None]).T @ future
    return Joined(past * future, (past * here.b) @ ones, both, chain.transitions * counts)


def relative_likelihoods(scores: Float[Array, "rows k"]) -> tuple[Float[Array, "rows k"], Float[Array, " rows"]]:
    """Return exp(score − peak) and the peak. A row that no state explains says nothing of them: it is all 1."""
    peak = jnp.max(scores, axis=-1)
    most = float(np.finfo(scores.dtype).max) / 4
    apart: Any = jax.lax.optimization_barrier  # or the peak is looked for again at every entry; it has no types
    shift = apart(jnp.clip(peak, -most, most))
    return jnp.exp(jnp.clip(scores, -most, most) - shift[:, None]), peak


def smallest_reliable(like: Array) -> float:
    """Return what is next to 0: from there on lost paths might count."""
    return float(np.finfo(like.dtype).tiny) ** 0.5


def _past(chain: Chain, incoming: Float[Array, "rows k"], first: Bool[Array, " rows"]) -> Float[Array, "rows k"]:
    return jnp.where(first[:, None], chain.initial, incoming @ chain.transitions)


# Products of a vector and a matrix are written as sums: in a loop that is quicker than a call of a library.


def forward(
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


def backward(
    chain: Chain, b: Float[Array, "rows k"], first: Bool[Array, " rows"], after: Float[Array, " k"]
) -> tuple[Float[Array, "rows k"], Float[Array, " k"]]:
    """Return g_t for each row, and what the first row says of the one before it; `after` is what the last one hears."""
    turned = chain.transitions.T

    def step(beta: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here, begins = row
        future = here * (beta / jnp.sum(beta))
        return jnp.where(begins, 1, jnp.sum(future[:, None] * turned, axis=0)), future

    beta, future = jax.lax.scan(step, after, (b, first), reverse=True)
    return future, beta
