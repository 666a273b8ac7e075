"""Text in blocks of whole rows, each with the byte and the line at which it begins."""

import abc
import functools
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kullback.sources._columns import Columns
from kullback.sources._compressed import text_from
from kullback.sources._part import Part, Piece
from kullback.sources._rows import whole_rows
from kullback.sources._sniff import check_is_text

#: What some programs begin UTF-8 text with. It is no part of the first row.
BOM = b"\xef\xbb\xbf"

#: Bytes that are read at once, and bytes in which a row must end.
BLOCK, LONGEST = 1 << 20, 1 << 24

#: How long to wait for a stream before saying that nothing came, in seconds.
PATIENCE = 0.1


class Block(NamedTuple):
    """Some whole rows of a text. They are `sound` where no quote in them is out of place."""

    data: bytes
    byte: int
    line: int
    sound: bool = True


class Reader(NamedTuple):
    """The byte and the line at which rows begin, and what makes a table of a block and says which rows are bad."""

    byte: int
    line: int
    read: Callable[[Block], "Read"]


class Read(NamedTuple):
    """What a block holds: a table, what is wrong with some of its rows, and the columns that go along."""

    table: Any
    bad: dict[int, str]
    kept: tuple[Any, str] | None = None


class TextFile:
    """A file of text, compressed or not. It can be read from any byte.

    Where fields between a `delimiter` may stand in quotes, so may the ends of lines; where it is None, lines are rows.
    """

    def __init__(self, path: Path, delimiter: str | None):
        self.name, self._path, self._delimiter = str(path), path, delimiter

    def head(self, rows: int) -> Block:
        """Return the first whole rows, at least so many if they are there."""
        return _head(self.blocks(0, 1), rows)

    def blocks(self, byte: int, line: int) -> Iterator[Block | None]:
        """Yield the blocks from a byte on."""
        with text_from(self._path, byte) as stream:
            yield from _blocks(lambda: stream.read(BLOCK), byte, line, self._delimiter, self.name)


class TextStream:
    """Text that comes from somewhere else and cannot be read twice: standard input, a pipe, an open file."""

    def __init__(self, stream: Any, name: str, delimiter: str | None):
        self.name, self._stream, self._asks = name, stream, True
        self._waiting: list[Block] = []
        self._coming = _blocks(self._read, 0, 1, delimiter, name)

    def head(self, rows: int) -> Block:
        """Return the first whole rows; they stay to be read."""
        return _head(self._coming, rows, self._waiting)

    def blocks(self, byte: int, line: int) -> Iterator[Block | None]:
        """Yield the blocks from a byte on that is among those that wait."""
        while self._waiting:
            block = self._waiting.pop(0)
            if block.byte + len(block.data) > byte:
                away = max(byte - block.byte, 0)
                line = block.line + block.data.count(b"\n", 0, away)
                yield block._replace(data=block.data[away:], byte=block.byte + away, line=line)
        yield from self._coming

    def _read(self) -> bytes | None:
        """Return all that is there, up to a block; None when nothing came for a while."""
        if not self._ready(PATIENCE):
            return None
        data = self._some()
        while data and len(data) < BLOCK and self._asks and self._ready(0):
            more = self._some()
            if not more:
                break
            data += more
        return data

    def _some(self) -> bytes:
        return self._stream.read1(BLOCK) if hasattr(self._stream, "read1") else self._stream.read(BLOCK)

    def _ready(self, patience: float) -> bool:
        """Whether reading would not have to wait; not all streams can be asked."""
        if self._asks:
            try:
                return bool(select.select([self._stream.fileno()], [], [], patience)[0])
            except (OSError, ValueError, AttributeError):
                self._asks = False
        return True


class TextPart(Part):
    """Rows of a text. What its columns hold is decided by the first `sample` rows."""

    def __init__(self, text: TextFile | TextStream, sample: int):
        self.name, self._text, self._sample = text.name, text, sample

    @property
    def rows(self) -> int | None:
        """Unknown before all is read."""
        return None

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        """Yield what each block holds, from the block on in which the place is."""
        reader = self._reader(columns)
        if reader is None:
            return
        row, byte, line = 0, reader.byte, reader.line
        if "byte" in at:
            row, byte, line = at["row"] - at["skip"], at["byte"], at["line"]
        for block in self._text.blocks(byte, line):
            if block is None:
                yield None
                continue
            table, bad, kept = reader.read(block)
            place = {"row": row, "byte": block.byte, "line": block.line, "end": block.byte + len(block.data)}
            where = _by_line(self.name, functools.partial(self._line_numbers, block))
            yield Piece(table, place, bad, where, kept)
            row += len(table)

    @abc.abstractmethod
    def _reader(self, columns: Columns) -> Reader | None:
        """Return what reads the blocks; None where there are no rows."""

    @abc.abstractmethod
    def _line_numbers(self, block: Block) -> list[int]:
        """Return the line in which each row of a block begins."""


def _by_line(name: str, lines: Callable[[], list[int]]) -> Callable[[int], str]:
    """Return what names the rows of a piece, whose lines are found when the first of them is asked for."""
    known = functools.cache(lines)
    return lambda row: f"{name}, line {known()[row]:,}"


def _head(blocks: Iterator[Block | None], rows: int, kept: list[Block] | None = None) -> Block:
    first, data = None, []
    for block in blocks:
        if block is not None:
            first = first or block
            data.append(block.data)
            rows -= block.data.count(b"\n")
            if kept is not None:
                kept.append(block)
            if rows < 0:
                break
    return Block(b"", 0, 1) if first is None else first._replace(data=b"".join(data))


def _blocks(
    read: Callable[[], bytes | None], byte: int, line: int, delimiter: str | None, name: str
) -> Iterator[Block | None]:
    """Cut what is read where rows end. A row that does not end is cut where its first line ends."""
    held, size, awaited, ended = [b""], 0, b"\n", False
    while not ended:
        data = read()
        if data is None:
            yield None
            continue
        ended = data == b""
        held.append(data)
        size += len(data)
        if awaited not in data and size <= LONGEST and not ended:
            continue
        data = b"".join(held)
        if byte == 0:
            check_is_text(data, name)
            byte, data = (len(BOM), data[len(BOM) :]) if data.startswith(BOM) else (0, data)
        while data:
            end, sound = _cut(data, delimiter, ended)
            if end == 0 and (ended or len(data) > LONGEST):
                end, sound = data.find(b"\n") + 1 or (len(data) if ended else 0), False
                if end == 0:
                    raise ValueError(f"{name}, line {line:,}: this row does not end within {LONGEST >> 20} MB.")
            if end == 0:
                break
            yield Block(data[:end], byte, line, sound)
            byte, line, data = byte + end, line + _lines(data, end), data[end:]
        held, size, awaited = [data], len(data), b'"' if b"\n" in data else b"\n"  # a line that ends inside quotes


def _lines(data: bytes, end: int) -> int:
    """Return how many lines end before a place; this way it takes a tenth of the time that `bytes.count` does."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8, end) == ord("\n")))


def _cut(data: bytes, delimiter: str | None, ended: bool) -> tuple[int, bool]:
    """Return where the last whole row ends, and whether all until there are sound."""
    if delimiter is None:
        return len(data) if ended else data.rfind(b"\n") + 1, True
    if not ended or data.endswith(b"\n"):
        return whole_rows(data, delimiter)
    end, sound = whole_rows(data + b"\n", delimiter)  # the last line needs no end
    return min(end, len(data)), sound
