"""Which columns of a table are no values of the model: targets, inputs, weights, one that separates sequences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Label = str | int


class Chunk(NamedTuple):
    """Rows of values, and of each its inputs, a number for its sequence, its weight and its targets, where it has them.

    Where there are targets, the values are what they are predicted from.
    """

    X: np.ndarray
    inputs: np.ndarray | None = None
    sequence: np.ndarray | None = None
    weight: np.ndarray | None = None
    targets: np.ndarray | None = None

    @property
    def lengths(self) -> np.ndarray | None:
        """How many rows stand together with the same number; None without numbers."""
        if self.sequence is None:
            return None
        begins = np.flatnonzero(np.append(True, self.sequence[1:] != self.sequence[:-1]))
        return np.diff(np.append(begins, len(self.sequence)))

    @property
    def sequence_weights(self) -> np.ndarray | None:
        """The weight of each sequence; None without weights."""
        if self.weight is None or self.lengths is None:
            return None
        ends = np.cumsum(self.lengths)
        for first, end in zip(ends - self.lengths, ends, strict=True):
            if (self.weight[first:end] != self.weight[first]).any():
                raise ValueError(
                    f"rows {first + 1:,} to {end:,} are one sequence, and have several weights: it must have one."
                )
        return self.weight[ends - 1]

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
        return Chunk(*(None if part is None else part[-rows:] for part in self))  # type: ignore[arg-type]


class Roles(NamedTuple):
    """The column that separates sequences, the inputs, the weight and the targets: names, or places without any.

    `inputs` are those of linear systems. Where there are targets, all columns without a role are inputs.
    """

    sequence: Label | None = None
    inputs: tuple[Label, ...] = ()
    weight: Label | None = None
    targets: tuple[Label, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.own_columns)

    @property
    def own_columns(self) -> list[Label]:
        """All columns that have a role."""
        others = [label for label in (self.sequence, self.weight) if label is not None]
        return [*self.inputs, *others, *self.targets]

    def with_values(self, columns: Sequence[Label] | None) -> list[Label] | None:
        """Return all columns to read, given those of the values; None reads every column of the data."""
        if columns is None:
            return None
        twice = [label for label in columns if label in self.own_columns]
        if twice and twice[0] in self.targets:
            raise ValueError(f"column {twice[0]!r} is in --columns and in --target: a target cannot be an input too.")
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
        inputs, targets = ([labels.index(label) for label in own] for own in (self.inputs, self.targets))
        sequence, weight = (
            None if label is None else table[:, labels.index(label)] for label in (self.sequence, self.weight)
        )
        return Chunk(
            table[:, self.values(labels)],
            table[:, inputs] if inputs else None,
            sequence,
            weight,
            table[:, targets] if targets else None,
        )

    def check(self, labels: Sequence[Label], data: object) -> None:
        """Raise unless a table with these columns has those of all roles, and values besides."""
        for label in self.own_columns:
            if label not in labels:
                shown = ", ".join(repr(each) for each in labels[:10]) + (", …" if len(labels) > 10 else "")
                raise ValueError(f"{data} has no column {label!r}: it has {shown}.")
        if self.targets and not self.values(labels):
            raise ValueError(f"{data} has no column besides {self.own_columns}: there is nothing to predict from.")


def concatenate(chunks: Sequence[Chunk]) -> Chunk:
    """Return chunks as one."""
    parts = zip(*chunks, strict=True)
    X, *others = (None if part[0] is None else np.concatenate(part) for part in parts)
    assert X is not None
    return Chunk(X, *others)
