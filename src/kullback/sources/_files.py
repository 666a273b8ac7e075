"""Paths, globs and directories: which files they are, and what reads them."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kullback.sources._csv import CsvPart
from kullback.sources._parquet import ParquetPart
from kullback.sources._part import Part
from kullback.sources._text import TextFile, TextStream

#: The suffixes of each format. Text may also be compressed: `.gz` after its own suffix.
FORMATS = {
    "csv": (".csv", ".csv.gz"),
    "tsv": (".tsv", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
}

#: Rows that decide what the columns of a text hold.
SAMPLE = 1000


def listed_files(paths: Sequence[str | Path], format: str | None) -> list[Path]:
    """Return the files that paths, globs and directories name: those of a glob or directory by name, in order."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}: it must be one of {', '.join(FORMATS)}.")
    return [file for path in paths for file in _listed(path, format)]


def _listed(path: str | Path, format: str | None) -> Iterator[Path]:
    place = Path(path)
    if place.is_dir():
        files = [file for file in sorted(place.rglob("*")) if _is_data(file.relative_to(place), format)]
        if not files:
            raise FileNotFoundError(f"{path} holds no file with a known suffix ({', '.join(_suffixes(format))}).")
        yield from files
    elif place.exists() or not glob.has_magic(str(path)):
        if not _exists(place):
            raise FileNotFoundError(f"There is no file {path}.")
        yield place
    else:
        found = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()]
        if not found:
            raise FileNotFoundError(f"No file matches {path}.")
        yield from found


def file_part(path: Path, format: str | None, header: bool) -> Part:
    """Return what reads a file."""
    kind = format or _format_of(path)
    if kind in ("csv", "tsv"):
        return CsvPart(TextFile(path, quotes=True), "," if kind == "csv" else "\t", header, SAMPLE)
    return ParquetPart(path)


def stream_part(stream: Any, name: str, format: str | None, header: bool, batch_rows: int) -> Part:
    """Return what reads a stream. The first batch must be waited for anyway: it decides what the columns hold."""
    sample = min(SAMPLE, batch_rows)
    if format in ("csv", "tsv"):
        return CsvPart(TextStream(stream, name, quotes=True), "," if format == "csv" else "\t", header, sample)
    raise ValueError(f"format is {format!r}: {name} can only be read as csv, tsv or jsonl, so say which it is.")


def _is_data(file: Path, format: str | None) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.parts)  # as Spark and others leave them behind
    return not hidden and file.name.lower().endswith(tuple(_suffixes(format)))


def _exists(path: Path) -> bool:
    return path.exists()


def _suffixes(format: str | None) -> list[str]:
    return [suffix for kind, each in FORMATS.items() if format in (None, kind) for suffix in each]


def _format_of(path: Path) -> str:
    for kind, suffixes in FORMATS.items():
        if path.name.lower().endswith(suffixes):
            return kind
    known = ", ".join(_suffixes(None))
    raise ValueError(f"The format of {path} cannot be told from its name ({known}): pass format. Pickles are not read.")
