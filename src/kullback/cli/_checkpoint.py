"""A fit that can go on after anything: the model, its schedule and the place in the data in one file."""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from kullback import estimators


class Place(NamedTuple):
    """How far a fit has come: the pass, the source's position in it, the rows of all passes, whether it is done.

    `sequence` is the number of the sequence that the last row belongs to, where there are several.
    """

    turn: int = 0
    position: Any = None
    rows: int = 0
    done: bool = False
    sequence: float | None = None


class Checkpoint:
    """A model file that also says where the fit is, and which command it belongs to.

    It is written to a temporary file, flushed and renamed: there is the last one or the new one, never half of one.
    """

    def __init__(self, path: Path, command: dict[str, Any], every: float):
        self._path, self._every, self._last = path, every, time.monotonic()
        self._command = json.loads(json.dumps(command))
        self._written: Place | None = None

    def begin(self, resume: bool) -> tuple[Any, Place]:
        """Return the estimator and the place to go on from; None and the first place if there is no such file."""
        if not self._path.exists():
            self._sweep()
            return None, Place()
        if not resume:
            _, place = self._read()
            if not place.done:
                raise ValueError(
                    f"{self._path} holds a fit that is not done: add --resume to go on, or remove the file."
                )
            return None, Place()
        estimator, place = self._read()
        self._sweep()
        return estimator, place

    def _read(self) -> tuple[Any, Place]:
        estimator = estimators.load(self._path)
        held = vars(estimator).pop("checkpoint_", None)
        if not isinstance(held, dict) or not isinstance(held.get("command"), dict):
            raise ValueError(f"{self._path} is a model and no checkpoint: give --checkpoint another file.")
        theirs = held["command"]
        for name, mine in self._command.items():
            if theirs.get(name) != mine:
                raise ValueError(
                    f"{self._path} is a checkpoint of another command: {name} was {theirs.get(name)!r} there and is "
                    f"{mine!r} here; give the same command, or another file."
                )
        try:
            place = Place(**held["place"])
        except (KeyError, TypeError):
            raise ValueError(f"{self._path} is damaged: it does not say where the fit was.") from None
        return estimator, place

    def _sweep(self) -> None:
        """Remove what a write that was killed has left."""
        for left in self._path.parent.glob(f".{self._path.name}.{'[0-9a-f]' * 32}"):
            left.unlink(missing_ok=True)

    @property
    def due(self) -> bool:
        """Whether it is time for the next."""
        return time.monotonic() - self._last >= self._every

    def write(self, estimator: Any, place: Place) -> None:
        """Keep the estimator and the place, unless they are kept already."""
        if place == self._written:
            return
        estimator.checkpoint_ = {"command": self._command, "place": place._asdict()}
        try:
            estimator.save(self._path)
        finally:
            del estimator.checkpoint_
        self._last, self._written = time.monotonic(), place
