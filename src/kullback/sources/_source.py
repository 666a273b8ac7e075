"""What every source of data answers: batches of rows, one after the other, and the place it has come to."""

import abc
from collections.abc import Iterator
from typing import Any

import numpy as np


class Source(abc.ABC):
    """An iterator of tables, each of shape (rows, columns), 64-bit, NaN where an entry is missing.

    `position` says what has been handed out: a JSON-able value. A source that is opened anew on the same data and told
    to `resume` from it hands out the same batches as the first would have, from there on. `names` are those of the
    columns, or None where they have none.
    """

    names: list[str] | None

    @abc.abstractmethod
    def __iter__(self) -> Iterator[np.ndarray]:
        """Hand out the batches that are left."""

    @property
    @abc.abstractmethod
    def position(self) -> Any:
        """What has been handed out."""

    @abc.abstractmethod
    def resume(self, position: Any) -> None:
        """Go to a position that a source of the same data had; one of other files is refused."""

    @property
    @abc.abstractmethod
    def fingerprint(self) -> Any:
        """What tells the files that were read from others, JSON-able: `position` has it too. None where none were."""

    @abc.abstractmethod
    def check(self, fingerprint: Any) -> None:
        """Raise unless the data is, all in all, that of a fingerprint of a source that had come to its end."""

    @property
    @abc.abstractmethod
    def codes(self) -> dict[str, list[str]]:
        """The words of each column that holds words, by name: an entry is the place of its word there.

        They stand in the order in which they first came. A source that was opened with `codes` knows no others.
        """

    @property
    @abc.abstractmethod
    def kinds(self) -> dict[str, str]:
        """What each column holds, in the order of the columns: "number", "truth", "words" or "sequence".

        It is by name, or by place ("0", "1", …) where columns have no names, as in `codes`. "sequence" is the column
        that says which sequence a row belongs to, whatever is written in it.
        """

    @property
    @abc.abstractmethod
    def rows(self) -> int | None:
        """How many rows there are in all, where that is known."""

    @property
    @abc.abstractmethod
    def bad_rows(self) -> int:
        """How many bad rows were left out."""
