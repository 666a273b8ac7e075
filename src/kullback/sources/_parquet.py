"""Parquet files."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kullback.sources._columns import Columns
from kullback.sources._errors import check_table, report_damage
from kullback.sources._part import PIECE, Part, Piece, Schema
from kullback.sources._typed import schema_of, typed_piece


class ParquetPart(Part):
    """A file of row groups. Those before the place where reading begins are not read."""

    def __init__(self, path: Path):
        self.name, self._path = str(path), path

    @property
    def rows(self) -> int | None:
        """How many rows the file says it has."""
        return self._about[0].num_rows

    def schema(self) -> Schema:
        return schema_of(self._about[1])

    @functools.cached_property
    def _about(self) -> tuple[Any, Any]:
        with report_damage(self.name, "Parquet file"), self._open() as file:
            if file.metadata.num_rows < 0:
                raise EOFError(f"it says that it has {file.metadata.num_rows} rows")
            return file.metadata, file.schema_arrow

    def _open(self) -> Any:
        from pyarrow import parquet

        # unbuffered, whole column chunks would be in memory at once
        return parquet.ParquetFile(self._path, pre_buffer=False, buffer_size=1 << 18)

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        schema = self.schema()
        places, names = columns.typed_places(self.name, *schema), schema.names or []
        along = columns.kept_places(self.name, names, len(names))
        chosen = [names[place] for place in sorted({*places, *along})]
        with report_damage(self.name, "Parquet file"), self._open() as file:
            row, skip, groups = 0, at.get("row", 0), list(range(file.num_row_groups))
            while groups and row + file.metadata.row_group(groups[0]).num_rows <= skip:
                row += file.metadata.row_group(groups.pop(0)).num_rows
            for batch in file.iter_batches(PIECE, groups, chosen, use_threads=False):
                check_table(batch, self.name, batch.schema.names)
                yield typed_piece(batch.select(chosen), places, along, columns, row, self.name)
                row += len(batch)
