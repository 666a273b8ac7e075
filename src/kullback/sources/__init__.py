"""Where batches come from: arrays, files, streams."""

from kullback.sources._errors import BadRow
from kullback.sources._files import is_stream
from kullback.sources._kept import Kept
from kullback.sources._open import open_source
from kullback.sources._source import Source

__all__ = ["BadRow", "Kept", "Source", "is_stream", "open_source"]
