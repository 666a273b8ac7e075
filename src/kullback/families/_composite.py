"""Families that are made of others."""

import abc
from typing import Any, Self

from jaxtyping import Array, Float

from kullback.families._family import Coordinates, ExponentialFamily
from kullback.numerics import Numeric


class CompositeFamily(ExponentialFamily):
    """Independent parts: their coordinates stand one after the other, their Fisher matrices on the diagonal."""

    @abc.abstractmethod
    def _join(self, coordinates: Coordinates) -> Float[Array, "*batch d"]: ...

    @classmethod
    @abc.abstractmethod
    def _cut(cls, coordinates: Coordinates, vector: Numeric, *args: Any, **structure: Any) -> Self: ...

    @property
    def source(self) -> Float[Array, "*batch d"]:
        return self._join("source")

    @property
    def natural(self) -> Float[Array, "*batch d"]:
        return self._join("natural")

    @property
    def expectation(self) -> Float[Array, "*batch d"]:
        return self._join("expectation")

    @property
    def free(self) -> Float[Array, "*batch d"]:
        return self._join("free")

    @classmethod
    def _from_source(cls, source: Numeric, *args: Any, **structure: Any) -> Self:
        return cls._cut("source", source, *args, **structure)

    @classmethod
    def _from_natural(cls, natural: Numeric, *args: Any, **structure: Any) -> Self:
        return cls._cut("natural", natural, *args, **structure)

    @classmethod
    def _from_expectation(cls, expectation: Numeric, *args: Any, **structure: Any) -> Self:
        return cls._cut("expectation", expectation, *args, **structure)

    @classmethod
    def _from_free(cls, free: Numeric, *args: Any, **structure: Any) -> Self:
        return cls._cut("free", free, *args, **structure)

    @classmethod
    @abc.abstractmethod
    def _log_prob_at(
        cls, coordinates: Any, vector: Array, x: Array, observed: Any, *args: Any, **structure: Any
    ) -> Array: ...

    @classmethod
    def _log_prob_natural(cls, natural: Array, x: Array, observed: Any, *args: Any, **structure: Any) -> Array:
        return cls._log_prob_at("natural", natural, x, observed, *args, **structure)

    @classmethod
    def _log_prob_free(cls, free: Array, x: Array, observed: Any, *args: Any, **structure: Any) -> Array:
        return cls._log_prob_at("free", free, x, observed, *args, **structure)

    @abc.abstractmethod
    def _fisher(self, coordinates: Coordinates) -> Float[Array, "*batch d d"]: ...

    def _fisher_source(self) -> Float[Array, "*batch d d"]:
        return self._fisher("source")

    def _fisher_natural(self) -> Float[Array, "*batch d d"]:
        return self._fisher("natural")

    def _fisher_expectation(self) -> Float[Array, "*batch d d"]:
        return self._fisher("expectation")

    def _fisher_free(self) -> Float[Array, "*batch d d"]:
        return self._fisher("free")
