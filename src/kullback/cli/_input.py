"""The data of a fit, which can be opened again for each pass."""

from pathlib import Path
from typing import Any

from kullback.sources import open_source

#: Batches that are read from a file before they are asked for.
_AHEAD = 2


class Input:
    """A file of rows or standard input, and how it is read."""

    def __init__(self, data: str, seed: int, **options: Any):
        self.piped = data == "-"
        self._data, self._seed, self._options = data, seed, options

    @property
    def told(self) -> dict[str, Any]:
        """What tells this data from other data: where it is, and how it is read."""
        return {"data": self._data if self.piped else str(Path(self._data).resolve()), **self._options}

    def __str__(self) -> str:
        return "standard input" if self.piped else self._data

    @property
    def batch_rows(self) -> int:
        """How many rows are read at once."""
        return self._options["batch_rows"]

    def for_workers(self, rows: int) -> "Input":
        """Return the same data, read in batches of so many rows, by processes that may run in another directory."""
        return Input(str(Path(self._data).absolute()), self._seed, **{**self._options, "batch_rows": rows})

    def opened(self, turn: int, codes: Any, ahead: int = _AHEAD) -> Any:
        """Open it for a pass, with the codes of words that were met before."""
        ahead = 0 if self.piped else ahead  # what is read ahead from a pipe is lost with the process
        return open_source(self._data, seed=self._seed + turn, codes=codes, ahead=ahead, **self._options)

    def rows(self, source: Any) -> int | None:
        """Return how many rows one pass has: what the source knows, or what the bytes that were read make likely."""
        if source.rows is not None or self.piped or not Path(self._data).is_file():
            return source.rows
        position = source.position
        byte = position.get("byte", 0)
        if not byte or self._data.endswith(".gz"):
            return None
        before = position["row"] - position.get("skip", 0)  # rows before the byte
        return round(before * Path(self._data).stat().st_size / byte) if before else None
