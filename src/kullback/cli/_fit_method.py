"""How to learn from some data: batch EM where all of it is small, online EM otherwise."""

import enum
from pathlib import Path
from typing import Any

from kullback.cli._input import Input
from kullback.cli._messages import mute_notes
from kullback.cli._model_file import read_model

#: Data is small if it has at most so many batches, and so many numbers: then it is read and fitted as a whole.
BATCHES, NUMBERS = 16, 1 << 25


class Method(enum.StrEnum):
    """How to learn."""

    auto = "auto"
    online = "online"
    em = "em"
    batch = "batch"  # what stands for em where nothing is hidden


def choose_method(data: Input, method: Method, asks_for_online: bool) -> Method:
    """Return online or em, whatever was asked for.

    A step of online EM towards each batch is far from converged where there are few of them. A stream is always learned
    online, and so is data for which something is asked that only this can do.
    """
    if method is not Method.auto:
        return method
    return Method.online if asks_for_online or data.piped or not _is_small(data) else Method.em


def method_of_checkpoint(path: Path) -> Method:
    """Return how the fit of a checkpoint learned, whatever its data looks like now; auto if there is none."""
    checkpoint = read_model(path).checkpoint if path.exists() else None
    if checkpoint is None:
        return Method.auto
    return Method.em if checkpoint["command"].get("method") == "em" else Method.online


def _is_small(data: Input) -> bool:
    most = BATCHES * data.batch_rows
    with mute_notes():
        source: Any = data.open(0, None, ahead=0)
        if source.rows is not None:
            return source.rows <= most and source.rows * len(source.kinds) <= NUMBERS
        rows = 0
        for table in source:
            rows += len(table)
            if rows > most or rows * table.shape[1] > NUMBERS:
                return False
    return True
