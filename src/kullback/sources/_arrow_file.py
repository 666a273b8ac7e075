"""Arrow files, which are also called Feather, and saved Arrow streams."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kullback.sources._columns import Columns
from kullback.sources._errors import check_table, report_damage
from kullback.sources._part import PIECE, Part, Piece, Schema
from kullback.sources._typed import schema_of, typed_piece


class ArrowPart(Part):
    """A file of record batches. What is before the place where reading begins is passed over.

    It is read and not mapped: a file that becomes shorter in the meantime would end the process.
    """

    def __init__(self, path: Path):
        self.name, self._path = str(path), path

    @property
    def rows(self) -> int | None:
        """How many rows the file says it has; a stream does not say."""
        if not self._is_file():
            return None
        from pyarrow import dataset

        with report_damage(self.name, "Arrow file"):
            count = dataset.dataset(self._path, format="ipc").count_rows()
            if count < 0:
                raise EOFError(f"it says that it has {count} rows")
            return count

    def schema(self) -> Schema:
        with report_damage(self.name, "Arrow file"), self._open() as reader:
            return schema_of(reader.schema)

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        schema, skip, row = self.schema(), at.get("row", 0), 0
        places = columns.typed_places(self.name, *schema)
        along = columns.kept_places(self.name, schema.names, len(schema.kinds))
        with report_damage(self.name, "Arrow file"), self._open(sorted({*places, *along})) as reader:
            for batch in self._batches(reader):
                check_table(batch, self.name, batch.schema.names)
                for start in range(0, len(batch) if row + len(batch) > skip else 0, PIECE):
                    yield typed_piece(batch.slice(start, PIECE), places, along, columns, row + start, self.name)
                row += len(batch)
        if row < skip:  # a stream does not say before how long it is
            raise ValueError(f"{self.name} ends before row {skip:,}, where reading should go on.")

    def _is_file(self) -> bool:
        with open(self._path, "rb") as file:
            magic = file.read(6)
        if magic[:4] == b"FEA1":
            raise ValueError(f"{self.name} is a Feather file of version 1: write it anew as an Arrow file.")
        return magic == b"ARROW1"

    def _open(self, fields: list[int] | None = None) -> Any:
        from pyarrow import OSFile, ipc

        opened = OSFile(str(self._path))
        options = ipc.IpcReadOptions(included_fields=fields)
        return (ipc.open_file if self._is_file() else ipc.open_stream)(opened, options=options)

    def _batches(self, reader: Any) -> Iterator[Any]:
        if not self._is_file():
            yield from reader
            return
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
