"""A file, a table or a stream, as one of the parts that a source is made of."""

import abc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kullback.sources._columns import Columns

#: Rows of a typed file that are read at once, and numbers: of wide rows there are fewer.
PIECE, NUMBERS = 65_536, 1 << 23


class Schema(NamedTuple):
    """What the beginning of a part says of its columns: their names, if they have any, and what they hold.

    A kind is "number", "truth" or "words"; everything else is the name of something that no column may hold.
    """

    names: list[str] | None
    kinds: list[str]


class Piece(NamedTuple):
    """Some rows of a part, with the columns that were chosen.

    `at` says where it begins: `row` is the number of rows before it, the rest is what helps to find it again. `bad` has
    the rows that are known to be bad, and what is wrong with them; `where` names the place of a row. `kept` has the
    columns that go along, and their form, where some are asked for.
    """

    table: Any  # np.ndarray of two axes, or a pyarrow.RecordBatch
    at: dict[str, Any]
    bad: dict[int, str]
    where: Callable[[int], str]
    kept: tuple[Any, str] | None = None  # a pyarrow.RecordBatch, and how its entries are written

    def __len__(self) -> int:
        return len(self.table)


class Part(abc.ABC):
    """One file or table."""

    name: str

    @abc.abstractmethod
    def schema(self) -> Schema:
        """Return what the columns are."""

    @abc.abstractmethod
    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        """Yield what there is from the place `at` on, beginning there or before. None says that nothing came yet."""

    @property
    @abc.abstractmethod
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""


class NumberPart(Part):
    """Rows of numbers whose columns have no names: an array in memory or in a file."""

    def __init__(self, name: str, rows: int, width: int):
        self.name, self._rows, self._width = name, rows, width

    @property
    def rows(self) -> int | None:
        return self._rows

    def schema(self) -> Schema:
        return Schema(None, ["number"] * self._width)

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        places, row = columns.typed_places(self.name, *self.schema()), at.get("row", 0)
        along = columns.kept_places(self.name, None, self._width)
        for both in self._tables(row, rows_at_once(self._width, PIECE), places + along):
            table, rest = (both[:, : len(places)], both[:, len(places) :]) if along else (both, None)
            kept = columns.kept([] if rest is None else [as_arrow(column) for column in rest.T], "typed")
            yield Piece(table, {"row": row}, {}, by_row(self.name, row), kept)
            row += len(table)

    @abc.abstractmethod
    def _tables(self, first: int, most: int, places: list[int]) -> Iterator[np.ndarray]:
        """Yield the columns at some places, from a row on, so many rows at once."""


def as_arrow(column: np.ndarray) -> Any:
    """Return numbers as an Arrow array of the same type, or of the nearest that Arrow has."""
    import pyarrow as pa

    kind = column.dtype.newbyteorder("=")
    return pa.array(np.ascontiguousarray(column, np.float64 if kind.kind == "f" and kind.itemsize > 8 else kind))


def select(table: np.ndarray, places: list[int]) -> np.ndarray:
    """Return the columns at some places; the table itself where these are all of them."""
    return table if places == list(range(table.shape[1])) else table[:, places]


def rows_at_once(width: int, rows: int = PIECE) -> int:
    """Return how many rows of so many numbers are handled at once, where `rows` are enough."""
    return min(rows, max(1, NUMBERS // max(width, 1)))


def by_row(name: str, first: int) -> Callable[[int], str]:
    """Return what names the rows of a piece that begins with row `first`."""
    return lambda row: f"{name}, row {first + row:,} (the first is row 0)"


def as_matrix(array: Any, name: str) -> np.ndarray:
    """Return an array of numbers as one with two axes."""
    if array.dtype.hasobject or array.dtype.kind not in "biuf":
        raise ValueError(f"{name} is an array of {array.dtype}, and not of numbers.")
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has the shape {array.shape}, and a table has rows and columns.")
    return array[:, None] if array.ndim == 1 else array
