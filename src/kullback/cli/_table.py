"""Rows that leave: as CSV, JSON lines or Parquet, batch by batch."""

import csv
import json
import math
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

_SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")


class Table:
    """Writes columns to a file, or to standard output. A file is renamed at the end: it is whole, or not there."""

    def __init__(self, path: Path | None, as_json: bool = False):
        self._path, self._temporary = path, Path()
        self._put: Callable[[dict[str, list[Any]]], None] = _Lines(sys.stdout, as_json)
        self._close: Callable[[], None] = sys.stdout.flush
        if path is None:
            return
        suffix = path.suffix.lower()
        if suffix not in _SUFFIXES:
            raise ValueError(f"{path} has none of the suffixes {', '.join(_SUFFIXES)}: they say what to write.")
        if not path.parent.is_dir():
            raise ValueError(f"{path.parent} is not a directory: there is no place for {path.name}.")
        self._temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        if suffix == ".parquet":
            parquet = _Parquet(self._temporary)
            self._put, self._close = parquet, parquet.close
        else:
            file = open(self._temporary, "x", encoding="utf-8", newline="")  # noqa: SIM115, closed in __exit__
            self._put, self._close = _Lines(file, suffix != ".csv"), file.close

    def write(self, columns: dict[str, Any]) -> None:
        """Write rows, given by their columns."""
        self._put({name: column.tolist() if hasattr(column, "tolist") else column for name, column in columns.items()})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        self._close()
        if self._path is None:
            return
        if kind is None and self._temporary.exists():
            os.replace(self._temporary, self._path)
        else:
            self._temporary.unlink(missing_ok=True)


class _Lines:
    """CSV with a header, or JSON lines. What is missing is empty, or null."""

    def __init__(self, file: Any, as_json: bool):
        self._file, self._json, self._begun = file, as_json, False

    def __call__(self, columns: dict[str, list[Any]]) -> None:
        rows = zip(*([_none(entry) for entry in column] for column in columns.values()), strict=True)
        if self._json:
            lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
            self._file.writelines(lines)
        else:
            writer = csv.writer(self._file, lineterminator="\n")
            if not self._begun:
                writer.writerow(columns)
            writer.writerows([_csv(entry) for entry in row] for row in rows)
        self._begun = True
        self._file.flush()


class _Parquet:
    def __init__(self, path: Path):
        self._path = path
        self._writer: Any = None

    def __call__(self, columns: dict[str, list[Any]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(columns)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _none(entry: Any) -> Any:
    return None if isinstance(entry, float) and math.isnan(entry) else entry


def _csv(entry: Any) -> Any:
    return str(entry).lower() if isinstance(entry, bool) else entry
