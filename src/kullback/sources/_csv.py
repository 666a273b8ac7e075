"""Comma- or tab-separated text."""

import contextlib
import functools
import itertools
from collections.abc import Iterator

from kullback.sources._columns import Columns
from kullback.sources._entries import MISSING, is_unicode, kind_of
from kullback.sources._part import Schema
from kullback.sources._row_by_row import keep_rows, parse_rows
from kullback.sources._rows import Row, rows_of
from kullback.sources._sniff import check_separator
from kullback.sources._text import Block, Read, Reader, TextFile, TextPart, TextStream


class CsvPart(TextPart):
    """Rows of fields. pyarrow reads blocks of them; a block it cannot read is gone through row by row.

    Empty lines are not rows.
    """

    def __init__(self, text: TextFile | TextStream, delimiter: str, header: bool, sample: int):
        super().__init__(text, sample)
        self._delimiter, self._header = delimiter, header

    def schema(self) -> Schema:
        """Return the names of the first line and the kinds of the columns."""
        names, width, _, sample = self._head
        return Schema(names, [kind_of([row[place] for row in sample if len(row) == width]) for place in range(width)])

    @functools.cached_property
    def _head(self) -> tuple[list[str] | None, int, Block, list[list[str]]]:
        """The names, how many columns there are, where the rows begin (without their data), and some of them."""
        first = self._text.head(self._sample + 1)
        rows = list(itertools.islice(self._rows(first), self._sample + 1))
        sample = [row.fields for row in rows if isinstance(row.fields, list)]
        if sample and len(sample[0]) == 1:
            lines = first.data.decode(errors="replace").split("\n")[: self._sample + 1]
            check_separator(list(filter(str.strip, lines)), self._delimiter, self.name)
        if not self._header:
            return None, len(sample[0]) if sample else 0, first._replace(data=b""), sample
        if not rows:
            raise ValueError(f"{self.name} is empty: its first line should have the names of the columns.")
        fields, line, after, _ = rows[0]
        if isinstance(fields, str):
            raise ValueError(f"{self.name}, line {line:,}: {fields}, and here the names of the columns should be.")
        names = [name.strip() for name in fields]
        if not all(map(is_unicode, names)):
            raise ValueError(f"{self.name}, line {line:,}: the names of the columns are not UTF-8: save it as UTF-8.")
        size = sum(len(line) + 1 for line in first.data.split(b"\n", after - first.line)[: after - first.line])
        return names, len(names), Block(b"", first.byte + min(size, len(first.data)), after), sample[1:]

    def _rows(self, block: Block) -> Iterator[Row]:
        return rows_of(block.data, block.line, self._delimiter)

    def _line_numbers(self, block: Block) -> list[int]:
        return [row.line for row in self._rows(block)]

    def _reader(self, columns: Columns) -> Reader | None:
        names, width, start, _ = self._head
        if width == 0:
            return None
        import pyarrow as pa
        from pyarrow import csv

        taken = columns.places(self.name, names, width)
        types = {"words": pa.string(), "truth": pa.bool_(), "number": pa.float64()}
        parse = csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        convert = csv.ConvertOptions(
            column_types={str(place): types[kind] for place, kind in zip(taken, columns.kinds, strict=True)},
            include_columns=[str(place) for place in taken],
            null_values=list(MISSING),
            strings_can_be_null=True,
        )
        labels = [str(place) for place in range(width)]
        along = columns.kept_places(self.name, names, width)
        as_written = csv.ConvertOptions(
            column_types={str(place): pa.string() for place in along},
            include_columns=[str(place) for place in along],
            strings_can_be_null=False,
        )

        def read(block: Block) -> Read:
            options = csv.ReadOptions(use_threads=False, column_names=labels, block_size=len(block.data) + 1)
            with contextlib.suppress(pa.ArrowInvalid):
                if block.sound:
                    table = csv.read_csv(pa.BufferReader(block.data), options, parse, convert)
                    if table.num_rows:  # nothing but empty lines are no batch
                        kept = None
                        if columns.keeps:
                            texts = (
                                csv.read_csv(pa.BufferReader(block.data), options, parse, as_written) if along else None
                            )
                            arrays = [] if texts is None else [each.combine_chunks() for each in texts.columns]
                            kept = columns.kept(arrays, "text")
                        return Read(table.combine_chunks().to_batches()[0], {}, kept)
            fields = [each.fields for each in self._rows(block)]
            table, bad = parse_rows([_select(row, taken, width) for row in fields], columns.labels, columns.kinds)
            if not columns.keeps:
                return Read(table, bad)
            arrays = keep_rows([_select(row, along, width) for row in fields], columns.kept_names, bad)
            return Read(table, bad, columns.kept(arrays, "text"))

        return Reader(start.byte, start.line, read)


def _select(fields: list[str] | str, taken: list[int], width: int) -> list[str] | str:
    if isinstance(fields, str):
        return fields
    if len(fields) != width:
        return f"there are {len(fields)} columns where {width} should be"
    return [fields[place] for place in taken]
