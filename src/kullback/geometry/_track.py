"""The track of a distribution that moves."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, Num

from kullback.core import value_text


class Track(eqx.Module):
    """Where a flow or a descent went.

    Batched over the starts, then over time: `members` holds the distributions, `values` the objective there,
    `times` the time at each. `at_boundary` says that it stopped because it reached the boundary of the family.
    """

    members: Any
    values: Float[Array, "*starts times"]
    times: Float[Array, "*starts times"]
    at_boundary: Bool[Array, "*starts"]

    def __repr__(self) -> str:
        steps, starts = self.values.shape[-1], self.values.shape[:-1]
        ends = [value_text(each[..., -1]) for each in (self.times, self.values)]
        return f"<Track of {steps} members, starts {starts}: at t = {ends[0]} the value is {ends[1]}, at {self.end}>"

    @property
    def end(self) -> Any:
        """The last members, one for each start."""
        batch = self.values.ndim - 1
        return jax.tree.map(lambda leaf: leaf[(slice(None),) * batch + (-1,)], self.members)

    def coordinates(self, name: Any) -> Num[Array, "*starts times d"]:
        """The coordinates of all members."""
        return self.members.coordinates(name)
