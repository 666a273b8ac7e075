"""Where batches come from: arrays, files, streams."""

from kullback.sources._codes import Codes
from kullback.sources._entries import is_missing
from kullback.sources._errors import BadRow
from kullback.sources._files import is_stream
from kullback.sources._kept import Kept
from kullback.sources._open import open_source
from kullback.sources._source import Source
from kullback.sources._tables import TableColumns, read_columns

__all__ = [
    "BadRow",
    "Codes",
    "Kept",
    "Source",
    "TableColumns",
    "is_missing",
    "is_stream",
    "open_source",
    "read_columns",
]
