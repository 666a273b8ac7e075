"""The formats of files: a new one is a `Part` of its own and a line here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kullback.sources._arrow_file import ArrowPart
from kullback.sources._compressed import SUFFIXES, is_compressed
from kullback.sources._csv import CsvPart
from kullback.sources._fingerprint import DataFile
from kullback.sources._json_lines import JsonLinesPart
from kullback.sources._npy import NpyPart
from kullback.sources._npz import NpzPart
from kullback.sources._parquet import ParquetPart
from kullback.sources._part import Part
from kullback.sources._text import TextFile, TextPart, TextStream

#: Rows that decide what the columns of a text hold.
SAMPLE = 1000


class FileFormat(NamedTuple):
    """The suffixes of files, and what reads one, given the name of an array in it where there is such."""

    suffixes: tuple[str, ...]
    read: Callable[[Path, str | None], Part]


class TextFormat(NamedTuple):
    """The same of text, which may be compressed, can come as a stream, and may have a line of names.

    What stands between fields, if it is not None, can be quoted with the ends of lines.
    """

    suffixes: tuple[str, ...]
    delimiter: str | None
    read: Callable[[TextFile | TextStream, bool, int], TextPart]


def _separated(suffix: str, delimiter: str) -> TextFormat:
    return TextFormat(
        _with_compressed(suffix), delimiter, lambda text, header, sample: CsvPart(text, delimiter, header, sample)
    )


def _with_compressed(*suffixes: str) -> tuple[str, ...]:
    return tuple(suffix + packed for packed in ("", *SUFFIXES) for suffix in suffixes)


FORMATS: dict[str, FileFormat | TextFormat] = {
    "csv": _separated(".csv", ","),
    "tsv": _separated(".tsv", "\t"),
    "jsonl": TextFormat(_with_compressed(".jsonl", ".ndjson"), None, lambda text, _, some: JsonLinesPart(text, some)),
    "parquet": FileFormat((".parquet", ".pq"), lambda path, _: ParquetPart(path)),
    "arrow": FileFormat((".arrow", ".feather", ".ipc", ".arrows"), lambda path, _: ArrowPart(path)),
    "npy": FileFormat((".npy",), lambda path, _: NpyPart(path)),
    "npz": FileFormat((".npz",), NpzPart),
}


def suffixes_of(format: str | None) -> list[str]:
    """Return the suffixes of a format, or of all of them."""
    return [suffix for name, each in FORMATS.items() if format in (None, name) for suffix in each.suffixes]


def file_part(path: Path, member: str | None, format: str | None, header: bool) -> Part:
    """Return what reads a file."""
    kind = _format_of(path, format)
    if isinstance(kind, TextFormat):
        return kind.read(TextFile(path, kind.delimiter), header, SAMPLE)
    return kind.read(path, member)


def data_file(path: Path, format: str | None) -> DataFile:
    """Return how a file may change while a fit rests: rows can be added to a text."""
    text = isinstance(_format_of(path, format), TextFormat)
    return DataFile(path, text, text and not is_compressed(path))


def stream_part(stream: Any, name: str, format: str | None, header: bool, batch_rows: int) -> Part:
    """Return what reads a stream. The first batch must be waited for anyway: it decides what the columns hold."""
    kind = stream_format(format, name)
    return kind.read(TextStream(stream, name, kind.delimiter), header, min(SAMPLE, batch_rows))


def stream_format(format: str | None, name: str) -> TextFormat:
    """Return the format of a stream: what is given, or what the suffix of its name says."""
    texts = {each: kind for each, kind in FORMATS.items() if isinstance(kind, TextFormat)}
    if format is None:
        format = next((each for each, kind in texts.items() if Path(name).suffix.lower() in kind.suffixes), None)
    if format not in texts:
        raise ValueError(f"format is {format!r}: {name} can only be read as csv, tsv or jsonl, so say which it is.")
    return texts[format]


def _format_of(path: Path, format: str | None) -> FileFormat | TextFormat:
    if format is not None:
        return FORMATS[format]
    for kind in FORMATS.values():
        if path.name.lower().endswith(kind.suffixes):
            return kind
    known = ", ".join(suffixes_of(None))
    raise ValueError(f"The format of {path} cannot be told from its name ({known}): pass format. Pickles are not read.")
