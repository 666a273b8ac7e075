"""A fit that can go on after anything: the model, its schedule and the place in the data in one file."""

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any, Self

from kullback.cli._messages import as_json_value
from kullback.cli._model_file import Columns, read_model, write_model
from kullback.cli._options import option_of
from kullback.cli._progress import Progress, read_progress
from kullback.estimators import REGISTRY
from kullback.storage import lock_file, quote, remove_leftovers


class Checkpoint:
    """A model file that also says where the fit is, and which command it belongs to.

    It is written to a temporary file, flushed and renamed: there is the last one or the new one, never half of one.
    While it is entered no other process can use it: a file beside it is locked, and the lock dies with this process.
    """

    def __init__(self, path: Path, command: dict[str, Any], every: float):
        self._path, self._every, self._last = path, every, time.monotonic()
        self._command = json.loads(json.dumps(command))
        self._written: Progress | None = None
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

    def begin(self, resume: bool) -> tuple[Any, Columns, Progress]:
        """Return the estimator, its columns and the progress to go on from; None and a start if there is no file."""
        if not self._path.exists():
            remove_leftovers(self._path)
            return None, {}, Progress()
        estimator, columns, progress = self._read()
        if resume:
            remove_leftovers(self._path)
            return estimator, columns, progress
        if not progress.done:
            raise ValueError(f"{self._path} holds a fit that is not done: add --resume to go on, or remove the file.")
        return None, {}, Progress()

    def _read(self) -> tuple[Any, Columns, Progress]:
        estimator, columns, checkpoint, _ = read_model(self._path)
        if checkpoint is None:
            raise ValueError(f"{self._path} is a model and no checkpoint: give --checkpoint another file.")
        theirs = checkpoint["command"]
        for name in {**self._command, **theirs}:
            if name not in theirs or name not in self._command or not _same(theirs[name], self._command[name]):
                was, now = (quote(command.get(name)) for command in (theirs, self._command))
                raise ValueError(
                    f"{self._path} is a checkpoint of another command: {name[:60]} was {was} there and is {now} here; "
                    f"give the same command, or another file."
                )
        attributes = vars(estimator)
        try:
            progress = read_progress(checkpoint["progress"], self._command, len(attributes.get("lower_bounds_", ())))
            if columns.get("codes") is None:
                raise ValueError("it does not say what words there were")
            _check_parameters(estimator, self._command)
            # rows of a series wait, weights are no numbers of rows, rows without a target do not count, a model to go
            # on from has seen others before, and epochs count rows again
            others = {"lag", "window", "from"} if self._command["method"] == "online" else set()
            epochs = REGISTRY[type(estimator).__name__].capabilities.has_epochs and self._command["method"] == "em"
            counts = not epochs and not self._command.keys() & {"weight", "targets", *others}
            if counts and attributes.get("n_points_seen_", progress.rows) != progress.rows:
                raise ValueError(f"its progress is {progress.rows:,} rows, and its model has learned from others")
        except ValueError as error:
            raise ValueError(f"{self._path} is damaged: {error}.") from None
        return estimator, columns, progress

    @property
    def due(self) -> bool:
        """Whether it is time for the next."""
        return time.monotonic() - self._last >= self._every

    def write(self, estimator: Any, columns: Columns, progress: Progress) -> None:
        """Keep an estimator, its columns and its progress, unless they are kept already."""
        if progress == self._written:
            return
        kept = {"command": self._command, "progress": dataclasses.asdict(progress)}
        write_model(estimator, self._path, columns, kept)
        self._last, self._written = time.monotonic(), progress


def _is(file: Any, path: Path) -> bool:
    """Whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _check_parameters(estimator: Any, command: dict[str, Any]) -> None:
    """Raise unless the parameters are those of the command; what it leaves to the data, the data has decided."""
    for name, value in estimator.get_params(deep=False).items():
        found, wanted = as_json_value(value), command.get(option_of(name))
        if name != "verbose" and wanted not in (None, "auto") and not _same(found, wanted):  # a terminal decides that
            raise ValueError(f"its model has {name} = {quote(found)}, and its command {quote(wanted)}")


def _same(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same, and of the same type: True is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
