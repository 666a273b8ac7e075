"""Paths of a hidden chain: the most probable one, and draws."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.models.hidden_markov._chain import Chain, Observed
from kullback.runtime import one_kernel


def most_probable_path(chain: Chain, observed: Observed) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
    """Return the path of the largest joint probability, and what each row adds to its logarithm (Viterbi).

    A row that cannot be adds −inf and says nothing of the states.
    """
    kernel, initial = jnp.log(chain.transitions), jnp.log(chain.initial)
    before, steps = jnp.log(observed.before), (observed.places, observed.starts)
    best, added, begins = _best_scores(kernel, initial, observed.scores, steps, before)
    return _best_states(kernel, best, begins), added


@one_kernel
def _best_scores(
    kernel: Float[Array, "k k"],
    initial: Float[Array, " k"],
    scores: Float[Array, "distinct k"],
    steps: tuple[Int[Array, " rows"], Bool[Array, " rows"]],
    before: Float[Array, " k"],
) -> tuple[Float[Array, "rows k"], Float[Array, " rows"], Bool[Array, " rows"]]:
    """Return the best score of a path that ends in each state, from its peak; what a row adds; which rows begin."""

    def step(best: Array, row: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array, Array]]:
        place, begins = row
        score = scores[place]
        past = jnp.max(best[:, None] + kernel, axis=0)
        lost = jnp.max(past) == -jnp.inf
        past = jnp.where(begins | lost, initial, past)
        total = jnp.max(past + score)
        explained = jnp.isfinite(total)
        joint = past + jnp.where(explained, score, 0)
        added = jnp.where(explained & (begins | ~lost), total, -jnp.inf)
        best = joint - jnp.max(joint)
        return best, (best, added, begins | lost)

    return jax.lax.scan(step, before, steps)[1]


@one_kernel
def _best_states(
    kernel: Float[Array, "k k"], best: Float[Array, "rows k"], begins: Bool[Array, " rows"]
) -> Int[Array, " rows"]:
    """Return the path, last row first: of each state only the best one before it is looked for."""
    onward = kernel.T

    def step(following: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        state, ends = following
        here, begins = row
        state = jnp.argmax(jnp.where(ends, here, here + onward[state]))
        return (state, begins), state

    return jax.lax.scan(step, (jnp.asarray(0), jnp.asarray(True)), (best, begins), reverse=True)[1]


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
