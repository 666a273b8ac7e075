"""Parameters as free numbers: any vector names a value, one to one, with the volume that the map has.

A density of a parameter, times e^{log_volume}, is its density in the free numbers.
"""

import abc
import math
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from kullback.core import ClosedFormModel
from kullback.families import ExponentialFamily, Gaussian, OutputKind
from kullback.models._compound_dirichlet import CompoundDirichlet


class Leaf(eqx.Module):
    """How one parameter becomes free numbers. Leaves are static: they have no arrays, and can be compared."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many free numbers there are."""

    @abc.abstractmethod
    def to_free(self, value: Any) -> Float[Array, " d"]:
        """Return the free numbers."""

    @abc.abstractmethod
    def from_free(self, free: Float[Array, " d"]) -> Any:
        """Return the parameter with these free numbers."""

    @abc.abstractmethod
    def to_source(self, value: Any) -> Float[Array, " d"]:
        """Return as many numbers of the parameter itself."""

    @abc.abstractmethod
    def log_volume(self, value: Any) -> Float[Array, ""]:
        """Return log |det ∂(source)/∂(free)|."""


class ArrayLeaf(Leaf):
    """A parameter that is an array of this shape; with `copies` the first of so many that are all alike."""

    shape: tuple[int, ...] = eqx.field(static=True)
    copies: int | None = eqx.field(static=True, default=None)

    def one(self, value: Any) -> Float[Array, "..."]:
        """Return the array that has the parameters."""
        value = jnp.asarray(value)
        return value if self.copies is None else value[0]

    def all(self, value: Array) -> Float[Array, "..."]:
        """Return as many copies as there are."""
        return value if self.copies is None else jnp.broadcast_to(value, (self.copies, *value.shape))


class PlainLeaf(ArrayLeaf):
    """Numbers without bounds: they are free."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def to_free(self, value: Any) -> Float[Array, " d"]:
        return self.one(value).ravel()

    def from_free(self, free: Float[Array, " d"]) -> Float[Array, "..."]:
        return self.all(free.reshape(self.shape))

    def to_source(self, value: Any) -> Float[Array, " d"]:
        return self.to_free(value)

    def log_volume(self, value: Any) -> Float[Array, ""]:
        return jnp.zeros((), jnp.asarray(value).dtype)


class PositiveLeaf(PlainLeaf):
    """Variances: their logarithms are free."""

    def to_free(self, value: Any) -> Float[Array, " d"]:
        return jnp.log(self.one(value)).ravel()

    def from_free(self, free: Float[Array, " d"]) -> Float[Array, "..."]:
        return self.all(jnp.exp(free).reshape(self.shape))

    def to_source(self, value: Any) -> Float[Array, " d"]:
        return self.one(value).ravel()

    def log_volume(self, value: Any) -> Float[Array, ""]:
        return jnp.sum(jnp.log(self.one(value)))


class CovarianceLeaf(ArrayLeaf):
    """A covariance matrix: its free numbers are those of a Gaussian besides the means."""

    @property
    def size(self) -> int:
        n = self.shape[-1]
        return n * (n + 1) // 2

    def _gaussian(self, value: Any) -> Gaussian:
        covariance = self.one(value)
        return Gaussian(jnp.zeros(covariance.shape[-1], covariance.dtype), covariance)

    def to_free(self, value: Any) -> Float[Array, " d"]:
        return self._gaussian(value).free[self.shape[-1] :]

    def from_free(self, free: Float[Array, " d"]) -> Float[Array, "..."]:
        mean = jnp.zeros(self.shape[-1], free.dtype)
        return self.all(jnp.asarray(Gaussian.from_free(jnp.concatenate([mean, free])).covariance))

    def to_source(self, value: Any) -> Float[Array, " d"]:
        return self._gaussian(value).source[self.shape[-1] :]

    def log_volume(self, value: Any) -> Float[Array, ""]:
        return self._gaussian(value).log_volume()


class SimplexLeaf(Leaf):
    """Rows of probabilities: the free numbers are log odds against the last one. What is 0 stays 0, and has none."""

    possible: tuple[tuple[bool, ...], ...] = eqx.field(static=True)
    single: bool = eqx.field(static=True)

    @classmethod
    def of(cls, value: Any) -> "SimplexLeaf":
        """Return the leaf of these probabilities."""
        there = np.asarray(value) > 0
        rows = there.reshape(-1, there.shape[-1])
        return cls(tuple(tuple(map(bool, row)) for row in rows), there.ndim == 1)

    @property
    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows and columns of the numbers that are free, and the column that each row compares with."""
        mask = np.asarray(self.possible)
        last = mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
        free = mask & (np.arange(mask.shape[1]) != last[:, None])
        return *np.nonzero(free), last

    @property
    def size(self) -> int:
        return len(self._places[0])

    @property
    def categories(self) -> tuple[int, ...]:
        """How many probabilities of each row are not 0."""
        return tuple(sum(row) for row in self.possible)

    def _rows(self, value: Any) -> Float[Array, "rows k"]:
        value = jnp.asarray(value)
        return value.reshape(-1, value.shape[-1])

    def to_free(self, value: Any) -> Float[Array, " d"]:
        row, column, last = self._places
        rows = self._rows(value)
        return jnp.log(rows[row, column]) - jnp.log(rows[row, last[row]])

    def from_free(self, free: Float[Array, " d"]) -> Float[Array, "..."]:
        row, column, last = self._places
        odds = jnp.full((len(self.possible), len(self.possible[0])), -jnp.inf, free.dtype)
        odds = odds.at[np.arange(len(last)), last].set(0).at[row, column].set(free)
        peak = jnp.max(odds, axis=-1, keepdims=True)
        mass = jnp.where(np.asarray(self.possible), jnp.exp(odds - peak), 0)
        rows = mass / jnp.sum(mass, axis=-1, keepdims=True)
        return rows[0] if self.single else rows

    def to_source(self, value: Any) -> Float[Array, " d"]:
        row, column, _ = self._places
        return self._rows(value)[row, column]

    def log_volume(self, value: Any) -> Float[Array, ""]:
        mask = np.asarray(self.possible) & (np.sum(self.possible, axis=1, keepdims=True) > 1)
        rows = self._rows(value)
        return jnp.sum(jnp.where(mask, jnp.log(jnp.where(mask, rows, 1)), 0))


class MembersLeaf(Leaf):
    """Members of a family, or of compound Dirichlets, with the free coordinates that they have."""

    kind: OutputKind = eqx.field(static=True)
    batch_shape: tuple[int, ...] = eqx.field(static=True)
    #: The families whose members these can be, or compounds of one.
    members: ClassVar[tuple[type[ClosedFormModel], ...]] = (ExponentialFamily, CompoundDirichlet)

    @property
    def size(self) -> int:
        return math.prod(self.batch_shape) * self.kind.size

    def to_free(self, value: Any) -> Float[Array, " d"]:
        return jnp.ravel(value.coordinates("free"))

    def from_free(self, free: Float[Array, " d"]) -> Any:
        return self.kind.at("free", free.reshape(*self.batch_shape, self.kind.size))

    def to_source(self, value: Any) -> Float[Array, " d"]:
        return jnp.ravel(value.coordinates("source"))

    def log_volume(self, value: Any) -> Float[Array, ""]:
        family: Any = value.hidden if isinstance(value, CompoundDirichlet) else value
        return jnp.sum(family.log_volume())
