"""Where batches come from: arrays, files, streams."""

from kullback.sources._bad_row import BadRow
from kullback.sources._open import open_source
from kullback.sources._source import Source

__all__ = ["BadRow", "Source", "open_source"]
