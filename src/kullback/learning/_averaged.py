"""The model nearest to all models on the way: it wavers less than the last of them."""

from typing import Generic, NamedTuple, Self

import equinox as eqx
import jax
import numpy as np

from kullback.core import Batch, Extent
from kullback.learning._learner import (
    Clock,
    ClosedFormT,
    Gathered,
    Learner,
    MemoryT,
    MessageT,
    Scalar,
    Start,
    StateT,
    StepInfo,
    choose,
)
from kullback.learning._wrapper import Wrapper


class Seen(eqx.Module):
    """How much data there was, without its values: of several sets, the time and the inputs of the first of them."""

    extent: Extent

    @property
    def mass(self) -> Scalar:
        """The mass of the points."""
        return self.extent.mass

    def merge(self, other: Self) -> Self:
        """Return as much data as both; where rows have a time or inputs, the first that has any stands for both."""
        if self.extent.weight is None:
            return type(self)(Extent(self.mass + other.mass))
        shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(one)] for one in (self, other)]
        return choose(self.mass > 0, self, other) if shapes[0] == shapes[1] else self


class _Averages(NamedTuple, Generic[StateT, ClosedFormT]):
    inner: StateT
    center: ClosedFormT


class Averaged(Wrapper[ClosedFormT, _Averages[StateT, ClosedFormT], MemoryT, tuple[MessageT, Seen]]):
    """Another learner, whose result is the center of all models that it goes through (Polyak averaging)."""

    learner: Learner[ClosedFormT, StateT, MemoryT, MessageT]

    def init(self, model: ClosedFormT, start: Start) -> _Averages[StateT, ClosedFormT]:
        """Begin with the model itself."""
        return _Averages(self.learner.init(model, start), model)

    def gather(
        self, model: ClosedFormT, state: _Averages[StateT, ClosedFormT], memory: MemoryT, batch: Batch, clock: Clock
    ) -> Gathered[tuple[MessageT, Seen], MemoryT]:
        """Return what the other learner gathers, and how much data it was from."""
        message, after, sound = self.learner.gather(model, state.inner, memory, batch, clock)
        return Gathered((message, Seen(batch.extent.after(memory))), after, sound)

    def move(
        self,
        model: ClosedFormT,
        state: _Averages[StateT, ClosedFormT],
        message: tuple[MessageT, Seen],
        clock: Clock,
    ) -> tuple[ClosedFormT, _Averages[StateT, ClosedFormT], StepInfo]:
        """Move as the other learner does, then the center a little towards where that has led."""
        inner, seen = message
        moved, settled, info = self.learner.move(model, state.inner, inner, clock)
        part = 1 / (clock.step + 1.0)
        before = state.center.own_statistics(seen.extent.scale(1 - part))
        center = state.center.maximize(before.merge(moved.own_statistics(seen.extent.scale(part))))
        return moved, _Averages(settled, center), info

    def result(self, model: ClosedFormT, state: _Averages[StateT, ClosedFormT]) -> ClosedFormT:
        """Return the center."""
        return state.center
