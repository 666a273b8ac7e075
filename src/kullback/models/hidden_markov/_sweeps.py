"""The two sweeps of the forward–backward recursion, each a loop in one kernel.

A step has few numbers, and calling an operation takes longer than computing it. So a sweep is one kernel, and does at
each step all there is to do: what else would be done by reading long arrays again.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from kullback.models.hidden_markov._chain import Chain
from kullback.runtime import one_kernel


class Likelihoods(NamedTuple):
    """b_t for each row: as rows of `b`, or those of the few different rows and which one each is."""

    b: Float[Array, "rows k"]
    place: Int[Array, " steps"] | None = None

    @property
    def rows(self) -> Float[Array, "steps k"]:
        """b_t of each row."""
        return self.b if self.place is None else self.b[self.place]

    @property
    def steps(self) -> Array:
        """What a loop goes over."""
        return self.b if self.place is None else self.place

    def at(self, step: Array) -> Float[Array, " k"]:
        """Return b_t, given one of `steps`."""
        return step if self.place is None else self.b[step]


class Ahead(NamedTuple):
    """What is known behind a row that a backward sweep comes to: β_t, and g_{t+1}·w_{t+1}/n_{t+1} or 0 at an end."""

    beta: Float[Array, " k"]
    future: Float[Array, " k"]


class Counted(NamedTuple):
    """What a backward sweep has found."""

    ahead: Ahead  # of the row before the first
    moves: Float[Array, "k k"]  # Σ α_{t−1} ⊗ g_t·w_t/n_t, but for what leads to the first row
    begun: Float[Array, " k"]  # the posteriors of rows that begin
    least: Float[Array, ""]  # the smallest n_t
    total: Float[Array, " steps"]  # Σ p_t b_t
    share: Float[Array, "rows k"]  # the weighted posterior: of each row, or added up for each of the different rows


def nothing_ahead(like: Float[Array, " k"]) -> Ahead:
    """Return what is known behind the last row."""
    return Ahead(jnp.full_like(like, 1 / like.shape[0]), jnp.zeros_like(like))


@one_kernel
def forward(
    chain: Chain, seen: Likelihoods, starts: Bool[Array, " rows"], before: Float[Array, " k"]
) -> tuple[Float[Array, "rows k"], Float[Array, " k"]]:
    """Return p_t for each row, and α of the last row."""

    def step(joint: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here, begins = row
        past = jnp.where(begins, chain.initial, (joint @ chain.transitions) / jnp.sum(joint))
        return past * seen.at(here), past

    joint, past = jax.lax.scan(step, before, (seen.steps, starts))
    return past, joint / jnp.sum(joint)


@one_kernel
def predictive(
    chain: Chain, seen: Likelihoods, starts: Bool[Array, " rows"], before: Float[Array, " k"]
) -> Float[Array, " rows"]:
    """Return Σ p_t b_t for each row: the same sweep, where nothing else is asked for."""

    def step(alpha: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        here, begins = row
        joint = jnp.where(begins, chain.initial, alpha @ chain.transitions) * seen.at(here)
        total = jnp.sum(joint)
        return joint / total, total

    return jax.lax.scan(step, before / jnp.sum(before), (seen.steps, starts))[1]


def backward(
    chain: Chain,
    seen: Likelihoods,
    starts: Bool[Array, " rows"],
    weight: Float[Array, " rows"],
    past: Float[Array, "rows k"],
    ahead: Ahead,
) -> Counted:
    """Go back from the last row, and put what comes from the past and from the future together at each."""
    return _backward(chain.transitions, seen, starts, weight, past, ahead)


def backward_in_sum(
    chain: Chain,
    seen: Likelihoods,
    starts: Bool[Array, " rows"],
    weight: Float[Array, " rows"],
    past: Float[Array, "rows k"],
    ahead: Ahead,
) -> Counted:
    """Do the same, and add up the posteriors of each of the different rows."""
    return _backward_in_sum(chain.transitions, seen, starts, weight, past, ahead)


def _backward_of(each: bool) -> Any:
    """Return the sweep that keeps the posterior of each row, or its sum over equal rows."""

    def sweep(
        transitions: Array, seen: Likelihoods, starts: Array, weight: Array, past: Array, ahead: Ahead
    ) -> Counted:
        k, turned = len(transitions), transitions.T

        def step(carry: tuple[Array, ...], row: tuple[Array, ...]) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
            beta, behind, moves, begun, least, sums = carry
            here, begins, p, w = row
            b = seen.at(here)
            joint = p * b
            total = jnp.sum(joint)
            moves = moves + (joint / total)[:, None] * behind
            future = b * beta
            both = jnp.sum(p * future)
            counted = future * (w / both)
            share = p * counted
            onward = future @ turned
            beta = jnp.where(begins, 1 / k, onward / jnp.sum(onward))
            if not each:
                sums = jax.lax.dynamic_update_index_in_dim(sums, sums[here] + share, here, 0)
            begun = begun + jnp.where(begins, share, 0)
            after = (beta, jnp.where(begins, 0, counted), moves, begun, jnp.minimum(least, both), sums)
            return after, (total, share if each else None)

        none = jnp.zeros_like(transitions[0])
        sums = none if each else jnp.zeros_like(seen.b)
        start = (*ahead, jnp.zeros_like(transitions), none, jnp.full_like(none[0], jnp.inf), sums)
        rows = (seen.steps, starts, past, weight)
        (beta, behind, moves, begun, least, sums), (total, share) = jax.lax.scan(step, start, rows, reverse=True)
        return Counted(Ahead(beta, behind), moves, begun, least, total, share if each else sums)

    return one_kernel(sweep)


_backward, _backward_in_sum = _backward_of(each=True), _backward_of(each=False)
