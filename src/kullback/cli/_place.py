"""How far a fit has come, as a checkpoint keeps it, and whether what a file says of it can be true."""

import json
import math
import re
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

_DIGEST = re.compile("[0-9a-f]{32}")


class Place(NamedTuple):
    """How far a fit has come: the pass, the source's position in it, the rows of all passes, whether it is done.

    For batch EM `turn` is the number of iterations. `sequence` is the number of the sequence that the last row belongs
    to, where there are several. `data` is the fingerprint of all files once they were read to the end, and `digest`
    that of the rows that batch EM learns from.
    """

    turn: int = 0
    position: Any = None
    rows: int = 0
    done: bool = False
    sequence: float | None = None
    data: Any = None
    digest: str | None = None


class Digest:
    """Tells the rows of one reading from those of another."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    def add(self, table: np.ndarray) -> None:
        """Take in the next rows."""
        self._hash.update(np.ascontiguousarray(table).data)

    def of(self, source: Any) -> str:
        """Return the digest of all rows, with what a source knows of their columns."""
        whole = self._hash.copy()
        whole.update(json.dumps([source.names, source.codes]).encode())
        return whole.hexdigest()


def read_place(found: Any, command: dict[str, Any], iterations: int) -> Place:
    """Return what a checkpoint of a command says; raise unless it can be true. The source checks its position."""
    if not isinstance(found, dict) or set(found) != set(Place._fields):
        raise ValueError("it does not say where the fit was")
    place = Place(**found)
    last = place.sequence
    kinds = {
        "turn": is_count(place.turn),
        "rows": is_count(place.rows),
        "done": isinstance(place.done, bool),
        "sequence": last is None or (isinstance(last, int | float) and not isinstance(last, bool) and _finite(last)),
        "position": place.position is None or isinstance(place.position, dict),
        "data": place.data is None or isinstance(place.data, dict),
        "digest": place.digest is None or (isinstance(place.digest, str) and bool(_DIGEST.fullmatch(place.digest))),
    }
    if command["sequence"] is None or place.done:
        kinds["sequence"] = last is None
    at_once = command["method"] == "em"
    for name, fits in (kinds if not all(kinds.values()) else _consistent(place, command, at_once, iterations)).items():
        if not fits:
            raise ValueError(f"{name} of its place is {_shown(found[name])}")
    return place


def _consistent(place: Place, command: dict[str, Any], at_once: bool, iterations: int) -> dict[str, bool]:
    """Say of each entry whether it can be true given the others."""
    if at_once:
        alone = place.position is None and place.digest is not None
        return {"turn": place.turn == iterations, "rows": place.rows > 0, "digest": alone}
    if place.done:
        ended = place.turn == command["passes"] and place.position is None
        return {"turn": ended, "rows": place.rows > 0, "digest": place.digest is None}
    handed: Any = (place.position or {}).get("done")
    if not is_count(handed):
        return {"position": False}
    rows = place.rows == handed if place.turn == 0 else place.rows > handed
    first = (place.data is None) == (place.turn == 0)
    return {"turn": place.turn < command["passes"], "rows": rows, "data": first, "digest": place.digest is None}


def is_count(value: Any) -> bool:
    """Whether this can be a number of rows."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
