"""A search over real coordinates, and the checks of what it is given."""

import abc
import dataclasses
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.numerics import Numeric
from kullback.search._search import Moments, Search, check_population

#: So many numbers in a matrix and a population are few.
FEW = 10_000


class Method(Search):
    """A search over points of n real coordinates, which starts at N(mean, diag(scale²)).

    The state is in the dtype of `mean`. Points that were not asked for can be told too, any number of them from two on.

    - `mean`, `scale`: where to start, and how far to look: one standard deviation, or one for each coordinate
    - `population`: how many points at a time, 4 + ⌊3 ln n⌋ unless given or unless a method says otherwise
    """

    mean: Float[Numeric, " n"]
    scale: Float[Numeric, " n"]
    population: int = eqx.field(static=True)

    def __init__(self, mean: Any, scale: Any = 0.3, population: int | None = None):
        self.mean, self.scale = check_start(mean, scale)
        self.population = check_population(population, standard_population(self.mean.size))

    @abc.abstractmethod
    def condition(self, state: Any) -> Float[Array, ""]:
        """Return the condition number of the covariance matrix, or of what is known of it."""

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return self.mean.shape[-1]

    @property
    def compiles_quickly(self) -> bool:
        """Whether its matrix and its population are small."""
        return self.dimension * (self.dimension + self.population) <= FEW

    def moments(self, state: Any) -> Moments:
        """Return the moments; of the distribution only the mean is computed when this is compiled."""
        return Moments(self.distribution(state).mean, self.spread(state), self.condition(state))

    def with_population(self, population: int) -> Self:
        """Return the same search with populations of another size."""
        return dataclasses.replace(self, population=population)


def check_start(mean: Any, scale: Any, names: tuple[str, str] = ("mean", "scale")) -> tuple[Numeric, Numeric]:
    """Return the first mean and the standard deviations of its coordinates, in one dtype; raise where they are bad."""
    mean = np.asarray(mean) if not isinstance(mean, Array) else mean
    point, lengths = names
    if not np.issubdtype(mean.dtype, np.floating):
        mean = mean.astype(float)
    if mean.ndim != 1 or mean.size == 0:
        raise ValueError(
            f"{point} has shape {mean.shape}: it must be one point, a vector with a number per coordinate."
        )
    if not np.isfinite(mean).all():
        bad = int(np.argmin(np.isfinite(mean)))
        raise ValueError(f"{point}[{bad}] is {mean[bad]}: it must be finite.")
    widths = np.asarray(scale, dtype=mean.dtype)
    if widths.shape not in ((), mean.shape):
        raise ValueError(f"{lengths} has shape {widths.shape}: it must be one number, or one for each of {mean.size}.")
    widths = np.broadcast_to(widths, mean.shape)
    if not ((widths > 0) & np.isfinite(widths)).all():
        bad = int(np.argmin((widths > 0) & np.isfinite(widths)))
        raise ValueError(f"{lengths} is {widths[bad]} for coordinate {bad}: it must be positive and finite.")
    return mean, widths


def standard_population(dimension: int) -> int:
    """Return 4 + ⌊3 ln n⌋, the size that serves well on smooth functions."""
    return 4 + int(3 * np.log(dimension))


def check_evaluations(
    points: Any, values: Any, mean: Float[Array, " n"]
) -> tuple[Float[Array, "m n"], Float[Array, " m"]]:
    """Return points and values as arrays; a point that is not finite is moved to the mean, and its value is NaN."""
    points = jnp.asarray(points, mean.dtype)
    values = jnp.asarray(values, mean.dtype)
    if points.ndim != 2 or points.shape[1] != mean.shape[0]:
        raise ValueError(
            f"points has shape {points.shape}: it must have one row per point, of {mean.shape[0]} numbers."
        )
    if values.shape != points.shape[:1]:
        raise ValueError(f"values has shape {values.shape}: {len(points)} points need one value each.")
    if len(points) < 2:
        raise ValueError(f"points has {len(points)} rows: an order needs two points or more.")
    sound = jnp.all(jnp.isfinite(points), axis=1)
    return jnp.where(sound[:, None], points, mean), jnp.where(sound, values, jnp.nan)
