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

#: Of so many states or fewer, transitions are added up step by step; of more, one product of long matrices is quicker.
_FEW = 8


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
    return _back(chain, seen, starts, weight, past, ahead, each=True)


def backward_in_sum(
    chain: Chain,
    seen: Likelihoods,
    starts: Bool[Array, " rows"],
    weight: Float[Array, " rows"],
    past: Float[Array, "rows k"],
    ahead: Ahead,
) -> Counted:
    """Do the same, and add up the posteriors of each of the different rows."""
    return _back(chain, seen, starts, weight, past, ahead, each=False)


def _back(
    chain: Chain, seen: Likelihoods, starts: Array, weight: Array, past: Array, ahead: Ahead, each: bool
) -> Counted:
    few = chain.initial.shape[0] <= _FEW
    before, moves, begun, least, sums, total, future = _sweeps[each, few](
        chain.transitions, seen, starts, weight, past, ahead
    )
    if not few:
        alpha = past * seen.rows / total[:, None]
        following = jnp.concatenate([jnp.where(starts[1:, None], 0, future[1:]), ahead.future[None]])
        moves = alpha.T @ following
    return Counted(before, moves, begun, least, total, past * future if each else sums)


def _backward_of(each: bool, few: bool) -> Any:
    """Return the sweep that keeps g_t·w_t/n_t of each row where it is asked for, and adds up what is not.

    The posteriors are added up over equal rows unless `each` is asked for, and the transitions where states are few.
    """

    def sweep(
        transitions: Array, seen: Likelihoods, starts: Array, weight: Array, past: Array, ahead: Ahead
    ) -> tuple[Any, ...]:
        k, turned = len(transitions), transitions.T

        def step(carry: tuple[Any, ...], row: tuple[Array, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            beta, behind, moves, begun, least, sums = carry
            here, begins, p, w = row
            b = seen.at(here)
            joint = p * b
            total = jnp.sum(joint)
            if few:
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
            return after, (total, counted if each or not few else None)

        none = jnp.zeros_like(transitions[0])
        moves, sums = jnp.zeros_like(transitions) if few else None, None if each else jnp.zeros_like(seen.b)
        start: tuple[Any, ...] = (*ahead, moves, none, jnp.full_like(none[0], jnp.inf), sums)
        rows = (seen.steps, starts, past, weight)
        (beta, behind, moves, begun, least, sums), (total, future) = jax.lax.scan(step, start, rows, reverse=True)
        return Ahead(beta, behind), moves, begun, least, sums, total, future

    return one_kernel(sweep)


_sweeps = {(each, few): _backward_of(each, few) for each in (True, False) for few in (True, False)}
