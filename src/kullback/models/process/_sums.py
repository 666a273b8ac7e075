"""Sums over the memories of a process, and walks of memories along the rows of a batch."""

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from kullback.core import Batch, TimeIndex
from kullback.models.process._generative import FiniteGenerative, FinitePair
from kullback.runtime import filter_jit, quick_jit

if TYPE_CHECKING:
    from kullback.models.process._mutable_process import MutableProcess

#: Memories of up to so many states are summed out by going through them.
MOST_STATES = 2**10

_compiled = functools.partial(filter_jit, compiler=quick_jit)


def check_few(process: "MutableProcess") -> None:
    """Refuse to go through the states of a memory that has too many."""
    if process.n_states > MOST_STATES:
        raise ValueError(
            f"the memory has {process.n_states} states, and only up to {MOST_STATES} are gone through: score such a "
            "process by `predict_rows`."
        )


def starts_of(batch: Batch) -> Bool[Array, " rows"]:
    """Return which rows begin a sequence; without a time index the first row does, and the others follow it."""
    if batch.observed is not None:
        raise ValueError("rows with missing entries do not move a memory: fill them in first, with a model of rows.")
    return jnp.arange(len(batch.values)) == 0 if batch.time is None else jnp.asarray(batch.time.starts)


@_compiled
def log_likelihood(process: "MutableProcess", batch: Batch) -> Float[Array, " rows"]:
    """Return log p(x_t | rows before it), by the forward recursion over memories."""
    check_few(process)
    states, rows, starts = process.states(), jnp.asarray(batch.values), starts_of(batch).at[0].set(True)
    even = jnp.full(process.n_states, -jnp.log(process.n_states))

    def step(carry: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        (log_law, before), (x, begins) = carry, row
        seen = log_law + process.log_prediction(states, before, x)
        gain = jax.nn.logsumexp(seen)
        natural = process.expected_natural(states, before)
        moves = process.log_memory(natural[:, None], states[None])
        moved = jax.nn.logsumexp((seen - gain)[:, None] + moves, axis=0)
        return (jnp.where(begins, even, moved), x), jnp.where(begins, 0, gain)

    like = jax.eval_shape(lambda: step((even, rows[0]), (rows[0], starts[0]))[0][0])
    return jax.lax.scan(step, (even.astype(like.dtype), rows[0]), (rows, starts))[1]


@_compiled
def energy(process: "MutableProcess", v: Num[Array, "..."], h: Any) -> Float[Array, "..."]:
    """Return −log p(h, v), or −log p(v), of sequences whose first row is given."""
    event = process.blank_row().ndim
    lead, length = v.shape[: v.ndim - event - 1], v.shape[v.ndim - event - 1]
    rows = v.reshape(-1, *v.shape[v.ndim - event :])
    if h is None:
        time = TimeIndex(np.arange(rows.shape[0]) % length == 0)
        return -jnp.sum(log_likelihood(process, Batch(rows, time=time)).reshape(*lead, length), axis=-1)
    several = rows.reshape(-1, length, *rows.shape[1:])
    paths = h.reshape(len(several), length, *np.shape(process.origin))
    before, after = (paths[:, :-1], several[:, :-1]), (paths[:, 1:], several[:, 1:])
    steps = process.log_memory(process.expected_natural(*before), after[0])
    steps = steps + process.log_prediction(*before, after[1])
    return (jnp.log(process.n_states) - jnp.sum(steps, axis=-1)).reshape(lead)


@_compiled
def memories_along(process: "MutableProcess", batch: Batch, key: Array, chains: int) -> Num[Array, "rows chains ..."]:
    """Return the memories of chains that q moves along the rows, each before its row is seen."""
    rows, starts = jnp.asarray(batch.values), starts_of(batch).at[0].set(True)
    first, second = jax.random.split(key)
    begin, noise = process.start(first, chains), process.noise(second, (len(rows), chains))

    def step(z: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        x, begins, noise = row
        z = jnp.where(begins, begin, z)
        return process.step(process.memory_natural(z, x), noise).astype(z.dtype), z

    return jax.lax.scan(step, begin, (rows, starts, noise))[1]


@_compiled
def predict_rows(process: "MutableProcess", batch: Batch, key: Array, chains: int) -> Float[Array, " rows"]:
    """Return the log of the mean of p(x' | z, x) over chains, for each row that follows another."""
    z, rows = memories_along(process, batch, key, chains), jnp.asarray(batch.values)
    each = process.log_prediction(z[:-1], rows[:-1, None], rows[1:, None])
    mixed = jax.nn.logsumexp(each, axis=1) - jnp.log(chains)
    return jnp.concatenate([jnp.zeros(1, mixed.dtype), jnp.where(starts_of(batch)[1:], 0, mixed)])


@_compiled
def draw_sequence(
    process: "MutableProcess", key: Array, length: int
) -> tuple[Num[Array, "steps ..."], Num[Array, "steps ..."]]:
    """Draw memories and rows from p(z', x' | z, x)."""
    if length < 1:
        raise ValueError(f"length is {length}: draw one row at least.")
    first, second, third, fourth, keys = jax.random.split(key, 5)
    z = process.start(first, 1)[0]
    x = process.prediction(process.start(second, 1)[0], process.blank_row()).sample(third)
    noise = process.noise(fourth, (length - 1,))

    def step(carry: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[Any, tuple[Array, Array]]:
        (z, x), (key, noise) = carry, row
        after = process.step(process.expected_natural(z, x), noise).astype(z.dtype)
        following = process.prediction(z, x).sample(key).astype(x.dtype)
        return (after, following), (after, following)

    _, (memories, rows) = jax.lax.scan(step, (z, x), (jax.random.split(keys, length - 1), noise))
    return jnp.concatenate([z[None], memories]), jnp.concatenate([x[None], rows])


@_compiled
def pair(process: "MutableProcess") -> FinitePair:
    """Return q and p as tables."""
    check_few(process)
    z, x = process.states(), jnp.arange(process.symbols)
    here, there = jnp.expand_dims(z, 1), jnp.expand_dims(z, (0, 1))
    does, expected = process.memory_natural(here, x), process.expected_natural(here, x)
    memory = jnp.exp(process.log_memory(does[:, :, None], there))
    later = jnp.exp(process.log_memory(expected[:, :, None], there))
    free = process.prediction_free(here, x)[:, :, None]
    prediction = jnp.exp(process.visible_kind.log_prob_at("free", free, x))
    return FinitePair(memory, FiniteGenerative.independent(later, prediction))
