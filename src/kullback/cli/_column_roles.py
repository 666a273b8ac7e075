"""Which columns of a table are no values of the model: one separates sequences, others are inputs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Label = str | int


class Chunk(NamedTuple):
    """Rows of values, the inputs of each, and a number for the sequence it belongs to, where there are such."""

    X: np.ndarray
    inputs: np.ndarray | None = None
    sequence: np.ndarray | None = None

    @property
    def lengths(self) -> np.ndarray | None:
        """How many rows stand together with the same number; None without numbers."""
        if self.sequence is None:
            return None
        begins = np.flatnonzero(np.append(True, self.sequence[1:] != self.sequence[:-1]))
        return np.diff(np.append(begins, len(self.sequence)))

    @property
    def extras(self) -> dict[str, Any]:
        """The arguments of models with time besides the values."""
        found = {"lengths": self.lengths, "inputs": self.inputs}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def last(self) -> "Chunk":
        """The last sequence."""
        if self.sequence is None:
            return self
        rows = int(self.lengths[-1]) if self.lengths is not None else len(self.X)
        return Chunk(self.X[-rows:], None if self.inputs is None else self.inputs[-rows:], self.sequence[-rows:])


class Roles(NamedTuple):
    """The column that separates sequences, and the columns that are inputs: names, or places where there are none."""

    sequence: Label | None = None
    inputs: tuple[Label, ...] = ()

    def __bool__(self) -> bool:
        return self.sequence is not None or bool(self.inputs)

    @property
    def own_columns(self) -> list[Label]:
        """All columns that have a role."""
        return [*self.inputs, *([] if self.sequence is None else [self.sequence])]

    def with_values(self, columns: Sequence[Label] | None) -> list[Label] | None:
        """Return all columns to read, given those of the values; None reads every column of the data."""
        if columns is None:
            return None
        twice = [label for label in columns if label in self.own_columns]
        if twice:
            raise ValueError(f"column {twice[0]!r} cannot be a value of the model and something else too.")
        return [*columns, *self.own_columns]

    def values(self, labels: Sequence[Label]) -> list[int]:
        """Return the places of the values in a table with these columns."""
        return [place for place, label in enumerate(labels) if label not in self.own_columns]

    def split(self, table: np.ndarray, labels: Sequence[Label]) -> Chunk:
        """Split a table with these columns by their roles."""
        if not self:
            return Chunk(table)
        places = [labels.index(label) for label in self.inputs]
        sequence = None if self.sequence is None else table[:, labels.index(self.sequence)]
        return Chunk(table[:, self.values(labels)], table[:, places] if places else None, sequence)


def concatenate(chunks: Sequence[Chunk]) -> Chunk:
    """Return chunks as one."""
    parts = zip(*chunks, strict=True)
    X, inputs, sequence = (None if part[0] is None else np.concatenate(part) for part in parts)
    assert X is not None
    return Chunk(X, inputs, sequence)
