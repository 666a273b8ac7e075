"""Text in blocks of whole rows, each with the byte and the line at which it begins."""

import contextlib
import csv
import gzip
import io
import select
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: Bytes that are read at once, and bytes in which a row must end.
BLOCK, LONGEST = 1 << 20, 1 << 24

#: How long to wait for a stream before saying that nothing came, in seconds.
PATIENCE = 0.1


class Block(NamedTuple):
    """Some whole rows of a text."""

    data: bytes
    byte: int
    line: int


class TextFile:
    """A file of text, compressed or not. It can be read from any byte."""

    seekable = True

    def __init__(self, path: Path, quotes: bool):
        self.name, self._path, self._quotes = str(path), path, quotes

    def head(self, rows: int) -> bytes:
        """Return the first whole rows, at least so many if they are there."""
        return _head(self.blocks(0, 1), rows)

    def blocks(self, byte: int, line: int) -> Iterator[Block | None]:
        """Yield the blocks from a byte on."""
        try:
            packed = self._path.suffix == ".gz"
            with gzip.open(self._path) if packed else open(self._path, "rb") as stream:
                if stream.seek(byte) < byte or not (packed or self._path.stat().st_size >= byte):
                    raise ValueError(f"{self.name} ends before byte {byte:,}, where reading should go on.")
                yield from _blocks(lambda: stream.read(BLOCK), byte, line, self._quotes, self.name)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.name} is damaged: {error}.") from None


class TextStream:
    """Text that comes from somewhere else and cannot be read twice: standard input, a pipe, an open file."""

    seekable = False

    def __init__(self, stream: Any, name: str, quotes: bool):
        self.name, self._stream, self._asks = name, stream, True
        self._waiting: list[Block] = []
        self._coming = _blocks(self._read, 0, 1, quotes, name)

    def head(self, rows: int) -> bytes:
        """Return the first whole rows; they stay to be read."""
        return _head(self._coming, rows, self._waiting)

    def blocks(self, byte: int, line: int) -> Iterator[Block | None]:
        """Yield the blocks from a byte on that is among those that wait."""
        while self._waiting:
            block = self._waiting.pop(0)
            if block.byte + len(block.data) > byte:
                away = max(byte - block.byte, 0)
                yield Block(block.data[away:], block.byte + away, block.line + block.data.count(b"\n", 0, away))
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


def rows_of(block: Block, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the fields of each row that is not empty, as Python's own reader sees them."""
    text = block.data.decode("utf-8", errors="surrogateescape")
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter)
    while True:
        line = block.line + reader.line_num
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:  # a field that is too long for it: this is no table
            yield line, []
            continue
        if fields:
            yield line, fields


def _head(blocks: Iterator[Block | None], rows: int, kept: list[Block] | None = None) -> bytes:
    data = b""
    for block in blocks:
        if block is not None:
            data += block.data
            if kept is not None:
                kept.append(block)
            if data.count(b"\n") > rows:
                break
    return data


def _blocks(read: Callable[[], bytes | None], byte: int, line: int, quotes: bool, name: str) -> Iterator[Block | None]:
    """Cut what is read where rows end."""
    rest = b""
    while (data := read()) != b"":
        if data is None:
            yield None
            continue
        data = rest + data
        end = data.rfind(b"\n") + 1
        if quotes and data.count(b'"', 0, end) % 2:
            end = _end_of_rows(data)
        if end == 0 and len(data) > LONGEST:
            raise ValueError(f"{name}, line {line:,}: this row does not end within {LONGEST >> 20} MB.")
        if end:
            yield Block(data[:end], byte, line)
            byte, line = byte + end, line + data.count(b"\n", 0, end)
        rest = data[end:]
    if rest:
        yield Block(rest, byte, line)


def _end_of_rows(data: bytes) -> int:
    """Return where the last whole row ends: lines may end inside quotes. What comes after it is not whole yet."""
    lines = list(io.StringIO(data[: data.rfind(b"\n") + 1].decode("latin-1"), newline="\n"))
    reader = csv.reader([*lines, "the end"])
    done = 0
    with contextlib.suppress(csv.Error):
        for _ in reader:
            if reader.line_num <= len(lines):
                done = reader.line_num
    return sum(map(len, lines[:done]))
