"""Paths of a hidden chain: the most probable one, and draws."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.models.hidden_markov._chain import Chain, Observed


def most_probable_path(chain: Chain, observed: Observed) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
    """Return the path of the largest joint probability, and what each row adds to its logarithm (Viterbi).

    A row that cannot be adds −inf and says nothing of the states.
    """
    kernel, initial = jnp.log(chain.transitions), jnp.log(chain.initial)

    def forward(best: Array, row: tuple[Array, Array]) -> tuple[Array, tuple[Array, ...]]:
        score, begins = row
        arriving = best[:, None] + kernel
        past = jnp.max(arriving, axis=0)
        lost = jnp.max(past) == -jnp.inf
        past = jnp.where(begins | lost, initial, past)
        total = jnp.max(past + score)
        explained = jnp.isfinite(total)
        joint = past + jnp.where(explained, score, 0)
        added = jnp.where(explained & (begins | ~lost), total, -jnp.inf)
        best = joint - jnp.max(joint)
        return best, (best, jnp.argmax(arriving, axis=0), added, begins | lost)

    def backward(state: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        best, come_from, begins = row
        here = jnp.where(state < 0, jnp.argmax(best), state)
        return jnp.where(begins, -1, come_from[here]), here

    rows = (observed.scores, observed.starts)
    _, (best, come_from, added, begins) = jax.lax.scan(forward, jnp.log(observed.before), rows)
    _, states = jax.lax.scan(backward, jnp.asarray(-1), (best, come_from, begins), reverse=True)
    return states, added


def draw_path_given(
    chain: Chain, states: Float[Array, "rows k"], first: Bool[Array, " rows"], key: Array
) -> Int[Array, " rows"]:
    """Draw a path from the posterior, last row first: h_t ~ p(h_t | v_1 … v_t)·a(h_t, h_{t+1})."""
    kernel = jnp.log(chain.transitions)
    ends = jnp.concatenate([first[1:], jnp.ones(1, bool)])
    keys = jax.random.split(key, states.shape[0])

    def step(following: Array, row: tuple[Array, ...]) -> tuple[Array, Array]:
        state, last, own = row
        onward = state + kernel[:, following]
        # after a row that no state leads to there is nothing to continue
        alone = last | (jnp.max(onward) == -jnp.inf)
        here = jax.random.categorical(own, jnp.where(alone, state, onward))
        return here, here

    return jax.lax.scan(step, jnp.asarray(0), (jnp.log(states), ends, keys), reverse=True)[1]


def draw_path(chain: Chain, key: Array, length: int) -> Int[Array, " steps"]:
    """Draw the states of one sequence. Where rows of A sum to less than 1 it may end: then K stands for the end."""
    k = chain.initial.shape[0]
    rest = jnp.maximum(1 - jnp.sum(chain.transitions, axis=1), 0)
    rest = jnp.where(rest > 1e-6, rest, 0)  # rows that sum to 1 do so up to rounding
    onward = jnp.concatenate([chain.transitions, rest[:, None]], axis=1)
    stay = jnp.concatenate([jnp.zeros(k), jnp.ones(1)])[None]
    kernel = jnp.log(jnp.concatenate([onward, stay.astype(onward.dtype)]))
    start = jnp.log(jnp.concatenate([chain.initial, jnp.zeros(1, chain.initial.dtype)]))

    def step(logits: Array, t: Array) -> tuple[Array, Array]:
        # the draw of a step depends on its place alone: a longer sequence begins like a shorter one
        state = jax.random.categorical(jax.random.fold_in(key, t), logits)
        return kernel[state], state

    return jax.lax.scan(step, start, jnp.arange(length))[1]
