"""Gibbs sampling: parts of a state are drawn in turn, each given the others."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
from jaxtyping import Array

StateT = TypeVar("StateT")


def gibbs(blocks: Sequence[Callable[[Array, StateT], StateT]], start: StateT, key: Array, steps: int | Array) -> StateT:
    """Return the states of chains after so many steps; in each, every block is drawn once, in their order.

    A block is a function (key, state) → state that draws a part of the state given the rest. Any law whose conditionals
    these are stays as it is. With two blocks the chain of either part by itself is reversible.

    Parameters
    ----------
    blocks : sequence of functions
        What is drawn in a step.
    start : arrays
        Where chains begin.
    key : key
        Of all draws.
    steps : int
        How many.

    """

    def step(number: Array, state: StateT) -> StateT:
        here = jax.random.fold_in(key, number)
        for place, block in enumerate(blocks):
            state = block(jax.random.fold_in(here, place), state)
        return state

    found: Any = jax.lax.fori_loop(0, steps, step, start)
    return found
