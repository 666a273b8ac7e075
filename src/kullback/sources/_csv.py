"""Comma- or tab-separated text."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from kullback.sources._careful import careful_table
from kullback.sources._columns import Columns
from kullback.sources._entries import MISSING, kind_of
from kullback.sources._part import Look, Part, Piece
from kullback.sources._text import Block, TextFile, TextStream, rows_of


class CsvPart(Part):
    """Rows of fields. pyarrow reads blocks of them; a block it cannot read is gone through row by row.

    Empty lines are no rows. What a column holds is decided by the first `sample` rows.
    """

    def __init__(self, text: TextFile | TextStream, delimiter: str, header: bool, sample: int):
        self.name, self._text, self._delimiter, self._header, self._sample = text.name, text, delimiter, header, sample

    @property
    def rows(self) -> int | None:
        """Nobody knows before all is read."""
        return None

    def look(self) -> Look:
        """Return the names of the first line and the kinds of the columns."""
        names, width, _, sample = self._head
        return Look(names, [kind_of([row[place] for row in sample if len(row) == width]) for place in range(width)])

    @functools.cached_property
    def _head(self) -> tuple[list[str] | None, int, Block, list[list[str]]]:
        """The names, how many columns there are, where the rows begin (without their data), and some of them."""
        data = self._text.head(self._sample + 1)
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(f"{self.name} is UTF-16 text: it must be UTF-8.")
        mark = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        whole = Block(data[mark:], mark, 1)
        rows = list(_some(rows_of(whole, self._delimiter), self._sample + 1))
        if not self._header:
            return None, len(rows[0][1]) if rows else 0, whole._replace(data=b""), [fields for _, fields in rows]
        if not rows:
            raise ValueError(f"{self.name} is empty: its first line should have the names of the columns.")
        names = [name.strip() for name in rows[0][1]]
        lines = data[mark:].split(b"\n")
        # the names may be written over several lines, so the place after them is where the reader has come to
        after = rows[0][0] + sum(field.count("\n") for field in rows[0][1])
        byte = mark + sum(len(line) + 1 for line in lines[:after])
        return names, len(names), Block(b"", min(byte, len(data)), after + 1), [fields for _, fields in rows[1:]]

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        """Yield what each block holds, from the block on in which the place is."""
        names, width, start, _ = self._head
        if width == 0:
            return
        taken = columns.places(self.name, names, width)
        row, byte, line = 0, start.byte, start.line
        if "byte" in at:
            row, byte, line = at["row"] - at["skip"], at["byte"], at["line"]
        read = self._reader(taken, columns, width)
        for block in self._text.blocks(byte, line):
            if block is None:
                yield None
                continue
            piece = read(block, row)
            row += len(piece)
            yield piece

    def _reader(self, taken: list[int], columns: Columns, width: int) -> Any:
        """Return a function that makes a piece of a block."""
        import pyarrow as pa
        from pyarrow import csv

        types = {"words": pa.string(), "truth": pa.bool_(), "number": pa.float64()}
        parse = csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        convert = csv.ConvertOptions(
            column_types={str(place): types[kind] for place, kind in zip(taken, columns.kinds, strict=True)},
            include_columns=[str(place) for place in taken],
            null_values=list(MISSING),
            strings_can_be_null=True,
        )
        labels = [str(place) for place in range(width)]

        def piece(block: Block, row: int) -> Piece:
            at = {"row": row, "byte": block.byte, "line": block.line}
            options = csv.ReadOptions(use_threads=False, column_names=labels, block_size=len(block.data) + 1)
            where = functools.partial(_line, self.name, block, self._delimiter)
            with contextlib.suppress(pa.ArrowInvalid):
                table = csv.read_csv(pa.BufferReader(block.data), options, parse, convert)
                return Piece(table.combine_chunks().to_batches()[0], at, {}, where)
            rows = [_picked(fields, taken, width) for _, fields in rows_of(block, self._delimiter)]
            careful, bad = careful_table(rows, columns.labels, columns.kinds)
            return Piece(careful, at, bad, where)

        return piece


def _line(name: str, block: Block, delimiter: str, place: int) -> str:
    """Return what names a row of a block."""
    lines = [line for line, _ in rows_of(block, delimiter)]
    return f"{name}, line {lines[place]:,}"


def _picked(fields: list[str], taken: list[int], width: int) -> list[str] | str:
    if len(fields) != width:
        return f"there are {len(fields)} columns where {width} should be"
    return [fields[place] for place in taken]


def _some(rows: Iterator[tuple[int, list[str]]], most: int) -> Iterator[tuple[int, list[str]]]:
    for _, row in zip(range(most), rows, strict=False):
        yield row
