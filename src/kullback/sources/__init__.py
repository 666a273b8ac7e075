"""Where batches come from: arrays, files, streams."""

from kullback.sources._source import Source

__all__ = ["Source"]
