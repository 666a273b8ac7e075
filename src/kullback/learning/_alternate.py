"""Learners in turn, and learners of a part of a model: together, players of a game."""

from collections.abc import Callable
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from kullback.core import Batch
from kullback.learning._learner import (
    Clock,
    Gathered,
    Key,
    Learner,
    MemoryT,
    MessageT,
    ModelT,
    Start,
    StateT,
    StepInfo,
    TreeT,
    choose,
)
from kullback.learning._wrapper import Wrapper
from kullback.runtime import is_array

#: What two learners have, one of each.
_Pair = tuple[Any, Any]


class Only(Wrapper[ModelT, StateT, MemoryT, MessageT]):
    """Another learner that moves a part of the model: `where(model)` is that part, the rest stays as it is."""

    learner: Learner[ModelT, StateT, MemoryT, MessageT]
    where: Callable[[ModelT], object] = eqx.field(static=True)

    def init(self, model: ModelT, start: Start) -> StateT:
        """Return the state of the other learner."""
        return self.learner.init(model, start)

    def gather(
        self, model: ModelT, state: StateT, memory: MemoryT, batch: Batch, clock: Clock
    ) -> Gathered[MessageT, MemoryT]:
        """Gather as the other learner does."""
        return self.learner.gather(model, state, memory, batch, clock)

    def move(self, model: ModelT, state: StateT, message: MessageT, clock: Clock) -> tuple[ModelT, StateT, StepInfo]:
        """Move the part, and nothing else."""
        moved, settled, info = self.learner.move(model, state, message, clock)
        return eqx.tree_at(self.where, model, self.where(moved)), settled, info

    def result(self, model: ModelT, state: StateT) -> ModelT:
        """Return the model with the part that the other learner shows."""
        shown: ModelT = eqx.tree_at(self.where, model, self.where(self.learner.result(model, state)))
        return shown


class Alternate(Learner[ModelT, _Pair, _Pair, _Pair]):
    """Two learners in turn: the first takes `turns[0]` steps, then the second `turns[1]`, and so on.

    Each has a state and a memory of its own, which stay as they are while the other has its turn. The message has a
    part for each; that of the one whose turn it is not has mass 0.
    """

    first: Learner[ModelT, Any, Any, Any]
    second: Learner[ModelT, Any, Any, Any]
    turns: tuple[int, int] = eqx.field(static=True, default=(1, 1))

    @property
    def draws_at_random(self) -> bool:  # type: ignore[override]
        """Whether one of them draws."""
        return self.first.draws_at_random or self.second.draws_at_random

    def init(self, model: ModelT, start: Start) -> _Pair:
        """Return the states of both."""
        return self.first.init(model, start), self.second.init(model, start)

    def memory(self, model: ModelT, start: Start, key: Key) -> _Pair:
        """Return the memories of both."""
        keys = (None, None) if key is None else jax.random.split(key)
        return self.first.memory(model, start, keys[0]), self.second.memory(model, start, keys[1])

    def _is_first(self, clock: Clock) -> Bool[Array, ""]:
        """Return whether it is the first learner's turn."""
        return jnp.asarray(clock.step) % sum(self.turns) < self.turns[0]

    def gather(self, model: ModelT, state: _Pair, memory: _Pair, batch: Batch, clock: Clock) -> Gathered[_Pair, _Pair]:
        """Let the one whose turn it is gather."""

        def first() -> _Pair:
            return self.first.gather(model, state[0], memory[0], batch, clock)[:2]

        def second() -> _Pair:
            return self.second.gather(model, state[1], memory[1], batch, clock)[:2]

        def one() -> tuple[_Pair, _Pair]:
            message, after = first()
            return (message, _blank(second)), _arrays((after, memory[1]))

        def other() -> tuple[_Pair, _Pair]:
            message, after = second()
            return (_blank(first), message), _arrays((memory[0], after))

        return Gathered(*jax.lax.cond(self._is_first(clock), one, other))

    def move(self, model: ModelT, state: _Pair, message: _Pair, clock: Clock) -> tuple[ModelT, _Pair, StepInfo]:
        """Let the one whose turn it is move."""
        turn = self._is_first(clock)
        one, settled, info = self.first.move(model, state[0], message[0], clock)
        other, agreed, report = self.second.move(model, state[1], message[1], clock)
        states = choose(turn, settled, state[0]), choose(turn, state[1], agreed)
        return choose(turn, one, other), states, StepInfo(*choose(turn, tuple(info)[:2], tuple(report)[:2]))

    def at(self, step: int, points: float) -> tuple[Self, int | None]:
        """Ask both learners, and take the smaller number of steps."""
        (first, few), (second, many) = self.first.at(step, points), self.second.at(step, points)
        limits = [most for most in (few, many) if most is not None]
        return type(self)(first, second, self.turns), min(limits) if limits else None


def _blank(gather: Callable[[], tuple[MessageT, MemoryT]]) -> MessageT:
    """Return a message of no data, of the structure that the learner gathers."""
    shapes = jax.eval_shape(lambda: gather()[0])
    blank: MessageT = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return blank


def _arrays(tree: TreeT) -> TreeT:
    arrays: TreeT = jax.tree.map(lambda leaf: jnp.asarray(leaf) if is_array(leaf) else leaf, tree)
    return arrays
