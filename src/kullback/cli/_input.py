"""The data of a fit, which can be opened again for each pass."""

import copy
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from kullback.cli._open import open_data
from kullback.cli._roles import Piece, Roles
from kullback.sources import is_stream

#: Batches that are read from a file before they are asked for.
_AHEAD = 2


class Input:
    """A file of rows, or a stream that can be read once, and how it is read."""

    def __init__(self, data: str, seed: int, roles: Roles, columns: list[Any] | None, **options: Any):
        self.piped = is_stream(data)
        self._descriptor = 0 if data == "-" else None
        self.roles = roles
        self._data, self._seed, self._columns = data, seed, roles.with_values(columns)
        self._options = {**options, "columns": self._columns, "sequence": roles.sequence}

    @property
    def told(self) -> dict[str, Any]:
        """What tells this data from other data: where it is, and how it is read."""
        where = "-" if self._is_unnamed else str(Path(self._data).resolve())
        return {"data": where, **self._options, "inputs": list(self.roles.inputs)}

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

    def opened(self, turn: int, codes: Any, ahead: int = _AHEAD) -> Any:
        """Open it for a pass, with the codes of words that were met before."""
        ahead = 0 if self.piped else ahead  # what is read ahead from a pipe is lost with the process
        return open_data(self._opened(), seed=self._seed + turn, codes=codes, ahead=ahead, **self._options)

    def check(self, fingerprint: Any) -> None:
        """Raise unless the files are those of a fingerprint, which was made when all had been read."""
        if fingerprint is not None:
            open_data(self._data, ahead=0, **self._options).check(fingerprint)

    def _opened(self) -> Any:
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

    def piece(self, source: Any, table: np.ndarray) -> Piece:
        """Take a table of a source apart: values, inputs, and what tells sequences apart."""
        return self.roles.split(table, self._labels(source, table.shape[1]))

    def told_of(self, source: Any, width: int) -> dict[str, Any]:
        """Return what a model remembers of its columns, of which there are so many with those of other roles."""
        places = self.roles.values(self._labels(source, width))
        told: dict[str, Any] = {"names": source.names and [source.names[place] for place in places]}
        told["codes"] = source.codes
        if self.roles:
            told |= {"sequence": self.roles.sequence, "inputs": list(self.roles.inputs)}
        return told

    def kinds(self, source: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Return what the columns of the model hold, and what those hold that are inputs."""
        inputs = set(map(str, self.roles.inputs))
        held = {label: kind for label, kind in source.kinds.items() if kind != "sequence"}
        values = {label: kind for label, kind in held.items() if label not in inputs}
        return values, {label: kind for label, kind in held.items() if label in inputs}

    def _labels(self, source: Any, width: int) -> list[Any]:
        return source.names or self._columns or list(range(width))

    def rows(self, source: Any) -> int | None:
        """Return how many rows one pass has: what the source knows, or what the bytes that were read make likely."""
        if source.rows is not None or self.piped or not Path(self._data).is_file():
            return source.rows
        position = source.position
        byte = position.get("byte", 0)
        if not byte or self._data.lower().endswith((".gz", ".zst")):
            return None
        before = position["row"] - position.get("skip", 0)  # rows before the byte
        return round(before * Path(self._data).stat().st_size / byte) if before else None
