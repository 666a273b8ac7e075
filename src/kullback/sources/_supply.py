"""The parts of a source, one after the other, and what its positions look like."""

import abc
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from kullback.sources._batches import Mark, PartStart
from kullback.sources._fingerprint import DataFile, check_file, check_tail, fingerprint, tail
from kullback.sources._part import Part
from kullback.sources._typed import table_part

#: What a byte of compressed text can become at most.
_RATIO = 1 << 17


class Supply(abc.ABC):
    """Where parts come from."""

    first: Part  # which says what the columns are
    again: bool  # whether what is before a position can be read again
    places: ClassVar[list[set[str]]]  # the names by which a position says where it is
    has_files = False  # whether it can be seen later that the data is the same
    several = False  # whether there may be more than one part

    @abc.abstractmethod
    def position(self, mark: Mark) -> dict[str, Any]:
        """Return a place as JSON-able values."""

    @abc.abstractmethod
    def begin(self, position: dict[str, Any], seen: dict[str, Any] | None) -> Iterator[PartStart]:
        """Yield the parts from a position on; `seen` is the fingerprint of what was read until then."""

    def fingerprint(self, mark: Mark) -> dict[str, Any] | None:
        """Return what tells the data that was read until a place from other data, where there are files."""
        return None

    def check(self, seen: dict[str, Any], whole: bool) -> None:
        """Raise unless the data is that of a fingerprint; what was read last may have grown, unless it was `whole`."""
        raise ValueError("The position is in files, and this source has none.")

    @property
    def most_rows(self) -> int | None:
        """More rows than this there cannot be, where that is known."""
        return None

    @property
    @abc.abstractmethod
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""


class FileSet(Supply):
    """Files, arrays and other parts that can be opened again. A position is a row of one of them."""

    places: ClassVar[list[set[str]]] = [
        {"file", "name", "row"},
        {"file", "name", "row", "byte", "line", "skip", "end"},
    ]

    def __init__(self, parts: list[Part], files: list[DataFile] | None = None):
        self.parts, self.first, self.again = parts, parts[0], True
        self._files, self._seen = files or [], dict[int, str]()
        self._tail: tuple[int, str | None] = (-1, None)
        self.has_files, self.several = bool(files), len(parts) > 1

    def position(self, mark: Mark) -> dict[str, Any]:
        """Return the number of the part and the row in it, with what helps to find it."""
        finder = {"skip": mark.taken} if "byte" in mark.at else {}
        row = mark.at["row"] + mark.taken
        return {"file": mark.part, "name": Path(mark.name).name, **mark.at, **finder, "row": row}

    def begin(self, position: dict[str, Any], seen: dict[str, Any] | None) -> Iterator[PartStart]:
        """Yield the part in which the position is, and those after it."""
        first = position.get("file", 0)
        names = [Path(part.name).name for part in self.parts]
        if "name" in position and names[first : first + 1] != [position["name"]]:
            raise ValueError(
                f"The position is in {position['name']!r}, which was file {first} (the first is file 0) and is not any "
                f"more: the files are others than before."
            )
        count = self.parts[first].rows
        if count is not None and position.get("row", 0) > count:
            raise ValueError(
                f"{self.parts[first].name} has {count:,} rows, and the position is after row {position['row']:,}: "
                f"it is shorter than before."
            )
        self._seen = dict(enumerate(seen["files"])) if seen else {}
        return self._from(first, position)

    def _from(self, first: int, position: dict[str, Any]) -> Iterator[PartStart]:
        for number, part in enumerate(self.parts[first:], first):
            if self._files:  # before it is read: what is hashed is not newer
                self._seen[number] = fingerprint(self._files[number].path)
            yield number, part, position if number == first else {}

    def fingerprint(self, mark: Mark) -> dict[str, Any] | None:
        """Return what tells each file that was read until a place from others, and the hash of what is before it."""
        if not self._files:
            return None
        file, end = self._files[mark.part], mark.at.get("end", 0)
        if file.plain and self._tail[0] != end:  # there are many places in a block of rows
            self._tail = end, tail(file.path, end)
        files = [self._seen[number] for number in range(mark.part + 1)]
        return {"files": files, "tail": self._tail[1] if file.plain else None}

    def check(self, seen: dict[str, Any], whole: bool) -> None:
        """Raise unless the files are those of a fingerprint."""
        if not self._files:
            super().check(seen, whole)
        count = len(seen["files"])
        if count > len(self._files) or (whole and count < len(self._files)):
            raise ValueError(
                f"There were {count} files, and there are {len(self._files)}, the first of them "
                f"{self._files[0].path}: go on with the same data, or begin anew."
            )
        for number, (file, before) in enumerate(zip(self._files, seen["files"], strict=False), 1):
            check_file(file, before, grown=number == count and not whole)
        if seen["tail"] is not None:
            check_tail(self._files[count - 1], seen["tail"])

    @property
    def most_rows(self) -> int | None:
        """The rows that files say they have, or a row for each byte of text."""
        if not self._files:
            return self.rows
        return _total(_most_rows(part, file) for part, file in zip(self.parts, self._files, strict=True))

    @property
    def rows(self) -> int | None:
        """How many rows all parts have together."""
        return _total(part.rows for part in self.parts)


class _CountedSupply(Supply):
    """Parts that come by: a position is a number of rows."""

    places: ClassVar[list[set[str]]] = [{"rows"}]

    def position(self, mark: Mark) -> dict[str, Any]:
        """Return how many rows have come."""
        return {"rows": mark.rows + mark.bad}

    @property
    def rows(self) -> int | None:
        """Unknown for streams."""
        return None


class TableIterable(_CountedSupply):
    """An iterable of tables. Rows before a position are gone through again."""

    def __init__(self, tables: Iterable[Any]):
        self._tables, self.again, self.several = tables, True, True
        self._coming: Iterator[Any] | None = iter(tables)
        self._once = self._coming is tables
        head = next(self._coming, None)
        if head is None:
            raise ValueError("data is empty: there is no table in it.")
        self.first = _as_part(head, 0)
        self._coming = itertools.chain([head], self._coming)

    def begin(self, position: dict[str, Any], seen: dict[str, Any] | None) -> Iterator[PartStart]:
        """Yield tables, without the rows before the position."""
        if self._coming is None and self._once:
            raise ValueError("An iterator cannot be gone through again: open a new source.")
        coming, self._coming = self._coming or iter(self._tables), None
        return self._from(coming, position.get("rows", 0))

    def _from(self, coming: Iterator[Any], skip: int) -> Iterator[PartStart]:
        for number, table in enumerate(coming):
            part = _as_part(table, number)
            count = part.rows or 0
            if count > skip:
                yield number, part, {"row": skip}
            skip = max(skip - count, 0)


class Pipe(_CountedSupply):
    """One stream that cannot be read again: going on means reading on."""

    def __init__(self, part: Part):
        self.first, self.again, self._begun = part, False, False

    def begin(self, position: dict[str, Any], seen: dict[str, Any] | None) -> Iterator[PartStart]:
        """Yield the stream as it is: what was before the position has gone by."""
        if self._begun:
            raise ValueError(f"{self.first.name} cannot be read again: open a new source.")
        self._begun = True
        return iter([(0, self.first, {})])


def _total(counts: Iterable[int | None]) -> int | None:
    """Return the sum; None where one of them is not known."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _most_rows(part: Part, file: DataFile) -> int | None:
    count = part.rows
    if count is None and file.grows:
        return file.path.stat().st_size * (1 if file.plain else _RATIO)
    return count


def _as_part(table: Any, number: int) -> Part:
    part = table_part(table, f"table {number}")
    if part is None:
        raise ValueError(f"data holds a {type(table).__name__}: it must hold tables, such as arrays of two axes.")
    return part
