"""Finite processes of memory and symbols as tables: what memory does, and what it expects."""

from typing import Any, Self

import equinox as eqx
import numpy as np
from jaxtyping import Float

from kullback.numerics import Numeric, as_parameter, check_probabilities, is_concrete

#: p(z', x' | z, x) is a product where it differs from that of its margins by no more than this.
_ROUNDING = 1e-10


class FiniteGenerative(eqx.Module):
    """A Markov chain p of memories z and symbols x together, as tables.

    Parameters
    ----------
    start : array of shape (memories, symbols)
        p(z₁, x₁).
    transition : array of shape (memories, symbols, memories, symbols)
        p(z', x' | z, x).

    Examples
    --------
    >>> fair = FiniteGenerative.independent(np.full((1, 2, 1), 1.0), np.full((1, 2, 2), 0.5))
    >>> fair.is_independent
    True

    """

    start: Float[Numeric, "z x"]
    transition: Float[Numeric, "z x z x"]

    def __init__(self, start: Any, transition: Any):
        self.start, self.transition = as_parameter(start), as_parameter(transition)
        if self.start.ndim != 2 or self.transition.shape != self.start.shape * 2:
            raise ValueError(
                f"start has shape {self.start.shape} and transition {self.transition.shape}: they must be (memories, "
                "symbols) and (memories, symbols, memories, symbols)."
            )
        check_probabilities("start", self.start.reshape(-1))
        check_probabilities("transition", self.transition.reshape(*self.start.shape, -1))

    @classmethod
    def independent(cls, expected: Any, prediction: Any, start: Any = None) -> Self:
        """Return p(z', x' | z, x) = p(z' | z, x)·p(x' | z, x); without a start all pairs begin alike."""
        expected, prediction = as_parameter(expected), as_parameter(prediction)
        if expected.ndim != 3 or prediction.ndim != 3 or expected.shape[:2] != prediction.shape[:2]:
            raise ValueError(
                f"expected has shape {expected.shape} and prediction {prediction.shape}: they must be (memories, "
                "symbols, memories) and (memories, symbols, symbols)."
            )
        shape = expected.shape[:2]
        start = np.full(shape, 1 / (shape[0] * shape[1])) if start is None else start
        return cls(start, expected[:, :, :, None] * prediction[:, :, None, :])

    @property
    def memories(self) -> int:
        """How many memories there are."""
        return self.start.shape[0]

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return self.start.shape[1]

    @property
    def is_independent(self) -> bool:
        """Whether the next memory and the next symbol are independent given what was before."""
        table = np.asarray(self.transition)
        product = table.sum(axis=3)[:, :, :, None] * table.sum(axis=2)[:, :, None, :]
        return bool(np.abs(table - product).max() <= _ROUNDING)


class FinitePair(eqx.Module):
    """A memory q(z' | z, x) and what is expected of it, p(z', x' | z, x), as tables: a finite mutable process."""

    memory: Float[Numeric, "z x z"]
    generative: FiniteGenerative

    def __init__(self, memory: Any, generative: FiniteGenerative):
        self.memory, self.generative = as_parameter(memory), generative
        if self.memory.shape != (*generative.start.shape, generative.memories):
            raise ValueError(
                f"memory has shape {self.memory.shape} and the generative process {generative.memories} memories and "
                f"{generative.symbols} symbols: q(z' | z, x) needs the shape (memories, symbols, memories)."
            )
        if is_concrete(self.memory):
            check_probabilities("memory", self.memory)
