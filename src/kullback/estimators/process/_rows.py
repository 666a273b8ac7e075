"""Rows of a stream, and where its sequences begin."""

from typing import NamedTuple, Self

import numpy as np


class StreamRows(NamedTuple):
    """Rows that follow each other, and which of them begin a sequence."""

    X: np.ndarray
    starts: np.ndarray

    @classmethod
    def blank(cls, columns: int) -> Self:
        """Return no rows."""
        return cls(np.zeros((0, columns)), np.zeros(0, bool))

    @classmethod
    def of_lengths(cls, X: np.ndarray, lengths: np.ndarray) -> Self:
        """Return the rows of sequences of these lengths."""
        starts = np.zeros(len(X), bool)
        if len(X):
            starts[np.cumsum(lengths) - lengths] = True
        return cls(X, starts)

    def then(self, other: Self) -> Self:
        """Return these rows and others after them."""
        return type(self)(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def part(self, first: int, last: int | None = None) -> Self:
        """Return some of the rows."""
        return type(self)(self.X[first:last], self.starts[first:last])
