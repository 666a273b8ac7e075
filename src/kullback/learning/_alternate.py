"""Learners in turn, and learners of a part of a model: together, players of a game."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from kullback.core import Batch, Model
from kullback.learning._learner import Clock, Gathered, Learner, Start, StepInfo, choose
from kullback.runtime import is_array

ModelT = TypeVar("ModelT", bound=Model)


class Only(Learner[ModelT, Any, Any, Any]):
    """Another learner that moves a part of the model: `where(model)` is that part, the rest stays as it is."""

    learner: Learner[ModelT, Any, Any, Any]
    where: Callable[[Any], Any] = eqx.field(static=True)

    @property
    def draws_at_random(self) -> bool:
        """Whether the other learner draws."""
        return self.learner.draws_at_random

    def init(self, model: ModelT, start: Start) -> Any:
        """Return the state of the other learner."""
        return self.learner.init(model, start)

    def memory(self, model: ModelT, start: Start, key: Any) -> Any:
        """Return the memory of the other learner."""
        return self.learner.memory(model, start, key)

    def gather(self, model: ModelT, state: Any, memory: Any, batch: Batch, clock: Clock) -> Gathered[Any, Any]:
        """Gather as the other learner does."""
        return self.learner.gather(model, state, memory, batch, clock)

    def move(self, model: ModelT, state: Any, message: Any, clock: Clock) -> tuple[ModelT, Any, StepInfo]:
        """Move the part, and nothing else."""
        moved, settled, info = self.learner.move(model, state, message, clock)
        return eqx.tree_at(self.where, model, self.where(moved)), settled, info

    def result(self, model: ModelT, state: Any) -> ModelT:
        """Return the model with the part that the other learner shows."""
        shown: ModelT = eqx.tree_at(self.where, model, self.where(self.learner.result(model, state)))
        return shown

    def at(self, step: int, points: float) -> tuple[Self, int | None]:
        """Ask the other learner."""
        learner, most = self.learner.at(step, points)
        return type(self)(learner, self.where), most


class Alternate(Learner[ModelT, Any, Any, Any]):
    """Two learners in turn: the first takes `turns[0]` steps, then the second `turns[1]`, and so on.

    Each has a state and a memory of its own, which stay as they are while the other has its turn. The message has a
    part for each; that of the one whose turn it is not has mass 0.
    """

    first: Learner[ModelT, Any, Any, Any]
    second: Learner[ModelT, Any, Any, Any]
    turns: tuple[int, int] = eqx.field(static=True, default=(1, 1))

    @property
    def draws_at_random(self) -> bool:
        """Whether one of them draws."""
        return self.first.draws_at_random or self.second.draws_at_random

    def init(self, model: ModelT, start: Start) -> Any:
        """Return the states of both."""
        return self.first.init(model, start), self.second.init(model, start)

    def memory(self, model: ModelT, start: Start, key: Any) -> Any:
        """Return the memories of both."""
        keys = (None, None) if key is None else jax.random.split(key)
        return self.first.memory(model, start, keys[0]), self.second.memory(model, start, keys[1])

    def _turn(self, clock: Clock) -> Any:
        """Return whether it is the first learner's turn."""
        return jnp.asarray(clock.step) % sum(self.turns) < self.turns[0]

    def gather(self, model: ModelT, state: Any, memory: Any, batch: Batch, clock: Clock) -> Gathered[Any, Any]:
        """Let the one whose turn it is gather."""

        def ask(place: int) -> tuple[Any, Any]:
            learner = (self.first, self.second)[place]
            found = learner.gather(model, state[place], memory[place], batch, clock)
            return found.message, found.memory

        shapes = [jax.eval_shape(lambda place=place: ask(place)[0]) for place in (0, 1)]
        blank = [jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape) for shape in shapes]

        def one() -> tuple[Any, Any]:
            message, after = ask(0)
            return (message, blank[1]), _arrays((after, memory[1]))

        def other() -> tuple[Any, Any]:
            message, after = ask(1)
            return (blank[0], message), _arrays((memory[0], after))

        message, after = jax.lax.cond(self._turn(clock), one, other)
        return Gathered(message, after)

    def move(self, model: ModelT, state: Any, message: Any, clock: Clock) -> tuple[ModelT, Any, StepInfo]:
        """Let the one whose turn it is move."""
        turn = self._turn(clock)
        one, settled, info = self.first.move(model, state[0], message[0], clock)
        other, agreed, report = self.second.move(model, state[1], message[1], clock)
        states = choose(turn, settled, state[0]), choose(turn, state[1], agreed)
        return choose(turn, one, other), states, StepInfo(*choose(turn, tuple(info)[:2], tuple(report)[:2]))

    def at(self, step: int, points: float) -> tuple[Self, int | None]:
        """Ask both learners, and take the smaller number of steps."""
        (first, few), (second, many) = self.first.at(step, points), self.second.at(step, points)
        limits = [most for most in (few, many) if most is not None]
        return type(self)(first, second, self.turns), min(limits) if limits else None


def _arrays(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if is_array(leaf) else leaf, tree)
