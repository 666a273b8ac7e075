"""The forward–backward recursion with logarithms: slower, and right however unlikely the data is.

A row that cannot be, given the rows before it, has a likelihood of 0. It says nothing of the states: they go on as the
chain predicts. A row that no state leads to begins anew.
"""

import jax
import jax.numpy as jnp
from jax.nn import logsumexp
from jaxtyping import Array, Bool, Float, Int

from kullback.models.hidden_markov._chain import Chain, Filtered, Observed, Smoothed


def filter_states(chain: Chain, observed: Observed) -> Filtered:
    """Return p(h_t | v_1 … v_t) and log p(v_t | v_1 … v_{t−1}) for each row."""
    _, alpha, evidence, _ = _forward(chain, observed)
    return Filtered(jnp.exp(alpha), evidence)


def smooth_states(chain: Chain, observed: Observed, weight: Float[Array, " rows"], row: Int[Array, ""]) -> Smoothed:
    """Return the weighted posterior, the evidence, the expected transitions and the filtered states of one row."""
    past, alpha, evidence, begins = _forward(chain, observed)
    before = jnp.concatenate([jnp.log(observed.before)[None], alpha[:-1]])
    kernel = jnp.log(chain.transitions)

    def step(carry: tuple[Array, Array], row: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
        beta, counts = carry
        score, possible, begin, here, earlier, w = row
        future = jnp.where(possible, score, 0) + beta
        both = here + future
        total = logsumexp(both)
        pairs = earlier[:, None] + kernel + future - total
        counts = counts + jnp.where(begin | (w <= 0), 0, w * jnp.exp(pairs))
        before = logsumexp(kernel + future, axis=1)
        beta = jnp.where(begin, 0, before - jnp.max(before))
        return (beta, counts), w * jnp.exp(both - total)

    start = (jnp.zeros_like(observed.before), jnp.zeros_like(chain.transitions))
    rows = (observed.rows, jnp.isfinite(evidence), begins, past, before, weight)
    (_, counts), share = jax.lax.scan(step, start, rows, reverse=True)
    return Smoothed(share, evidence, counts, jnp.exp(alpha[row]))


def _forward(
    chain: Chain, observed: Observed
) -> tuple[Float[Array, "rows k"], Float[Array, "rows k"], Float[Array, " rows"], Bool[Array, " rows"]]:
    """Return logarithms: of what the past says, of the filtered states, of the evidence; and which rows begin."""
    kernel, initial = jnp.log(chain.transitions), jnp.log(chain.initial)

    def step(alpha: Array, row: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array, Array, Array]]:
        score, begins = row
        past = logsumexp(alpha[:, None] + kernel, axis=0)
        lost = jnp.max(past) == -jnp.inf
        past = jnp.where(begins | lost, initial, past)
        total = jnp.where(lost & ~begins, -jnp.inf, logsumexp(past + score))
        explained = jnp.isfinite(total)
        joint = past + jnp.where(explained, score, 0)
        alpha = joint - logsumexp(joint)
        return alpha, (past, alpha, total, begins | lost)

    return jax.lax.scan(step, jnp.log(observed.before), (observed.rows, observed.starts))[1]
