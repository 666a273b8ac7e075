"""What the types of Arrow say of columns, and tables that are in memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kullback.sources._columns import Columns
from kullback.sources._part import PIECE, NumberPart, Part, Piece, Schema, as_matrix, by_row, select


def kind_of_type(kind: Any) -> str:
    """Return what a column of this Arrow type holds."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        value = kind.value_type
        if types.is_integer(value) or types.is_null(value):  # a type that lists numbers means categories by them
            return "words"
        return f"categories of type {value}" if types.is_floating(value) else kind_of_type(value)
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "words"
    return f"{'times' if types.is_temporal(kind) else 'values'} of type {kind}"


def schema_of(schema: Any) -> Schema:
    """Return the names and kinds of the columns of an Arrow schema."""
    return Schema(list(schema.names), [kind_of_type(kind) for kind in schema.types])


def typed_piece(batch: Any, places: list[int], along: list[int], columns: Columns, row: int, name: str) -> Piece:
    """Return a piece of a record batch that has the columns at some places of a part, in the part's order."""
    order = {place: number for number, place in enumerate(sorted({*places, *along}))}
    kept = columns.kept([batch.column(order[place]) for place in along], "typed")
    return Piece(batch.select([order[place] for place in places]), {"row": row}, {}, by_row(name, row), kept)


class TablePart(Part):
    """A table in memory: pyarrow, pandas, polars, or what else can hand itself over to Arrow."""

    def __init__(self, data: Any, name: str):
        self.name, self._table = name, _as_table(data)

    @property
    def rows(self) -> int | None:
        return self._table.num_rows

    def schema(self) -> Schema:
        return schema_of(self._table.schema)

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        row, schema = at.get("row", 0), self.schema()
        places = columns.typed_places(self.name, *schema)
        along = columns.kept_places(self.name, schema.names, len(schema.kinds))
        for batch in self._table.select(sorted({*places, *along})).slice(row).to_batches(max_chunksize=PIECE):
            yield typed_piece(batch, places, along, columns, row, self.name)
            row += len(batch)


class ArrayPart(NumberPart):
    """An array in memory or a memory map."""

    def __init__(self, data: Any, name: str):
        self._array = as_matrix(data, name)
        super().__init__(name, *self._array.shape)

    def _tables(self, first: int, most: int, places: list[int]) -> Iterator[np.ndarray]:
        for row in range(first, len(self._array), most):
            yield select(np.asarray(self._array[row : row + most]), places)


def table_part(data: Any, name: str) -> Part | None:
    """Return a table in memory as a part; None where it is no table."""
    if isinstance(data, np.ndarray):
        return ArrayPart(data, name)
    if hasattr(data, "read_next_batch"):  # a stream of tables
        return None
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return TablePart(data, name)
    if hasattr(data, "__array__") and hasattr(data, "shape"):
        return ArrayPart(np.asarray(data), name)
    return None


def _as_table(data: Any) -> Any:
    import pyarrow as pa

    if type(data).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    return pa.table(data)
