"""A hidden chain, what is observed of it, and what that says of its states."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Chain(NamedTuple):
    """π and A: how sequences begin, and where each state leads. Rows of A may sum to less than 1."""

    initial: Float[Array, " k"]
    transitions: Float[Array, "k k"]


class Observed(NamedTuple):
    """Scores log p(v_t | h), where sequences begin, and the state before the first row if that one continues.

    Scores are those of each row, or those of the few different rows; then `place` says which of them each row is.
    """

    scores: Float[Array, "distinct k"]
    starts: Bool[Array, " rows"]
    before: Float[Array, " k"]
    place: Int[Array, " rows"] | None = None

    @property
    def places(self) -> Int[Array, " rows"]:
        """Which of the scores each row has."""
        return jnp.arange(self.starts.shape[0], dtype=jnp.int32) if self.place is None else self.place


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
