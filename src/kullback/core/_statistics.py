"""Averages of sufficient statistics, with the mass they stand for.

`merge` puts the statistics of two sets of data together and `scale` gives a set another mass. `merge` is
associative and a mass of 0 is its unit: hence streams, sites and trees of machines.
"""

import abc
from collections.abc import Callable
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from kullback.numerics import Numeric


class Statistics(eqx.Module):
    """Expected complete-data statistics, per data point, and the mass of the data they came from.

    `log_likelihood` is that of the data, weighted, under the model that took the statistics. Statistics that
    come from a model and not from data have none: it is 0.
    """

    mass: eqx.AbstractVar[Float[Numeric, "*batch"]]
    log_likelihood: eqx.AbstractVar[Float[Numeric, "*batch"]]

    @abc.abstractmethod
    def merge(self, other: Self) -> Self:
        """Return the statistics of both sets of data together."""

    @abc.abstractmethod
    def scale(self, weight: Float[Numeric, "*batch"] | float) -> Self:
        """Return the same averages with `weight` times the mass."""

    def added_to(self, data: Self, model: Any = None) -> Self:
        """Return the data with these beside it, as a prior: what was never seen counts like what was."""
        return data.merge(self)


def share(first: Float[Numeric, "*batch"], second: Float[Numeric, "*batch"]) -> Float[Array, "*batch"]:
    """Return the second mass as a fraction of the sum; 0 where there is no mass at all."""
    total = jnp.add(first, second)
    return jnp.where(total > 0, second / jnp.where(total > 0, total, 1), 0)


def between(first: Numeric, second: Numeric, part: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the point at `part` of the way. At either end it is exactly that end, whatever the other holds."""
    inside = jnp.asarray(first) + part * jnp.subtract(second, first)
    return jnp.where(part <= 0, first, jnp.where(part >= 1, second, inside))


def expand(value: Numeric, axes: int) -> Array:
    """Append `axes` axes of length 1, to multiply a mass with what it weighs."""
    value = jnp.asarray(value)
    return value.reshape(value.shape + (1,) * axes)


class SummedStatistics(Statistics):
    """Parts side by side: counts add up, and parts that are statistics merge by their own rule."""

    def merge(self, other: Self) -> Self:
        """Add the counts, and merge the statistics: labels must mean the same in both."""
        return self._map(lambda one, two: one.merge(two) if isinstance(one, Statistics) else jnp.add(one, two), other)

    def scale(self, weight: Float[Numeric, "*batch"] | float) -> Self:
        """Return the same averages with `weight` times the mass."""
        return self._map(lambda one: one.scale(weight) if isinstance(one, Statistics) else jnp.multiply(one, weight))

    def _map(self, function: Callable[..., Any], *others: Self) -> Self:
        mapped: Self = jax.tree.map(
            lambda *parts: None if any(part is None for part in parts) else function(*parts),
            self,
            *others,
            is_leaf=lambda part: part is None or (isinstance(part, Statistics) and part is not self),
        )
        return mapped


class MeanStatistics(Statistics):
    """The plain average of a vector of statistics."""

    mass: Float[Numeric, "*batch"]
    log_likelihood: Float[Numeric, "*batch"]
    mean: Float[Numeric, "*batch d"]

    def merge(self, other: Self) -> Self:
        """Average the averages by mass."""
        part = expand(share(self.mass, other.mass), 1)
        return type(self)(
            jnp.add(self.mass, other.mass),
            jnp.add(self.log_likelihood, other.log_likelihood),
            between(self.mean, other.mean, part),
        )

    def scale(self, weight: Float[Numeric, "*batch"] | float) -> Self:
        """Return the same averages with `weight` times the mass."""
        return type(self)(
            jnp.multiply(self.mass, weight), jnp.multiply(self.log_likelihood, weight), jnp.asarray(self.mean)
        )


class CenteredStatistics(Statistics):
    """The mean and the spread around it: second moments that lose no digits far from the origin.

    `square` says which second moment is kept: of a vector δ all products, the squares, or their average.
    The spread of two sets together has the parallel-axis term f(1−f)·square(m₂ − m₁), f the share of the second.
    """

    mass: Float[Numeric, "*batch"]
    log_likelihood: Float[Numeric, "*batch"]
    mean: Float[Numeric, "*batch n"]
    spread: Float[Numeric, "..."]
    square: Callable[[Any], Array] = eqx.field(static=True)

    def merge(self, other: Self) -> Self:
        """Average by mass, with the parallel-axis correction for the spread."""
        part = share(self.mass, other.mass)
        apart = self.square(jnp.subtract(other.mean, self.mean))
        f = expand(part, apart.ndim - part.ndim)
        mixed = (f > 0) & (f < 1)
        return type(self)(
            jnp.add(self.mass, other.mass),
            jnp.add(self.log_likelihood, other.log_likelihood),
            between(self.mean, other.mean, expand(part, 1)),
            between(self.spread, other.spread, f) + jnp.where(mixed, f * (1 - f) * apart, 0),
            self.square,
        )

    def scale(self, weight: Float[Numeric, "*batch"] | float) -> Self:
        """Return the same averages with `weight` times the mass."""
        return type(self)(
            jnp.multiply(self.mass, weight),
            jnp.multiply(self.log_likelihood, weight),
            jnp.asarray(self.mean),
            jnp.asarray(self.spread),
            self.square,
        )


def average(
    values: Float[Numeric, "rows d"], weight: Float[Numeric, "rows *batch"]
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch d"]]:
    """Return the mass, and the weighted average of the rows. Rows without any weight are not looked at."""
    weight = jnp.asarray(weight)
    mass = jnp.sum(weight, axis=0)
    seen = jnp.any(weight > 0, axis=tuple(range(1, weight.ndim)))
    values = jnp.where(seen[:, None], values, 0)
    total = jnp.tensordot(weight, values, axes=(0, 0))
    return mass, total / expand(jnp.where(mass > 0, mass, 1), 1)
