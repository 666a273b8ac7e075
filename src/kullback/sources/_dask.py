"""Dask arrays and frames, block by block."""

from collections.abc import Callable, Iterator
from typing import Any

from kullback.sources._columns import Columns
from kullback.sources._part import Part, Piece, Schema
from kullback.sources._typed import table_part


class DaskPart(Part):
    """A block that is computed when it is needed, and forgotten when it has been gone through."""

    def __init__(self, name: str, compute: Callable[[], Any], rows: int | None):
        self.name, self._compute, self._rows = name, compute, rows
        self._block: Part | None = None

    @property
    def rows(self) -> int | None:
        """How many rows there are, where Dask knows it."""
        return self._rows

    def schema(self) -> Schema:
        return self._compute_block().schema()

    def pieces(self, columns: Columns, at: dict[str, Any]) -> Iterator[Piece | None]:
        block, self._block = self._compute_block(), None
        yield from block.pieces(columns, at)

    def _compute_block(self) -> Part:
        if self._block is None:
            self._block = table_part(self._compute(), self.name)
            if self._block is None:
                raise ValueError(f"{self.name} of the Dask collection is not a table.")
        return self._block


def dask_parts(data: Any) -> list[Part] | None:
    """Return the blocks of a Dask array, or the partitions of a Dask frame; None where it is neither."""
    if type(data).__module__.partition(".")[0] not in ("dask", "dask_expr"):
        return None
    if hasattr(data, "npartitions") and hasattr(data, "get_partition"):
        frames = [data.get_partition(number) for number in range(data.npartitions)]
        return [DaskPart(f"partition {number}", frame.compute, None) for number, frame in enumerate(frames)]
    if hasattr(data, "blocks") and hasattr(data, "chunks"):
        sizes = [int(size) if size == size else None for size in data.chunks[0]]  # NaN where Dask does not know
        blocks = [data.blocks[number] for number in range(data.numblocks[0])]
        return [DaskPart(f"block {n}", block.compute, sizes[n]) for n, block in enumerate(blocks)]
    return None
