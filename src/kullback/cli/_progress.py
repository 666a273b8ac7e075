"""How far a fit has come, as a checkpoint keeps it, and whether what a file says of it can be true."""

import dataclasses
import json
import re
import sys
from hashlib import blake2b
from typing import Any

import numpy as np

from kullback.storage import is_count, quote

_DIGEST = re.compile("[0-9a-f]{32}")


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a fit has come: the epoch, the source's position in it, the rows of all epochs, whether it is done.

    For batch EM `epoch` is the number of iterations. `sequence` is the number of the sequence that the last row belongs
    to, where there are several. `data` is the fingerprint of all files once they were read to the end, and `digest`
    that of the rows that batch EM learns from.
    """

    epoch: int = 0
    position: Any = None
    rows: int = 0
    done: bool = False
    sequence: float | None = None
    data: Any = None
    digest: str | None = None


FIELDS = tuple(field.name for field in dataclasses.fields(Progress))


class Digest:
    """Tells the rows of one reading from those of another."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def add(self, table: np.ndarray) -> None:
        """Add the next rows."""
        self._hash.update(np.ascontiguousarray(table).data)

    def of(self, source: Any) -> str:
        """Return the digest of all rows, with what a source knows of their columns."""
        whole = self._hash.copy()
        whole.update(json.dumps([source.names, source.codes]).encode())
        return whole.hexdigest()


def read_progress(found: Any, command: dict[str, Any], iterations: int) -> Progress:
    """Return what a checkpoint of a command says; raise unless it can be true. The source checks its position."""
    if not isinstance(found, dict) or set(found) != set(FIELDS):
        raise ValueError("it does not say where the fit was")
    progress = Progress(**found)
    last, digest = progress.sequence, progress.digest
    checks = {
        "epoch": is_count(progress.epoch),
        "rows": is_count(progress.rows),
        "done": isinstance(progress.done, bool),
        "sequence": last is None or (type(last) in (int, float) and abs(last) <= sys.float_info.max),
        "position": progress.position is None or isinstance(progress.position, dict),
        "data": progress.data is None or isinstance(progress.data, dict),
        "digest": digest is None or (isinstance(digest, str) and bool(_DIGEST.fullmatch(digest))),
    }
    if command["sequence"] is None or progress.done:
        checks["sequence"] = last is None
    if all(checks.values()):
        checks = _check_together(progress, command, iterations)
    for name, fits in checks.items():
        if not fits:
            raise ValueError(f"{name} of its progress is {quote(found[name], 60)}")
    return progress


def _check_together(progress: Progress, command: dict[str, Any], iterations: int) -> dict[str, bool]:
    """Return of each entry whether it can be true given the others."""
    if command["method"] == "em":
        alone = progress.position is None and progress.digest is not None
        return {"epoch": progress.epoch == iterations, "rows": progress.rows > 0, "digest": alone}
    if progress.done:
        ended = progress.epoch == command["passes"] and progress.position is None
        return {"epoch": ended, "rows": progress.rows > 0, "digest": progress.digest is None}
    read: Any = (progress.position or {}).get("done")
    if not is_count(read):
        return {"position": False}
    return {
        "epoch": progress.epoch < command["passes"],
        "rows": progress.rows == read if progress.epoch == 0 else progress.rows > read,
        "data": (progress.data is None) == (progress.epoch == 0),
        "digest": progress.digest is None,
    }
