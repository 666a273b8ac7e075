"""Paths, globs and directories: which files they are, and what reads them."""

import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kullback.sources._arrow_file import ArrowPart
from kullback.sources._compressed import SUFFIXES, is_compressed
from kullback.sources._csv import CsvPart
from kullback.sources._fingerprint import DataFile
from kullback.sources._json_lines import JsonLinesPart
from kullback.sources._npy import NpyPart
from kullback.sources._npz import NpzPart
from kullback.sources._parquet import ParquetPart
from kullback.sources._part import Part
from kullback.sources._stream import is_stream
from kullback.sources._text import TextFile, TextStream


def _text(*suffixes: str) -> tuple[str, ...]:
    """Return the suffixes of a text, which may also be compressed."""
    return tuple(suffix + packed for packed in ("", *SUFFIXES) for suffix in suffixes)


#: The suffixes of each format.
FORMATS = {
    "csv": _text(".csv"),
    "tsv": _text(".tsv"),
    "jsonl": _text(".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "npy": (".npy",),
    "npz": (".npz",),
}

#: What stands between the fields of separated text.
DELIMITERS = {"csv": ",", "tsv": "\t"}

#: The formats of text.
TEXTS = ("csv", "tsv", "jsonl")

#: Rows that decide what the columns of a text hold.
SAMPLE = 1000


#: What comes after the name of an NPZ file: the name of an array in it.
_MEMBER = re.compile(r"(?P<path>.*\.npz):(?P<member>[^:/\\\\]+)", re.IGNORECASE)


def listed_files(paths: Sequence[str | Path], format: str | None) -> Iterator[tuple[Path, str | None]]:
    """Yield the files that paths, globs and directories name, those of a glob or directory in the order of their names.

    With each comes the name of an array in it, where there is one after the path.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format is {format!r}: it must be one of {', '.join(FORMATS)}.")
    for path in paths:
        named = _MEMBER.fullmatch(str(path))
        if named and not Path(path).exists():
            yield from ((file, named["member"]) for file in _listed(named["path"], format))
        else:
            yield from ((file, None) for file in _listed(str(path), format))


def _listed(path: str, format: str | None) -> list[Path]:
    place = Path(path)
    if place.is_dir():
        files = [file for file in sorted(place.rglob("*")) if _is_data(file.relative_to(place), format)]
        if not files:
            raise FileNotFoundError(f"{path} holds no file with a known suffix ({', '.join(_suffixes(format))}).")
    elif is_stream(path):
        raise ValueError(f"{path} is a stream: it can only be read alone, and not among other files.")
    elif place.exists():
        files = [place]
    elif glob.has_magic(path):
        files = [Path(name) for name in sorted(glob.glob(path, recursive=True)) if Path(name).is_file()]
        if not files:
            raise FileNotFoundError(f"No file matches {path}.")
    else:
        raise FileNotFoundError(f"There is no file {path}.")
    return files


def file_part(path: Path, member: str | None, format: str | None, header: bool) -> Part:
    """Return what reads a file."""
    kind = format or _format_of(path)
    if kind in DELIMITERS:
        return CsvPart(TextFile(path, DELIMITERS[kind]), DELIMITERS[kind], header, SAMPLE)
    if kind == "jsonl":
        return JsonLinesPart(TextFile(path, None), SAMPLE)
    if kind == "npz":
        return NpzPart(path, member)
    if kind == "npy":
        return NpyPart(path)
    return ParquetPart(path) if kind == "parquet" else ArrowPart(path)


def data_file(path: Path, format: str | None) -> DataFile:
    """Return how a file may change while a fit rests: rows can be added to a text."""
    text = (format or _format_of(path)) in TEXTS
    return DataFile(path, text, text and not is_compressed(path))


def stream_part(stream: Any, name: str, format: str, header: bool, batch_rows: int) -> Part:
    """Return what reads a stream. The first batch must be waited for anyway: it decides what the columns hold."""
    sample = min(SAMPLE, batch_rows)
    if format == "jsonl":
        return JsonLinesPart(TextStream(stream, name, None), sample)
    return CsvPart(TextStream(stream, name, DELIMITERS[format]), DELIMITERS[format], header, sample)


def stream_format(format: str | None, name: str) -> str:
    """Return the format of a stream: what is given, or what the suffix of its name says."""
    if format is None:
        format = next((kind for kind in TEXTS if Path(name).suffix.lower() in FORMATS[kind]), None)
    if format not in TEXTS:
        raise ValueError(f"format is {format!r}: {name} can only be read as csv, tsv or jsonl, so say which it is.")
    return format


def _is_data(file: Path, format: str | None) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.parts)  # as Spark and others leave them behind
    return not hidden and file.name.lower().endswith(tuple(_suffixes(format)))


def _suffixes(format: str | None) -> list[str]:
    return [suffix for kind, each in FORMATS.items() if format in (None, kind) for suffix in each]


def _format_of(path: Path) -> str:
    for kind, suffixes in FORMATS.items():
        if path.name.lower().endswith(suffixes):
            return kind
    known = ", ".join(_suffixes(None))
    raise ValueError(f"The format of {path} cannot be told from its name ({known}): pass format. Pickles are not read.")
