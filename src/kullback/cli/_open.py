"""Opening data for the command."""

from typing import Any

from kullback.sources import Source, open_source


def open_data(data: str, **options: Any) -> Source:
    """Open a file or standard input. Signals stay the command's own while it is read.

    pyarrow would put its handler over ours for as long as it parses: an interrupt would end in an error of its own, and
    what was learned would not be saved.
    """
    import pyarrow

    pyarrow.enable_signal_handlers(False)
    return open_source(data, **options)
