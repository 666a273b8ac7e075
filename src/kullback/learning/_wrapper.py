"""Learners of learners: what one of another learner leaves to that one."""

import dataclasses
from typing import Any, Self

import equinox as eqx

from kullback.learning._learner import Key, Learner, MemoryT, MessageT, ModelT, Start, StateT


class Wrapper(Learner[ModelT, StateT, MemoryT, MessageT]):
    """Another learner, with something changed; what it remembers of a stream is that learner's."""

    learner: eqx.AbstractVar[Learner[ModelT, Any, MemoryT, Any]]

    @property
    def draws_at_random(self) -> bool:  # type: ignore[override]
        """Whether the other learner draws."""
        return self.learner.draws_at_random

    def memory(self, model: ModelT, start: Start, key: Key) -> MemoryT:
        """Return the memory of the other learner."""
        return self.learner.memory(model, start, key)

    def at(self, step: int, points: float) -> tuple[Self, int | None]:
        """Ask the other learner."""
        learner, most = self.learner.at(step, points)
        return dataclasses.replace(self, learner=learner), most
