"""The columns of the data that an answer keeps, as they were in the file, with the numbers of the rows."""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from kullback.cli._column_roles import Chunk, Label, concatenate
from kullback.cli._data_errors import naming_rows
from kullback.cli._labels import parse_labels
from kullback.cli._output_columns import JsonText, OutputColumn, Text, Typed, Values
from kullback.cli._saved_model import SavedModel
from kullback.sources import Kept


class KeptColumns:
    """What `--keep` asks for: all columns of the data, none, or some of them by name, and the numbers of the rows.

    Where a command changes the columns of the model, these are always kept.
    """

    def __init__(self, saved: SavedModel, data: str, keep: str, header: bool, row_numbers: bool):
        self._saved, self._data, self._row_numbers = saved, data, row_numbers
        chosen: list[Label] = [] if keep in ("all", "none") else parse_labels(keep, "keep", header) or []
        self._chosen: Sequence[Label] | str = "all" if keep == "all" else chosen
        self._named = header and saved.names is not None

    @property
    def keep(self) -> Any:
        """The columns that go along with the rows that are read."""
        return self._chosen

    @property
    def keep_with_values(self) -> Any:
        """The same with the columns of the model."""
        if self._chosen == "all" or not self._named:
            return "all"
        return [*self._chosen, *(self._saved.names or ())]

    def naming(self, source: Any, kept: Kept, chunk: Chunk) -> contextlib.AbstractContextManager[None]:
        """Let errors about rows that were read speak of the rows and columns of the data."""
        return naming_rows(self._data, kept.rows.tolist(), self.labels(source, chunk))

    def beside(self, source: Any, chunk: Chunk, answers: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of an answer: the number of each row, what is kept, and the answers."""
        return self._arrange(source.kept, self._read_values(source, chunk), answers)

    def arrange(self, kept: Kept, source: Any, chunk: Chunk, answers: dict[str, Any]) -> dict[str, Any]:
        """Return the same of several batches that were read as one."""
        return self._arrange(kept, self._read_values(source, chunk), answers)

    def filled(self, kept: Kept, source: Any, chunk: Chunk, X: np.ndarray, whole: bool) -> dict[str, Any]:
        """Return what is kept with the columns of a table in the place of those of the model, in the file's order."""
        labels = self.labels(source, chunk)
        new = self._saved.entries(X, [self._is_truth(source, label) for label in labels], whole)
        columns = self._arrange(kept, self._read_values(source, chunk), {})
        for place, (label, values) in enumerate(zip(labels, new, strict=True)):
            columns[label] = columns[label].fill(np.isnan(chunk.X[:, place]), values)
        return columns

    def labels(self, source: Any, chunk: Chunk) -> list[str]:
        """Return the names of the columns of the model in the data, as they go along."""
        width = chunk.X.shape[1] + len(self._saved.roles.own_columns)
        labels = source.names or list(range(width))
        found = [labels[place] for place in self._saved.roles.values(labels)]
        return [label if isinstance(label, str) else f"x{label}" for label in found]

    def _is_truth(self, source: Any, label: str) -> bool:
        return source.kinds.get(label) == "truth"

    def _read_values(self, source: Any, chunk: Chunk) -> dict[str, Values]:
        """Return what the columns mean that the model reads."""
        labels = self.labels(source, chunk)
        truth = [self._is_truth(source, label) for label in labels]
        values = self._saved.entries(chunk.X, truth, self._saved.reads_whole)
        return dict(zip(labels, values, strict=True))

    def _arrange(self, kept: Kept, read: dict[str, Values], answers: dict[str, Any]) -> dict[str, Any]:
        numbers: dict[str, Any] = {}
        if self._row_numbers:
            numbers["row"] = kept.rows
            if kept.files is not None:
                numbers["file"] = Values(np.arange(len(kept.files)), words=kept.files)
        columns = {name: _as_output(kept, name, read.get(name)) for name in kept.table.schema.names}
        clash = next((name for name in (*numbers, *answers) if name in columns), None)
        if clash is not None:
            way = "--no-row-numbers, or " if clash in numbers else ""
            raise ValueError(
                f"{self._data} has a column {clash!r}, and so has the answer: use {way}--keep with the columns to "
                f"keep, without this one (--keep none keeps none)."
            )
        return {**numbers, **columns, **answers}


def read_all(saved: SavedModel, source: Any, data: str) -> tuple[Chunk, Kept]:
    """Read everything as a whole, with what goes along."""
    chunks, kept = [], []
    for chunk in saved.chunks(source):
        chunks.append(chunk)
        kept.append(source.kept)
    if not chunks:
        raise ValueError(f"{data} has no rows.")
    return concatenate(chunks), Kept.concatenate(kept)


def _as_output(kept: Kept, name: str, read: Values | None) -> OutputColumn:
    column = kept.table.column(name)
    if kept.form == "typed":
        return Typed(column)
    entries = column.to_pylist()
    if kept.form == "json":
        return JsonText(entries, read)
    return Text(entries, kept.kinds[name] == "number", read)
