"""JSON lines: one object in each line."""

import contextlib
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from kullback.sources._columns import Columns
from kullback.sources._entries import SHOWN, is_unicode, kind_of
from kullback.sources._part import Schema
from kullback.sources._row_by_row import parse_rows
from kullback.sources._text import Block, Read, Reader, TextPart
from kullback.storage import quote

#: Where an object ends in one line and another begins in the next.
_BETWEEN = re.compile(rb"\}[ \t\r]*\n[ \t\r]*\{")

#: How an array of objects begins, in one line or in many.
_ARRAY = re.compile(rb"\s*\[\s*(?:\{|\Z)")


class JsonLinesPart(TextPart):
    """Objects, whose keys are the columns. A key that is not there is a missing entry; other keys are left out.

    Empty lines are not rows. The columns, and what they hold, are decided by the first `sample` rows of the first file.
    """

    def schema(self) -> Schema:
        """Return the keys of the first rows and what is found there."""
        head, found = self._text.head(self._sample), dict[str, list[Any]]()
        rows = list(itertools.islice(_objects(head), self._sample))
        for _, row in rows:
            for key, entry in row.items() if isinstance(row, dict) else ():
                found.setdefault(key, []).append(entry)
        if _ARRAY.match(head.data) and isinstance(rows[0][1], str):
            raise ValueError(f"{self.name} is one JSON array: write one object in each line, and nothing between them.")
        if rows and not any(isinstance(row, dict) for _, row in rows):
            line, what = rows[0]
            raise ValueError(f"{self.name}, line {line:,}: {what}, and in each line there should be one object.")
        return Schema(list(found), [kind_of(entries) for entries in found.values()])

    def _line_numbers(self, block: Block) -> list[int]:
        return [number for number, _ in _lines(block)]

    def _reader(self, columns: Columns) -> Reader | None:
        if columns.names is None:
            raise ValueError(f"{self.name} has names of columns, and what came before it has none.")

        def read(block: Block) -> Read:
            kept = columns.kept(_as_written(block, columns.kept_names), "json") if columns.keeps else None
            table = _parse_fast(block.data, columns)
            if table is not None:
                return Read(table, {}, kept)
            rows = [
                [row.get(name) for name in columns.labels] if isinstance(row, dict) else row
                for _, row in _objects(block)
            ]
            return Read(*parse_rows(rows, columns.labels, columns.kinds), kept)

        return Reader(0, 1, read)


class _Literal(str):
    """A number as it is written."""


def _as_written(block: Block, names: list[str]) -> list[Any]:
    """Return some columns of a block as JSON, with numbers as they are written; bad lines have nothing there."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for _, line in _lines(block):
        row: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line.decode(), parse_float=_Literal, parse_int=_Literal, parse_constant=_Literal)
        rows.append(row if isinstance(row, dict) else {})
    return [pa.array([_json_text(row.get(name)) for row in rows], pa.string()) for name in names]


def _json_text(value: Any) -> str:
    """Return a value as JSON."""
    if isinstance(value, _Literal):
        return str(value)
    if isinstance(value, dict):
        entries = [f"{_json_text(name)}: {_json_text(each)}" for name, each in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json_text, value)) + "]"
    text = json.dumps(value, ensure_ascii=False)
    return text if is_unicode(text) else json.dumps(value)


def _parse_fast(data: bytes, columns: Columns) -> Any:
    """Return a block as pyarrow reads it, or None where it cannot, or sees other rows than there are lines.

    It is not asked to read lines that are no objects: `null` becomes a row for it, or ends the process.
    """
    import pyarrow as pa
    from pyarrow import json as arrow_json

    lines = _lines_of_objects(data)
    if not lines or not _is_utf8(data):
        return None
    types = {"words": pa.string(), "truth": pa.bool_(), "number": pa.float64()}
    schema = pa.schema([(name, types[kind]) for name, kind in zip(columns.labels, columns.kinds, strict=True)])
    read = arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    with contextlib.suppress(pa.ArrowInvalid):
        table = arrow_json.read_json(pa.BufferReader(data), read, parse)
        if table.num_rows == lines:
            return table.select(columns.labels).combine_chunks().to_batches()[0]
    return None


def _lines_of_objects(data: bytes) -> int:
    """Return how many lines there are, if each begins and ends as an object does; else 0.

    No line ends within an object then: it would stand between } and {, and in JSON nothing but a comma can.
    """
    text = data.strip(b" \t\r\n")
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return 0
    content = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    plain = (content[ends - 1] == ord("}")).all() and (content[ends + 1] == ord("{")).all()
    return len(ends) + 1 if plain or len(_BETWEEN.findall(text)) == len(ends) else 0


def _is_utf8(data: bytes) -> bool:
    with contextlib.suppress(UnicodeDecodeError):
        return data.isascii() or bool(data.decode())
    return False


def _objects(block: Block) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the number and the object of each line that is not empty, or what is wrong with it."""
    for number, line in _lines(block):
        yield number, _object(line)


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, with their numbers."""
    for number, line in enumerate(block.data.split(b"\n"), block.line):
        if line.strip():
            yield number, line


def _object(line: bytes) -> dict[str, Any] | str:
    """Return the object of a line, or what is wrong with it."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return f"this is not UTF-8: {quote(line, SHOWN)}"
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = str(error).partition(":")[0]
        return f"this is not JSON ({why}): {quote(text, SHOWN)}"
    if not isinstance(row, dict):
        return f"this is not a JSON object: {text.strip()[:SHOWN]}"
    half = next((key for key in row if not is_unicode(key)), None)
    return row if half is None else f"the key {quote(half, SHOWN)} has half a character in it"
