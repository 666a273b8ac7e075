"""The contract of a search: a distribution over points that moves to where a function is small."""

import abc
import dataclasses
import operator
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.families import ExponentialFamily
from kullback.numerics import Numeric


class Method(eqx.Module):
    """Minimize f by minimizing E_p[f] over a family of distributions p, a population of points at a time.

    ```python
    state = search.init(key)
    points, state = search.ask(state)
    state = search.tell(state, points, values)
    ```

    All are pure functions, and the state is a tuple of arrays in the dtype of `mean`, for `jit`, `vmap` and `scan`.
    The least value is the best; NaN and +∞ count as the worst. Only the order of the values is used unless a method
    says otherwise. Points that were not asked for can be told too, any number of them from two on.
    """

    mean: eqx.AbstractVar[Float[Numeric, " n"]]
    scale: eqx.AbstractVar[Float[Numeric, " n"]]
    population: eqx.AbstractVar[int]

    @abc.abstractmethod
    def init(self, key: Array) -> Any:
        """Return the state before the first population."""

    @abc.abstractmethod
    def ask(self, state: Any) -> tuple[Float[Array, "population n"], Any]:
        """Draw a population of points."""

    @abc.abstractmethod
    def tell(self, state: Any, points: Any, values: Any) -> Any:
        """Move the distribution towards the points with smaller values."""

    @abc.abstractmethod
    def distribution(self, state: Any) -> ExponentialFamily:
        """Return the distribution from which `ask` draws."""

    @abc.abstractmethod
    def spread(self, state: Any) -> Float[Array, " n"]:
        """Return the standard deviation of each coordinate."""

    @abc.abstractmethod
    def condition(self, state: Any) -> Float[Array, ""]:
        """Return the condition number of the covariance matrix, or of what is known of it."""

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return self.mean.shape[-1]

    def with_population(self, population: int) -> Self:
        """Return the same search with populations of another size."""
        return dataclasses.replace(self, population=population)


def checked_start(mean: Any, scale: Any) -> tuple[Numeric, Numeric]:
    """Return the first mean and the standard deviations of its coordinates, in one dtype; raise where they are bad."""
    mean = np.asarray(mean) if not isinstance(mean, Array) else mean
    if not np.issubdtype(mean.dtype, np.floating):
        mean = mean.astype(float)
    if mean.ndim != 1 or mean.size == 0:
        raise ValueError(f"mean has shape {mean.shape}: it must be one point, a vector with a number per coordinate.")
    if not np.isfinite(mean).all():
        bad = int(np.argmin(np.isfinite(mean)))
        raise ValueError(f"mean[{bad}] is {mean[bad]}: it must be finite.")
    widths = np.asarray(scale, dtype=mean.dtype)
    if widths.shape not in ((), mean.shape):
        raise ValueError(f"scale has shape {widths.shape}: it must be one number, or one for each of {mean.size}.")
    widths = np.broadcast_to(widths, mean.shape)
    if not ((widths > 0) & np.isfinite(widths)).all():
        bad = int(np.argmin((widths > 0) & np.isfinite(widths)))
        raise ValueError(f"scale is {widths[bad]} for coordinate {bad}: it must be positive and finite.")
    return mean, widths


def checked_population(population: Any, standard: int, least: int = 2) -> int:
    """Return the size of a population, the standard one for None; raise where it is too small."""
    if population is None:
        return standard
    size = operator.index(population)
    if size < least:
        raise ValueError(f"population is {population}: this search needs {least} points or more.")
    return size


def standard_population(dimension: int) -> int:
    """Return 4 + ⌊3 ln n⌋, the size that serves well on smooth functions."""
    return 4 + int(3 * np.log(dimension))


def told(points: Any, values: Any, mean: Float[Array, " n"]) -> tuple[Float[Array, "m n"], Float[Array, " m"]]:
    """Return what was told as arrays; a point that is not finite is moved to the mean, and its value is NaN."""
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
