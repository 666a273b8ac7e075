"""The model nearest to all models on the way: it wavers less than the last of them."""

from typing import Any, NamedTuple, Self, TypeVar

import equinox as eqx
import jax
import numpy as np

from kullback.core import Batch, ClosedFormModel, Extent
from kullback.learning._learner import Clock, Gathered, Learner, Start, StepInfo, choose

Model = TypeVar("Model", bound=ClosedFormModel)


class Seen(eqx.Module):
    """How much data there was, without its values: of several sets, how the first of them follows in time."""

    extent: Extent

    @property
    def mass(self) -> Any:
        """The mass of the points."""
        return self.extent.mass

    def merge(self, other: Self) -> Self:
        """Return as much data as both; where rows follow each other, as those of the first that has any."""
        if self.extent.time is None:
            return type(self)(Extent(self.mass + other.mass))
        shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(one)] for one in (self, other)]
        return choose(self.mass > 0, self, other) if shapes[0] == shapes[1] else self


class _Averages(NamedTuple):
    inner: Any
    center: Any


class Averaged(Learner[Model, _Averages, Any, tuple[Any, Seen]]):
    """Another learner, whose result is the center of all models that it goes through (Polyak averaging)."""

    learner: Learner[Model, Any, Any, Any]

    @property
    def draws_at_random(self) -> bool:
        """Whether the other learner draws."""
        return self.learner.draws_at_random

    def init(self, model: Model, start: Start) -> _Averages:
        """Begin with the model itself."""
        return _Averages(self.learner.init(model, start), model)

    def memory(self, model: Model, start: Start, key: Any) -> Any:
        """Return the memory of the other learner."""
        return self.learner.memory(model, start, key)

    def gather(
        self, model: Model, state: _Averages, memory: Any, batch: Batch, clock: Clock
    ) -> Gathered[tuple[Any, Seen], Any]:
        """Return what the other learner gathers, and how much data it was from."""
        found = self.learner.gather(model, state.inner, memory, batch, clock)
        extent = batch.extent.after(memory)
        return found._replace(message=(found.message, Seen(extent)))

    def move(
        self, model: Model, state: _Averages, message: tuple[Any, Seen], clock: Clock
    ) -> tuple[Model, _Averages, StepInfo]:
        """Move as the other learner does, then the center a little towards where that has led."""
        inner, seen = message
        moved, settled, info = self.learner.move(model, state.inner, inner, clock)
        part = 1 / (clock.step + 1.0)
        before = state.center.own_statistics(seen.extent.scale(1 - part))
        center = state.center.maximize(before.merge(moved.own_statistics(seen.extent.scale(part))))
        return moved, _Averages(settled, center), info

    def result(self, model: Model, state: _Averages) -> Model:
        """Return the center."""
        center: Model = state.center
        return center

    def at(self, step: int, points: float) -> tuple[Self, int | None]:
        """Ask the other learner."""
        learner, most = self.learner.at(step, points)
        return type(self)(learner), most
