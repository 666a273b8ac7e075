"""How much data there is and how it follows in time, never what it says."""

from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from kullback.numerics import Numeric


def as_float(value: Any) -> Float[Array, "..."]:
    """Return an array of floating numbers: of the type it has, or JAX's default for others."""
    array = jnp.asarray(value)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def as_inputs(inputs: Any) -> Float[Numeric, "..."]:
    """Return inputs as floating numbers; NumPy arrays stay NumPy."""
    if isinstance(inputs, np.ndarray):
        return inputs if np.issubdtype(inputs.dtype, np.floating) else inputs.astype(float)
    return as_float(inputs)


class TimeIndex(eqx.Module):
    """How the rows of a batch follow each other in time.

    Sequences stand one below the other. `starts` marks the rows that begin one; a row that does not continues the row
    before it, and the first row of all may continue what an earlier batch has left (the carry). Rows of the `lookahead`
    are read for what they say of the rows before them (the lag of a smoother), and are not counted yet. `steady` is the
    permission to take what settles after some steps as settled, and nothing else: half of the code need not be
    compiled. A model that needs the other half then gives NaN for the log-likelihood.
    """

    starts: Bool[Numeric, " rows"]
    lookahead: Bool[Numeric, " rows"]
    steady: bool = eqx.field(static=True)

    def __init__(self, starts: Any, lookahead: Any = None, steady: bool = False):
        xp: Any = np if isinstance(starts, np.ndarray) else jnp
        self.starts = xp.asarray(starts, bool)
        self.lookahead = xp.zeros(self.starts.shape, bool) if lookahead is None else xp.asarray(lookahead, bool)
        self.steady = steady

    @classmethod
    def of_lengths(cls, lengths: Any) -> Self:
        """Return the time index of sequences of these lengths, one below the other."""
        lengths = np.asarray(lengths, dtype=np.int64)
        starts = np.zeros(int(lengths.sum()), bool)
        starts[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
        return cls(starts)


class Extent(eqx.Module):
    """How much data there is: what a model needs to know to answer for its own statistics.

    `mass` is the total weight, one number or one for each member of a batched model. Where rows follow each other in
    time there are also their `time`, the `weight` of each, and the `carry`: what is known of the hidden state before
    the first row, when that one does not begin a sequence. Where rows have `inputs`, what is known of each from
    outside, there are those, and the `weight` of each row.
    """

    mass: Float[Numeric, "*batch"]
    time: TimeIndex | None
    weight: Float[Numeric, "rows *batch"] | None
    carry: Any
    inputs: Float[Numeric, "rows k"] | None

    def __init__(
        self, mass: Any = 1.0, time: TimeIndex | None = None, weight: Any = None, carry: Any = None, inputs: Any = None
    ):
        self.mass = as_float(mass)
        self.time, self.weight, self.carry = time, weight, carry
        self.inputs = None if inputs is None else as_inputs(inputs)

    @classmethod
    def of_lengths(cls, lengths: Any, weight: Any = 1.0, inputs: Any = None) -> Self:
        """Return the extent of sequences of these lengths, each of them with a weight."""
        lengths = np.atleast_1d(np.asarray(lengths, dtype=np.int64))
        each = np.repeat(np.broadcast_to(np.asarray(weight, dtype=float), lengths.shape), lengths)
        return cls(each.sum(), TimeIndex.of_lengths(lengths), each, None, inputs)

    def scale(self, weight: Any) -> "Extent":
        """Return `weight` times as much."""
        each = None if self.weight is None else jnp.multiply(self.weight, weight)
        return Extent(jnp.multiply(self.mass, weight), self.time, each, self.carry, self.inputs)

    def after(self, carry: Any) -> "Extent":
        """Return as much data that continues what an earlier batch has left."""
        return Extent(self.mass, self.time, self.weight, carry, self.inputs)
