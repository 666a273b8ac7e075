"""The source that all data comes from: parts, read piece by piece, cut into batches, fetched ahead."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kullback.sources._ahead import Ahead
from kullback.sources._bad_row import Tally
from kullback.sources._batches import Batch, Mark, batches
from kullback.sources._columns import Columns
from kullback.sources._source import Source
from kullback.sources._supply import Supply


class TableSource(Source):
    """Batches of the chosen columns of a supply of parts."""

    def __init__(self, supply: Supply, columns: Columns, batch_rows: int, skip_bad: bool, max_bad: int, ahead: int):
        self.names = columns.names
        self._supply, self._columns, self._size = supply, columns, batch_rows
        self._skip_bad, self._max_bad, self._depth = skip_bad, max_bad, ahead
        self._came_from: dict[str, Any] = {"bad": 0, "done": 0, "codes": dict(columns.codes.words)}
        self._mark: Mark | None = None
        self._ahead: Ahead[Batch] | None = None

    def __iter__(self) -> Iterator[np.ndarray]:
        """Hand out the batches that are left."""
        if self._ahead is None:
            self._ahead = Ahead(self._flow(self._came_from), self._depth)
        for values, mark in self._ahead:
            self._mark = mark
            if len(values):
                yield values

    def _flow(self, position: dict[str, Any]) -> Iterator[Batch | None]:
        self._columns.recall(position["codes"])
        tally = Tally(self._skip_bad, self._max_bad, position["bad"])
        return batches(self._supply.begin(position), self._columns, self._size, tally, position["done"])

    @property
    def position(self) -> dict[str, Any]:
        """What has been handed out: a place in the data, how many rows were good and bad, and which words came."""
        if self._mark is None:
            return self._came_from
        counts = {"done": self._mark.rows, "bad": self._mark.bad, "codes": self.codes}
        return {**self._supply.position(self._mark), **counts}

    def resume(self, position: Any) -> None:
        """Go to a position that a source of the same data had."""
        if not isinstance(position, dict) or not {"done", "bad", "codes"} <= set(position):
            raise ValueError(f"position is {position!r}: it must be what `position` of a source has said.")
        self._came_from, self._mark = position, None
        self._ahead = Ahead(self._flow(position), self._depth)

    @property
    def codes(self) -> dict[str, list[str]]:
        """The words of each column that holds words."""
        if self._mark is None:
            return {label: list(words) for label, words in self._came_from["codes"].items()}
        return {label: self._columns.codes.words[label][:size] for label, size in self._mark.words.items()}

    @property
    def rows(self) -> int | None:
        """How many rows there are in all, where that is known."""
        return self._supply.rows

    @property
    def bad_rows(self) -> int:
        """How many bad rows were left out."""
        return self._came_from["bad"] if self._mark is None else self._mark.bad
