"""Rows that leave: as CSV, JSON lines or Parquet, batch by batch."""

import contextlib
import csv
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

from kullback.cli._activity import clear_activity
from kullback.cli._messages import json_line
from kullback.cli._output_columns import OutputColumn, as_column
from kullback.storage import atomic_file, check_writable, name_in_errors, printable

_SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")

Put = Callable[[dict[str, OutputColumn]], None]


class Table:
    """Writes columns to a file, which is whole at the end or not there, or to standard output."""

    def __init__(self, path: Path | None, as_json: bool = False):
        path = None if path is not None and str(path) == "-" else path
        self._path, self._json = path, as_json
        self._open = contextlib.ExitStack()
        self._put: Put = _Lines(sys.stdout, as_json, sys.stdout.isatty())
        if path is None:
            return
        if path.suffix.lower() not in _SUFFIXES:
            raise ValueError(
                f"{path} has no suffix of {', '.join(_SUFFIXES)}, which decide the format (- is standard output)."
            )
        check_writable(path)

    def write(self, columns: dict[str, Any]) -> None:
        """Write rows, given by their columns: arrays, or columns that know how they are written."""
        clear_activity()
        rows = {name: as_column(column) for name, column in columns.items()}
        with contextlib.nullcontext() if self._path is None else name_in_errors(self._path):
            self._put(rows)

    def __enter__(self) -> Self:
        if self._path is not None:
            file = self._open.enter_context(atomic_file(self._path))
            suffix = self._path.suffix.lower()
            writer = _parquet(file) if suffix == ".parquet" else _text(file, suffix != ".csv")
            self._put = self._open.enter_context(writer)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._path is None:
            sys.stdout.flush()
        with contextlib.nullcontext() if self._path is None else name_in_errors(self._path):
            self._open.__exit__(*error)


class _Lines:
    """CSV with a header, or JSON lines. What is missing is empty, or null. A terminal gets escapes as text."""

    def __init__(self, file: Any, as_json: bool, terminal: bool = False):
        self._file, self._json, self._begun = file, as_json, False
        self._escape: Callable[[Any], Any] = _escape if terminal else lambda entry: entry

    def __call__(self, columns: dict[str, OutputColumn]) -> None:
        if self._json:
            keys = [json_line(name) for name in columns]
            rows = zip(*(column.json() for column in columns.values()), strict=True)
            for row in rows:
                entries = (f"{key}: {entry}" for key, entry in zip(keys, row, strict=True))
                self._file.write("{" + ", ".join(entries) + "}\n")
        else:
            writer = csv.writer(self._file, lineterminator="\n")
            if not self._begun:
                writer.writerow(map(self._escape, columns))
            fields = zip(*(column.csv() for column in columns.values()), strict=True)
            writer.writerows([self._escape(entry) for entry in row] for row in fields)
        self._begun = True
        self._file.flush()


@contextlib.contextmanager
def _text(file: BinaryIO, as_json: bool) -> Iterator[Put]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        yield _Lines(text, as_json)
    finally:
        text.detach()


@contextlib.contextmanager
def _parquet(file: BinaryIO) -> Iterator[Put]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writers: list[Any] = []

    def put(columns: dict[str, OutputColumn]) -> None:
        table = pa.table({name: column.arrow() for name, column in columns.items()})
        if not writers:
            writers.append(pq.ParquetWriter(file, table.schema))
        if table.schema != writers[0].schema:
            raise ValueError(
                "The columns that are kept have other types than in the rows before: --keep chooses others."
            )
        writers[0].write_table(table)

    try:
        yield put
        if not writers:
            put({})
        writers[0].close()
    except BaseException:
        for writer in writers:
            with contextlib.suppress(OSError):  # the file is not kept
                writer.close()
        raise


def _escape(entry: Any) -> Any:
    return printable(entry) if isinstance(entry, str) else entry
