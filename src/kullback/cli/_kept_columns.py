"""The columns of the data that an answer keeps, as they were in the file, with the numbers of the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kullback.cli._column_roles import Chunk, Label, concatenate
from kullback.cli._labels import parse_labels
from kullback.cli._output_columns import JsonText, OutputColumn, Text, Typed, Values
from kullback.cli._saved_model import SavedModel
from kullback.sources import Carried


class KeptColumns:
    """What `--keep` asks for: all columns of the data, none, or some of them by name, and the numbers of the rows.

    Where a command changes the columns of the model, these are always kept.
    """

    def __init__(self, saved: SavedModel, data: str, keep: str, header: bool, row_numbers: bool):
        self._saved, self._data, self._row_numbers = saved, data, row_numbers
        chosen: list[Label] = [] if keep == "none" else parse_labels(keep, "keep", header) or []
        self._chosen: Sequence[Label] | str = "all" if keep == "all" else chosen
        self._named = header and saved.names is not None

    @property
    def carry(self) -> Any:
        """The columns that go along with the rows that are read."""
        return self._chosen

    @property
    def carry_with_values(self) -> Any:
        """The same with the columns of the model."""
        if self._chosen == "all" or not self._named:
            return "all"
        return [*self._chosen, *(self._saved.names or ())]

    def beside(self, source: Any, chunk: Chunk, answers: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of an answer: the number of each row, what is kept, and the answers."""
        return self._arrange(source.carried, self._read_values(source, chunk), answers)

    def arrange(self, carried: Carried, source: Any, chunk: Chunk, answers: dict[str, Any]) -> dict[str, Any]:
        """Return the same of several batches that were read as one."""
        return self._arrange(carried, self._read_values(source, chunk), answers)

    def filled(self, carried: Carried, source: Any, chunk: Chunk, X: np.ndarray) -> dict[str, Any]:
        """Return what is kept with the columns of a table in the place of those of the model, in the file's order."""
        labels = self._labels(source, chunk)
        new = self._saved.entries(X, [self._is_truth(source, label) for label in labels])
        kept = self._arrange(carried, self._read_values(source, chunk), {})
        for place, (label, values) in enumerate(zip(labels, new, strict=True)):
            kept[label] = kept[label].fill(np.isnan(chunk.X[:, place]), values)
        return kept

    def _labels(self, source: Any, chunk: Chunk) -> list[str]:
        """Return the names of the columns of the model in the data, as they go along."""
        width = chunk.X.shape[1] + len(self._saved.roles.own_columns)
        labels = source.names or list(range(width))
        found = [labels[place] for place in self._saved.roles.values(labels)]
        return [label if isinstance(label, str) else f"x{label}" for label in found]

    def _is_truth(self, source: Any, label: str) -> bool:
        return source.kinds.get(label) == "truth"

    def _read_values(self, source: Any, chunk: Chunk) -> dict[str, Values]:
        """Return what the columns mean that the model reads."""
        labels = self._labels(source, chunk)
        values = self._saved.entries(chunk.X, [self._is_truth(source, label) for label in labels], as_read=True)
        return dict(zip(labels, values, strict=True))

    def _arrange(self, carried: Carried, read: dict[str, Values], answers: dict[str, Any]) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        if self._row_numbers:
            columns["row"] = carried.rows
            if carried.files is not None:
                columns["file"] = Values(np.arange(len(carried.files)), words=carried.files)
        kept = {name: _as_output(carried, name, read.get(name)) for name in carried.table.schema.names}
        clash = next((name for name in (*columns, *answers) if name in kept), None)
        if clash is not None:
            way = "--no-row-numbers, or " if clash in columns else ""
            raise ValueError(
                f"{self._data} has a column {clash!r}, and so has the answer: use {way}--keep with the columns to "
                f"keep, without this one (--keep none keeps none)."
            )
        return {**columns, **kept, **answers}


def read_all(saved: SavedModel, source: Any, data: str) -> tuple[Chunk, Carried]:
    """Read everything as a whole, with what goes along."""
    chunks, carried = [], []
    for chunk in saved.chunks(source):
        chunks.append(chunk)
        carried.append(source.carried)
    if not chunks:
        raise ValueError(f"{data} has no rows.")
    return concatenate(chunks), Carried.concatenate(carried)


def _as_output(carried: Carried, name: str, read: Values | None) -> OutputColumn:
    column = carried.table.column(name)
    if carried.form == "typed":
        return Typed(column)
    entries = column.to_pylist()
    if carried.form == "json":
        return JsonText(entries, read)
    return Text(entries, carried.kinds[name] == "number", read)
