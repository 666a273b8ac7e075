"""JSON lines: one object in each line."""

import contextlib
import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from kullback.sources._careful import careful_table
from kullback.sources._columns import Columns
from kullback.sources._entries import kind_of, shown
from kullback.sources._part import Look, Part, Piece
from kullback.sources._text import Block, TextFile, TextStream

_TWO = re.compile(rb"\}[ \t\r]*\{")


class JsonLinesPart(Part):
    """Objects, whose keys are the columns. A key that is not there is a missing entry; other keys are left out.

    Empty lines are no rows. The columns, and what they hold, are decided by the first `sample` rows of the first file.
    """

    def __init__(self, text: TextFile | TextStream, sample: int):
        self.name, self._text, self._sample = text.name, text, sample

    @property
    def rows(self) -> int | None:
        """Nobody knows before all is read."""
        return None

    def look(self) -> Look:
        """Return the keys of the first rows and what is found there."""
        found: dict[str, list[Any]] = {}
        first = Block(self._text.head(self._sample), 0, 1)
        for _, (_, row) in zip(range(self._sample), _objects(first), strict=False):
            for key, entry in row.items() if isinstance(row, dict) else ():
                found.setdefault(key, []).append(entry)
        return Look(list(found), [kind_of(entries) for entries in found.values()])

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        """Yield what each block holds, from the block on in which the place is."""
        if columns.names is None:
            raise ValueError(f"{self.name} has names of columns, and what came before it has none.")
        row, byte, line = 0, 0, 1
        if "byte" in at:
            row, byte, line = at["row"] - at["skip"], at["byte"], at["line"]
        for block in self._text.blocks(byte, line):
            if block is None:
                yield None
                continue
            piece = self._piece(block, row, columns)
            row += len(piece)
            yield piece

    def _piece(self, block: Block, row: int, columns: Columns) -> Piece:
        at = {"row": row, "byte": block.byte, "line": block.line}
        where = functools.partial(_line, self.name, block)
        table = _quickly(block.data, columns)
        if table is not None:
            return Piece(table, at, {}, where)
        rows = [
            [row.get(name) for name in columns.labels] if isinstance(row, dict) else row for _, row in _objects(block)
        ]
        careful, bad = careful_table(rows, columns.labels, columns.kinds)
        return Piece(careful, at, bad, where)


def _quickly(data: bytes, columns: Columns) -> Any:
    """Return a block as pyarrow reads it, or None where it cannot, or sees other rows than there are lines."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    types = {"words": pa.string(), "truth": pa.bool_(), "number": pa.float64()}
    schema = pa.schema([(name, types[kind]) for name, kind in zip(columns.labels, columns.kinds, strict=True)])
    read = arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    if _TWO.search(data):  # two objects in a line: they would be two rows
        return None
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    with contextlib.suppress(pa.ArrowInvalid):
        table = arrow_json.read_json(pa.BufferReader(data), read, parse)
        if table.num_rows == lines:
            return table.select(columns.labels).combine_chunks().to_batches()[0]
    return None


def _objects(block: Block) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the line and the object of each line that is not empty, or what is wrong with it."""
    for away, line in enumerate(block.data.split(b"\n")):
        if not line.strip():
            continue
        try:
            row = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError) as error:
            why = str(error).partition(":")[0]
            yield block.line + away, f"this is no JSON ({why}): {shown(line.decode(errors='replace'))}"
            continue
        yield block.line + away, row if isinstance(row, dict) else f"this is no JSON object: {shown(row)}"


def _line(name: str, block: Block, place: int) -> str:
    """Return what names a row of a block."""
    lines = [block.line + away for away, line in enumerate(block.data.split(b"\n")) if line.strip()]
    return f"{name}, line {lines[place]:,}"
