"""A memory of binary units that fire at random: a recurrent network."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from kullback.core import Fixed, Key, Shape, as_key, as_shape
from kullback.families import Bernoulli, Categorical, ExponentialFamily, Independent, Kind, OutputKind, Product
from kullback.models.process._mutable_process import MutableProcess
from kullback.numerics import Numeric, as_parameter, check_finite


class SpikingMemory(MutableProcess):
    """N binary units; each fires with log odds that are linear in what all units did, the last row, and 1.

    The matrices have a row for each unit (2z − 1), for each number of a row's embedding, standardized, and one for the
    bias. Rows may be of any kind that a network can answer with.

    Parameters
    ----------
    memory_weights : array of shape (N + embedding + 1, N)
        Log odds of q(z' | z, x).
    expected_weights : array of the same shape
        Log odds of p(z' | z, x).
    prediction_weights : array of shape (N + embedding + 1, size)
        Free coordinates of p(x' | z, x).
    visible_kind : OutputKind
        What these are coordinates of, such as `Categorical([0.5, 0.5]).kind`.
    center, scale : arrays, optional
        What an embedding is standardized by; of categories and binary columns −1 and 1 by default.

    Examples
    --------
    >>> process = SpikingMemory.random(Categorical([0.5, 0.5]), units=3, key=0)
    >>> process.n_states
    8

    """

    memory_weights: Float[Numeric, "f n"]
    expected_weights: Float[Numeric, "f n"]
    prediction_weights: Float[Numeric, "f d"]
    center: Fixed
    scale: Fixed
    kind: OutputKind = eqx.field(static=True)

    def __init__(
        self,
        memory_weights: Any,
        expected_weights: Any,
        prediction_weights: Any,
        visible_kind: OutputKind,
        center: Any = 0.5,
        scale: Any = 0.5,
    ):
        self.memory_weights, self.expected_weights = as_parameter(memory_weights), as_parameter(expected_weights)
        self.prediction_weights, self.kind = as_parameter(prediction_weights), visible_kind
        self.center, self.scale = Fixed(as_parameter(center)), Fixed(as_parameter(scale))
        _check_shapes(self)
        for name in ("memory_weights", "expected_weights", "prediction_weights"):
            check_finite(name, getattr(self, name))

    @classmethod
    def random(
        cls,
        member: ExponentialFamily,
        units: int,
        key: Key,
        gain: float = 1.5,
        center: Any = 0.5,
        scale: Any = 0.5,
        dtype: Any = None,
    ) -> Self:
        """Return a network to begin with: weights of variance gain²/inputs, those of the row doubled.

        What is expected of the units is what they do, and of the next row the `member`, whatever they did.
        """
        if units < 1:
            raise ValueError(f"units is {units}: a memory has one unit at least.")
        dtype = jnp.result_type(float) if dtype is None else dtype
        width, kind = _embedding_size(member.kind), member.kind
        inputs = units + width + 1
        strength = np.concatenate([np.ones(units), np.full(width, 2.0), np.zeros(1)])[:, None] * gain / inputs**0.5
        drawn = (jax.random.normal(as_key(key), (inputs, units)) * strength).astype(dtype)
        prediction = jnp.zeros((inputs, kind.size), dtype).at[-1].set(jnp.asarray(member.free, dtype))
        return cls(drawn, drawn, prediction, kind, jnp.asarray(center, dtype), jnp.asarray(scale, dtype))

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.memory_weights.shape[1]

    @property
    def memory_kind(self) -> Kind:
        """Independent binary columns."""
        return Kind(Independent, self.units, (("column", Kind(Bernoulli, 1, ())),))

    @property
    def visible_kind(self) -> OutputKind:
        """The kind of rows."""
        return self.kind

    @property
    def origin(self) -> Float[np.ndarray, " n"]:
        """All units are silent."""
        return np.zeros(self.units, self.memory_weights.dtype)

    @property
    def n_states(self) -> int:
        """How many memories there are: 2^N."""
        return 2**self.units

    def states(self) -> Float[Array, "states n"]:
        """Return all memories; the first unit is the slowest to change."""
        table = np.array(list(itertools.product((0.0, 1.0), repeat=self.units)))
        return jnp.asarray(table, jnp.asarray(self.memory_weights).dtype)

    def embed(self, x: Any) -> Float[Array, "... e"]:
        """Return rows as standardized numbers."""
        found = _embed(self.kind, x)
        dtype = jnp.asarray(self.memory_weights).dtype
        return (found.astype(dtype) - self.center.value) / self.scale.value

    @property
    def embedding_size(self) -> int:
        """How many numbers an embedded row has."""
        return self.memory_weights.shape[0] - self.units - 1

    def drive(self, x: Any) -> Float[Array, "... n"]:
        """Return the part of the units' log odds that comes from rows."""
        return self._from_row(self.memory_weights, x)

    def driven_natural(self, z: Any, drive: Any) -> Float[Array, "... n"]:
        """Return the log odds of q(z' | z, x)."""
        return self._from_units(self.memory_weights, z) + drive

    def expected_natural(self, z: Any, x: Any) -> Float[Array, "... n"]:
        """Return the log odds of p(z' | z, x)."""
        return self._from_units(self.expected_weights, z) + self._from_row(self.expected_weights, x)

    def prediction_free(self, z: Any, x: Any) -> Float[Array, "... d"]:
        """Return the free coordinates of p(x' | z, x)."""
        return self._from_units(self.prediction_weights, z) + self._from_row(self.prediction_weights, x)

    def _from_units(self, weights: Numeric, z: Any) -> Float[Array, "..."]:
        weights = jnp.asarray(weights)
        return (2 * jnp.asarray(z, weights.dtype) - 1) @ weights[: self.units]

    def _from_row(self, weights: Numeric, x: Any) -> Float[Array, "..."]:
        weights = jnp.asarray(weights)
        return self.embed(x) @ weights[self.units : -1] + weights[-1]

    def start(self, key: Key, chains: int) -> Float[Array, "chains n"]:
        """Draw memories: each unit fires or not, alike."""
        dtype = jnp.asarray(self.memory_weights).dtype
        return jax.random.bernoulli(as_key(key), 0.5, (chains, self.units)).astype(dtype)

    def noise(self, key: Key, shape: Shape) -> Float[Array, "... n"]:
        """Draw logistic variables: a unit fires where its log odds with such noise are positive."""
        dtype = jnp.asarray(self.memory_weights).dtype
        return jax.random.logistic(as_key(key), (*as_shape(shape), self.units), dtype)

    def step(self, natural: Float[Array, "... n"], noise: Float[Array, "... n"]) -> Float[Array, "... n"]:
        """Return which units fire."""
        return (natural + noise > 0).astype(natural.dtype)

    def memory_part(self) -> Any:
        """Return the tree of bools in which `memory_weights` are marked."""
        none = jax.tree.map(lambda _: False, self)
        return eqx.tree_at(lambda process: process.memory_weights, none, True)


def _embed(kind: OutputKind, x: Any) -> Shaped[Array, "... e"]:
    """Return rows as numbers along a last axis: indicators of categories, others as they are."""
    x = jnp.asarray(x)
    if isinstance(kind, Kind) and kind.family is Categorical:
        return x[..., None] == jnp.arange(kind.size + 1)
    if isinstance(kind, Kind) and kind.family is Independent and dict(kind.structure)["column"].family is Categorical:
        column = dict(kind.structure)["column"]
        return (x[..., None] == jnp.arange(column.size + 1)).reshape(*x.shape[:-1], -1)
    if isinstance(kind, Kind) and kind.family is Product:
        ends = np.cumsum([part.columns for part in dict(kind.structure)["kinds"]])
        columns = jnp.split(x, ends[:-1], axis=-1)
        parts = [_embed(part, each) for part, each in zip(dict(kind.structure)["kinds"], columns, strict=True)]
        return jnp.concatenate([part.astype(jnp.result_type(float)) for part in parts], axis=-1)
    return x if _row_shape(kind) else x[..., None]


def _find_row_shape(kind: OutputKind) -> tuple[int, ...]:
    like: Any = jax.eval_shape(lambda free: jnp.asarray(kind.at("free", free).mode), np.zeros(kind.size))
    return tuple(like.shape)


def _find_embedding_size(kind: OutputKind) -> int:
    like: Any = jax.eval_shape(lambda row: _embed(kind, row), np.zeros(_row_shape(kind)))
    return int(like.shape[-1])


#: To ask a kind takes a trace, so it is asked once.
_row_shape: Callable[..., tuple[int, ...]] = functools.lru_cache(maxsize=256)(_find_row_shape)
_embedding_size: Callable[..., int] = functools.lru_cache(maxsize=256)(_find_embedding_size)


def _check_shapes(process: SpikingMemory) -> None:
    shapes = [np.shape(leaf) for leaf in (process.memory_weights, process.expected_weights)]
    if len(shapes[0]) != 2 or shapes[0][1] < 1:
        raise ValueError(f"memory_weights has shape {shapes[0]}: it must be (units + embedding + 1, units).")
    inputs = shapes[0][1] + _embedding_size(process.kind) + 1
    needed = (inputs, shapes[0][1])
    if shapes != [needed, needed] or np.shape(process.prediction_weights) != (inputs, process.kind.size):
        raise ValueError(
            f"memory_weights, expected_weights and prediction_weights have shapes {shapes[0]}, {shapes[1]} and "
            f"{np.shape(process.prediction_weights)}: for such rows they are {needed}, {needed} and "
            f"{(inputs, process.kind.size)}."
        )
