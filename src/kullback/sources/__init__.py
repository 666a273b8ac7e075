"""Where batches come from: arrays, files, streams."""

from kullback.sources._errors import BadRow
from kullback.sources._open import open_source
from kullback.sources._source import Source
from kullback.sources._stream import is_stream

__all__ = ["BadRow", "Source", "is_stream", "open_source"]
