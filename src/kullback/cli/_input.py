"""The data of a fit, which can be opened again for each pass."""

import copy
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from kullback.cli._column_roles import Chunk, Roles
from kullback.cli._model_file import Columns
from kullback.sources import Source, is_stream, open_source

#: Batches that are read from a file before they are asked for.
_AHEAD = 2


def open_data(data: Any, **options: Any) -> Source:
    """Open a file or standard input. Signals stay the command's own while it is read.

    pyarrow would put its handler over ours for as long as it parses: an interrupt would end in an error of its own, and
    what was learned would not be saved.
    """
    import pyarrow

    pyarrow.enable_signal_handlers(False)
    return open_source(data, **options)


class Input:
    """A file of rows, or a stream that can be read once, and how it is read.

    `columns` is what is known of its columns so far.
    """

    def __init__(self, data: str, seed: int, roles: Roles, columns: list[Any] | None, **options: Any):
        self.piped = is_stream(data)
        self._descriptor = 0 if data == "-" else None
        self.roles = roles
        self.columns: Columns = {}
        self._data, self._seed, self._chosen = data, seed, roles.with_values(columns)
        self._options = {**options, "columns": self._chosen, "sequence": roles.sequence}
        if roles.weight is not None:
            self._options["weight"] = roles.weight
        self._known: Columns = {}

    @property
    def settings(self) -> dict[str, Any]:
        """Where the data is, and how it is read."""
        where = "-" if self._is_unnamed else str(Path(self._data).resolve())
        targets = {"targets": list(self.roles.targets)} if self.roles.targets else {}
        return {"data": where, **self._options, "inputs": list(self.roles.inputs), **targets}

    @property
    def _is_unnamed(self) -> bool:
        """Whether this is a stream whose name is another one in each run."""
        return self.piped and (self._data == "-" or self._data.startswith(("/dev/", "/proc/")))

    def __str__(self) -> str:
        return "standard input" if self._data == "-" else self._data

    @property
    def batch_rows(self) -> int:
        """How many rows are read at once."""
        return self._options["batch_rows"]

    def for_workers(self, rows: int) -> "Input":
        """Return the same data, read in batches of so many rows, by processes that may run in another directory."""
        new = copy.copy(self)
        new._data, new._options = str(Path(self._data).absolute()), {**self._options, "batch_rows": rows}
        return new

    def open(self, epoch: int, codes: Any, ahead: int = _AHEAD) -> Any:
        """Open it for a pass, with the codes of words that were met before."""
        ahead = 0 if self.piped else ahead  # what is read ahead from a pipe is lost with the process
        codes = self._known.get("codes") if codes is None else codes
        options = {"seed": self._seed + epoch, "codes": codes, "ahead": ahead, **self._options}
        source = open_data(self._stream_or_path(), **options)
        if self.roles.targets:
            self.roles.check(self._labels(source, len(source.kinds)), self)
        return source

    def know(self, columns: Columns) -> None:
        """Read the columns as a model knows them: their words are given."""
        self._known = self.columns = columns

    @property
    def is_known(self) -> bool:
        """Whether the columns are those of a model."""
        return bool(self._known)

    def check(self, fingerprint: Any) -> None:
        """Raise unless the files are those of a fingerprint, which was made when all had been read."""
        if fingerprint is not None:
            open_data(self._data, ahead=0, **self._options).check(fingerprint)

    def _stream_or_path(self) -> Any:
        """Return the data as it can be opened; a stream is opened here, so that it can be ended."""
        if not self.piped or self._data == "-":
            return self._data
        stream = open(self._data, "rb")  # noqa: SIM115, closed with this object
        weakref.finalize(self, stream.close)
        self._descriptor = stream.fileno()
        return stream

    def end(self) -> bool:
        """End a stream where it is, as if its writer had: what has come is still there. False if it is not open yet."""
        if self._descriptor is None:
            return False
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, self._descriptor)
        os.close(nothing)
        return True

    def split(self, source: Any, table: np.ndarray) -> Chunk:
        """Split a table of a source into values, inputs, and the numbers of sequences."""
        return self.roles.split(table, self._labels(source, table.shape[1]))

    def remember_columns(self, source: Any, width: int) -> None:
        """Keep what a source knows of its columns, of which there are so many with those of other roles."""
        places = self.roles.values(self._labels(source, width))
        names = source.names and [source.names[place] for place in places]
        names = self._known.get("names") or names
        self.columns = {"names": names, "codes": source.codes}
        if self.roles:
            self.columns |= {"sequence": self.roles.sequence, "inputs": list(self.roles.inputs)}
        if self.roles.targets:
            self.columns["targets"] = list(self.roles.targets)

    def kinds(self, source: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Return what the columns of the model hold, and what those hold that are inputs. Targets are neither."""
        inputs, weight = set(map(str, self.roles.inputs)), str(self.roles.weight)
        targets = set(map(str, self.roles.targets))
        held = {label: kind for label, kind in source.kinds.items() if kind != "sequence" and label not in targets}
        if self.roles.weight is not None:
            held.pop(weight)
        values = {label: kind for label, kind in held.items() if label not in inputs}
        return values, {label: kind for label, kind in held.items() if label in inputs}

    def _labels(self, source: Any, width: int) -> list[Any]:
        return source.names or self._chosen or list(range(width))

    def expected_rows(self, source: Any, passes: int) -> int | None:
        """Return how many rows all passes have: what the source knows, or what the bytes that were read make likely."""
        if source is None or source.rows is not None or self.piped or not Path(self._data).is_file():
            return None if source is None or source.rows is None else source.rows * passes
        position = source.position
        byte, before = position.get("byte", 0), position.get("row", 0) - position.get("skip", 0)  # rows before the byte
        if not byte or not before or self._data.lower().endswith((".gz", ".zst")):
            return None
        return round(before * Path(self._data).stat().st_size / byte) * passes
