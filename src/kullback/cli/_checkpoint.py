"""A fit that can go on after anything: the model, its schedule and the place in the data in one file."""

import json
import os
import time
from pathlib import Path
from typing import Any, Self

import numpy as np

from kullback import estimators
from kullback.cli._place import Place, read_place
from kullback.storage import lock_file, remove_leftovers


class Checkpoint:
    """A model file that also says where the fit is, and which command it belongs to.

    It is written to a temporary file, flushed and renamed: there is the last one or the new one, never half of one.
    While it is entered no other process can use it: a file beside it is locked, and the lock dies with this process.
    """

    def __init__(self, path: Path, command: dict[str, Any], every: float):
        self._path, self._every, self._last = path, every, time.monotonic()
        self._command = json.loads(json.dumps(command))
        self._written: Place | None = None
        self._lock: Any = None

    def __enter__(self) -> Self:
        if not self._path.parent.is_dir():
            raise ValueError(f"{self._path.parent} is not a directory: there is no place for {self._path.name}.")
        beside = self._path.with_name(f".{self._path.name}.lock")
        while self._lock is None:
            try:
                file = open(beside, "ab")
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self._path)) from None
            if lock_file(file) is False:
                file.close()
                raise ValueError(
                    f"{self._path} is in use by another fit: let it end, or give --checkpoint another file."
                )
            if _is(file, beside):
                self._lock = file
            else:  # its holder has removed it since it was opened
                file.close()
        return self

    def __exit__(self, *error: Any) -> None:
        Path(self._lock.name).unlink(missing_ok=True)
        self._lock.close()
        self._lock = None

    def begin(self, resume: bool) -> tuple[Any, Place]:
        """Return the estimator and the place to go on from; None and the first place if there is no such file."""
        if not self._path.exists():
            remove_leftovers(self._path)
            return None, Place()
        if not resume:
            _, place = self._read()
            if not place.done:
                raise ValueError(
                    f"{self._path} holds a fit that is not done: add --resume to go on, or remove the file."
                )
            return None, Place()
        estimator, place = self._read()
        remove_leftovers(self._path)
        return estimator, place

    def _read(self) -> tuple[Any, Place]:
        estimator = estimators.load(self._path)
        held = vars(estimator).pop("checkpoint_", None)
        if not isinstance(held, dict) or not isinstance(held.get("command"), dict):
            raise ValueError(f"{self._path} is a model and no checkpoint: give --checkpoint another file.")
        theirs = held["command"]
        for name in {**self._command, **theirs}:
            if name not in theirs or name not in self._command or not _same(theirs[name], self._command[name]):
                was, now = (_shown(command.get(name)) for command in (theirs, self._command))
                raise ValueError(
                    f"{self._path} is a checkpoint of another command: {name[:60]} was {was} there and is {now} here; "
                    f"give the same command, or another file."
                )
        try:
            place = read_place(held.get("place"), self._command, len(getattr(estimator, "lower_bounds_", ())))
            _check_source(estimator)
            _check_parameters(estimator, self._command)
            waits = self._command["method"] == "online" and "lag" in self._command  # rows of a series that wait
            if not waits and getattr(estimator, "n_points_seen_", place.rows) != place.rows:
                raise ValueError(f"its place is after {place.rows:,} rows, and its model has learned from others")
        except ValueError as error:
            raise ValueError(f"{self._path} is damaged: {error}.") from None
        return estimator, place

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


def _is(file: Any, path: Path) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _check_source(estimator: Any) -> None:
    """Raise unless the words of columns can be used in the next pass."""
    told = getattr(estimator, "source_", None)
    codes = told.get("codes") if isinstance(told, dict) else None
    if not isinstance(codes, dict):
        raise ValueError("it does not say what words there were")
    for words in codes.values():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("the words of a column are no words")


def _check_parameters(estimator: Any, command: dict[str, Any]) -> None:
    """Raise unless the parameters are those of the command; what it leaves to the data, the data has decided."""
    for name, value in estimator.get_params(deep=False).items():
        found, asked = value.tolist() if isinstance(value, np.ndarray) else value, command.get(name)
        if name != "verbose" and asked not in (None, "auto") and not _same(found, asked):  # a terminal decides that
            raise ValueError(f"its model has {name} = {_shown(found)}, and its command {_shown(asked)}")


def _same(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same, and of the same type: True is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
