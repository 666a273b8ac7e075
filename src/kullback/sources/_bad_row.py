"""Rows that cannot be used: they stop everything, or are counted up to a limit."""

import logging

logger = logging.getLogger("kullback.sources")


class BadRow(ValueError):  # noqa: N818 - it is what the row is
    """A row that cannot be used. The message says the file, the line or row, and what is wrong."""


class Tally:
    """Counts bad rows: the first one raises, or the first beyond `limit` where they may be skipped."""

    def __init__(self, skip: bool, limit: int, count: int = 0):
        self.skip, self.limit, self.count = skip, limit, count

    def add(self, where: str, what: str) -> None:
        """Take note of one bad row."""
        if not self.skip:
            raise BadRow(f"{where}: {what} (skip_bad leaves such rows out).")
        self.count += 1
        if self.count > self.limit:
            raise BadRow(f"{where}: {what}; this is bad row number {self.count:,}, and max_bad allows {self.limit:,}.")
        logger.warning("%s: %s; the row is left out.", where, what)
