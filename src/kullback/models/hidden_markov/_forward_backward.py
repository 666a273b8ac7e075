"""What observations say of a hidden chain: the forward–backward recursion.

Rows stand one below the other, `starts` marks those that begin a sequence. With the scores log p(v_t | h), seen from
their peak in each row as b_t, what comes from the past is p_t = α_{t−1}A, or π where a sequence begins, and
α_t ∝ p_t·b_t is the filtered distribution. What comes from the future is g_t = b_t·β_t with β_t ∝ A g_{t+1}, or 1 where
a sequence ends. Both are normalized at each step. Then, with n_t = Σ_h p_t g_t,

- p(v_t | v_1 … v_{t−1}) = Σ_h p_t b_t, from its peak,
- the posterior is p_t·g_t / n_t,
- the expected transitions are A ∘ Σ_t α_{t−1} ⊗ g_t / n_t.

The loops are in `_sweeps.py`. A path that is 0 to the machine may later prove to be the likely one. Then past and
future disagree, n_t is next to 0, and everything is computed again with logarithms (`_log_forward_backward.py`).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from kullback.models.hidden_markov import _log_forward_backward as logarithms
from kullback.models.hidden_markov._chain import Chain, Filtered, Observed, Smoothed
from kullback.models.hidden_markov._sweeps import (
    Ahead,
    Counted,
    Likelihoods,
    backward,
    forward,
    nothing_ahead,
    predictive,
)


def log_evidence(chain: Chain, observed: Observed) -> Float[Array, " rows"]:
    """Return log p(v_t | v_1 … v_{t−1}) for each row. Run forward, and ask as `filter_states` does."""
    seen, peak = likelihoods(observed)
    total = predictive(chain, seen, observed.starts, observed.before)

    def heard() -> Bool[Array, ""]:
        return is_reliable(_sweep(chain, observed, seen)[1].least)

    return jax.lax.cond(
        _agrees(chain, total, heard),
        lambda: jnp.log(total) + peak,
        lambda: logarithms.filter_states(chain, observed).evidence,
    )


def filter_states(chain: Chain, observed: Observed) -> Filtered:
    """Run forward. Where A has zeros a path can be lost for good: then the future is asked whether one was missed."""
    seen, peak = likelihoods(observed)
    past, _ = forward(chain, seen, observed.starts, observed.before)
    joint = past * seen.rows
    total = joint @ jnp.ones_like(chain.initial)

    def heard() -> Bool[Array, ""]:
        return is_reliable(_back(chain, observed, seen, past).least)

    return jax.lax.cond(
        _agrees(chain, total, heard),
        lambda: Filtered(joint / total[:, None], jnp.log(total) + peak),
        lambda: logarithms.filter_states(chain, observed),
    )


def smooth_states(chain: Chain, observed: Observed, weight: Float[Array, " rows"], row: Int[Array, ""]) -> Smoothed:
    """Run forward and backward; `row` is the one whose filtered states are asked for."""
    seen, peak = likelihoods(observed)
    past, found = _sweep(chain, observed, seen, weight)
    return jax.lax.cond(
        is_reliable(found.least),
        lambda: Smoothed(
            found.share,
            jnp.log(found.total) + peak,
            expected_transitions(chain, observed.before, found.moves, found.ahead),
            filtered_at(past, seen, row),
        ),
        lambda: logarithms.smooth_states(chain, observed, weight, row),
    )


# --- parts of it ---------------------------------------------------------------------------------------------


def likelihoods(observed: Observed) -> tuple[Likelihoods, Float[Array, " rows"]]:
    """Return exp(score − peak), and the peak of each row.

    A row that no state explains says nothing of them: it is all 1.
    """
    scores = observed.scores
    peak = jnp.max(scores, axis=-1)
    most = float(np.finfo(scores.dtype).max) / 4
    apart: Any = jax.lax.optimization_barrier  # or the peak is looked for again at every entry; it has no types
    shift = apart(jnp.clip(peak, -most, most))
    seen = Likelihoods(jnp.exp(jnp.clip(scores, -most, most) - shift[:, None]), observed.place)
    return seen, peak if observed.place is None else peak[observed.place]


def expected_transitions(
    chain: Chain, before: Float[Array, " k"], moves: Float[Array, "k k"], ahead: Ahead
) -> Float[Array, "k k"]:
    """Return the transitions that backward sweeps have counted, with that to the first row."""
    return chain.transitions * (moves + (before / jnp.sum(before))[:, None] * ahead.future)


def filtered_at(past: Float[Array, "rows k"], seen: Likelihoods, row: Int[Array, ""]) -> Float[Array, " k"]:
    """Return p(h_t | v_1 … v_t) of one row."""
    joint = past[row] * seen.at(seen.steps[row])
    return joint / jnp.sum(joint)


def is_reliable(least: Float[Array, "..."]) -> Bool[Array, ""]:
    """Whether numbers are all above what is next to 0: from there on lost paths might count."""
    return jnp.all(least > _next_to_0(least))


def _next_to_0(like: Array) -> float:
    return float(np.finfo(like.dtype).tiny) ** 0.5


def _agrees(chain: Chain, total: Float[Array, " rows"], heard: Any) -> Bool[Array, ""]:
    lossy = jnp.any(chain.transitions < _next_to_0(total))
    found: Array = jax.lax.cond(lossy, heard, lambda: is_reliable(total))
    return found


def _sweep(
    chain: Chain, observed: Observed, seen: Likelihoods, weight: Float[Array, " rows"] | None = None
) -> tuple[Float[Array, "rows k"], Counted]:
    past, _ = forward(chain, seen, observed.starts, observed.before)
    return past, _back(chain, observed, seen, past, weight)


def _back(
    chain: Chain,
    observed: Observed,
    seen: Likelihoods,
    past: Float[Array, "rows k"],
    weight: Float[Array, " rows"] | None = None,
) -> Counted:
    weight = jnp.ones_like(past[:, 0]) if weight is None else weight
    return backward(chain, seen, observed.starts, weight, past, nothing_ahead(chain.initial))
