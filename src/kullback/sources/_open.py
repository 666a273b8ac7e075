"""One function that opens everything data can come from."""

import sys
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kullback.sources._columns import Columns, Keep
from kullback.sources._dask import dask_parts
from kullback.sources._files import is_stream, list_files
from kullback.sources._formats import data_file, file_part, stream_format, stream_part
from kullback.sources._source import Source
from kullback.sources._supply import FileSet, Pipe, Supply, TableIterable
from kullback.sources._typed import table_part


def open_source(
    data: Any,
    *,
    format: str | None = None,
    columns: Sequence[str | int] | None = None,
    batch_rows: int = 4096,
    shuffle: int = 0,
    seed: int = 0,
    skip_bad: bool = False,
    max_bad: int = 1000,
    codes: dict[str, list[str]] | None = None,
    header: bool = True,
    sequence: str | int | None = None,
    weight: str | int | None = None,
    keep: Keep = None,
    ahead: int = 2,
) -> Source:
    """Open data as batches of `batch_rows` rows of 64-bit numbers, whatever it is kept in.

    A column holds numbers, true and false, or words, which are categories; most of the first rows of a text decide
    which. Times are refused when the source is opened. A column of words of which more than 90 % are different is
    refused when all rows have come, if it has 200 words or more: those are names or texts.

    A row that cannot be used is bad: an entry that is no number or infinite, too many or too few fields, quotes that
    are not closed where a field ends, text that is not UTF-8, a line of JSON that is no object. Where the end of a row
    cannot be known, it is the line in which it begins.

    Parameters
    ----------
    data : array, table, path, list of paths, "-", open binary file, or iterable of tables
        Arrays and memory maps; pandas, polars and pyarrow tables; Dask arrays and frames, block by block; a file, a
        glob, or a directory, whose files are taken in the order of their names; "-" is standard input. Named pipes
        and what else is no regular file are streams too: they are read once.
    format : {"csv", "tsv", "jsonl", "parquet", "arrow", "npy", "npz"} or None
        None goes by the suffixes of files, and of named pipes. Streams are "csv", "tsv" or "jsonl".
    columns : list of names or places, or None
        What to read, in this order; None reads all.
    batch_rows : int
        Rows of each batch. Only the last one of all may have fewer.
    shuffle : int
        Rows that wait in a reservoir, from which batches are drawn at random: for files that are sorted. 0 keeps the
        order.
    seed : int
        Where the random numbers of `shuffle` begin.
    skip_bad : bool
        Whether to leave out rows that cannot be used, and to log them, instead of raising `BadRow`.
    max_bad : int
        How many rows may be left out.
    codes : dict of lists of words, by column, or None
        Which columns hold words, and which words there may be: `codes` of another source. None finds them.
    header : bool
        Whether the first line of CSV has the names of columns.
    sequence : name or place of a column, or None
        One that says which sequence a row belongs to. Its words become numbers that only tell them apart; they are not
        in `codes`, so there may be any number of them. A row without one is bad.
    weight : name or place of a column, or None
        One that says how often a row counts. A row whose weight is missing or negative is bad.
    keep : list of names or places, "all", or None
        Columns that go along with the rows that are read, untouched, whatever they hold: `kept` of the source has
        those of the last batch, with the numbers of the rows. An empty list is for these numbers alone. Not with
        `shuffle`. None costs nothing.
    ahead : int
        Batches that a thread reads before they are asked for. 0 reads without a thread.

    Returns
    -------
    Source

    Examples
    --------
    >>> import numpy as np
    >>> source = open_source(np.arange(10).reshape(5, 2), batch_rows=2)
    >>> [len(batch) for batch in source]
    [2, 2, 1]

    """
    for name, value, least in (
        ("batch_rows", batch_rows, 1),
        ("shuffle", shuffle, 0),
        ("ahead", ahead, 0),
        ("max_bad", max_bad, 0),
    ):
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} is {value!r}: it must be an integer, {least} or more.")
    supply, in_memory = _open_supply(data, format, header, int(batch_rows))
    schema, origin = supply.first.schema(), supply.first.name
    if not schema.kinds:
        raise ValueError(f"{origin} is empty: there is not one column in it.")
    if keep is not None and shuffle:
        raise ValueError("keep does not go with shuffle: rows that are drawn at random have nothing that goes along.")
    chosen = Columns(columns, schema.names, schema.kinds, codes, origin, sequence, weight, keep, several=supply.several)
    order = (int(shuffle), int(seed)) if shuffle else None
    return Source(supply, chosen, int(batch_rows), order, (skip_bad, max_bad), 0 if in_memory else int(ahead))


def _open_supply(data: Any, format: str | None, header: bool, batch_rows: int) -> tuple[Supply, bool]:
    """Return where the parts come from, and whether they are in memory already."""
    if isinstance(data, str) and data == "-":
        return _open_pipe(sys.stdin.buffer, "standard input", format, header, batch_rows), False
    if is_stream(data):
        stream_format(format, str(data))  # before it is waited for
        stream = open(data, "rb")  # noqa: SIM115, closed with the supply
        supply = _open_pipe(stream, str(data), format, header, batch_rows)
        weakref.finalize(supply, stream.close)
        return supply, False
    if isinstance(data, str | Path):
        return _open_files([data], format, header), False
    if hasattr(data, "read"):
        return _open_pipe(data, str(getattr(data, "name", "the open file")), format, header, batch_rows), False
    blocks = dask_parts(data)
    if blocks is not None:
        return FileSet(blocks), False
    part = table_part(data, "data")
    if part is not None:
        return FileSet([part]), not isinstance(data, np.memmap)
    if isinstance(data, list | tuple) and data and all(isinstance(each, str | Path) for each in data):
        return _open_files(data, format, header), False
    if isinstance(data, Iterable) and not isinstance(data, dict | bytes):
        return TableIterable(data), False
    raise ValueError(f"data is a {type(data).__name__}: it must be a table, a path, '-', or an iterable of tables.")


def _open_pipe(stream: Any, name: str, format: str | None, header: bool, batch_rows: int) -> Pipe:
    return Pipe(stream_part(stream, name, format, header, batch_rows))


def _open_files(paths: Sequence[str | Path], format: str | None, header: bool) -> FileSet:
    files = list(list_files(paths, format))
    parts = [file_part(path, member, format, header) for path, member in files]
    return FileSet(parts, [data_file(path, format) for path, _ in files])
