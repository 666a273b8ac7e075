"""Model files of the command. A section of their own says what columns there were, and how far a fit has come."""

import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kullback import estimators
from kullback.storage import is_count

#: What is known of columns: their names, the words of some, which one separates sequences, which are inputs or targets.
Columns = dict[str, Any]


class ModelFile(NamedTuple):
    """A fitted estimator, its columns, the checkpoint that the file is, if it is one, and the command that made it."""

    estimator: Any
    columns: Columns
    checkpoint: dict[str, Any] | None
    arguments: list[str]


def write_model(
    estimator: Any,
    path: Path,
    columns: Columns | None,
    checkpoint: dict[str, Any] | None = None,
    arguments: list[str] | None = None,
) -> None:
    """Write a fitted estimator with what the command knows besides, and the words of the command.

    The names of columns and their categories belong to the estimator, so that Python can feed it frames too; the
    categories of a target are its classes.
    """
    named = copy.copy(estimator)
    if columns is not None:
        if columns.get("names") is not None:
            named.feature_names_in_ = np.array(columns["names"], dtype=object)
        vars(named).pop("categories_", None)
        targets = set(map(str, columns.get("targets", ())))
        categories = {label: words for label, words in (columns.get("codes") or {}).items() if label not in targets}
        if categories:
            named.categories_ = categories
        columns = {name: value for name, value in columns.items() if name in ("sequence", "inputs", "targets")}
    section = {"source": columns, "checkpoint": checkpoint, "arguments": arguments}
    estimators.save(named, path, {name: value for name, value in section.items() if value is not None})


def read_model(path: Path) -> ModelFile:
    """Read what this command or the library has saved.

    Tables here are arrays, whose columns have no names: those of the estimator, and its categories, are in `columns`.
    """
    estimator, section = estimators.load_with_command(path)
    names, codes = (vars(estimator).pop(name, None) for name in ("feature_names_in_", "categories_"))
    try:
        if not isinstance(section, dict):
            raise ValueError("what it says of the command is no object")
        columns, checkpoint = section.get("source", {}), section.get("checkpoint")
        if not _are_columns(columns):
            raise ValueError("source must be names and words of columns")
        _check_columns(columns, vars(estimator).get("n_features_in_"))
        codes = {} if codes is None and "source" in section else codes
        codes = _with_classes(codes, columns.get("targets"), vars(estimator).get("classes_"))
        columns = {**columns, "names": None if names is None else names.tolist(), "codes": codes}
        if checkpoint is not None:
            checkpoint = _current(checkpoint)
        arguments = section.get("arguments", [])
        if not _are_words(arguments):
            raise ValueError("arguments must be the words of a command")
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    return ModelFile(estimator, columns, checkpoint, arguments)


def _with_classes(codes: Any, targets: Any, classes: Any) -> Any:
    """Return the categories of columns with those of a target, where it holds words."""
    if not targets or not isinstance(classes, np.ndarray) or classes.dtype.kind != "U":
        return codes
    return {**(codes or {}), str(targets[0]): classes.tolist()}


def _are_columns(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"names", "codes", "sequence", "inputs", "targets"}:
        return False
    names, codes, sequence = (value.get(name) for name in ("names", "codes", "sequence"))
    return (
        (names is None or (_are_words(names) and len(set(names)) == len(names)))
        and (codes is None or (isinstance(codes, dict) and all(map(_are_words, codes.values()))))
        and (sequence is None or _is_label(sequence))
        and all(_are_labels(value.get(name)) for name in ("inputs", "targets"))
    )


def _are_labels(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_label, value)) and len(set(value)) == len(value))


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_label(value: Any) -> bool:
    return isinstance(value, str) or is_count(value)


def _check_columns(columns: Columns, count: int | None) -> None:
    """Raise unless these can be the columns of a model with so many of them."""
    if not columns:
        return
    names = columns.get("names")
    if count is None or (names is not None and len(names) != count):
        raise ValueError(f"source has {len(names or ())} names for {count} columns")
    roles = (*(columns.get("inputs") or ()), *(columns.get("targets") or ()), columns.get("sequence"))
    others = [label for label in roles if label is not None]
    labels = {*(names or map(str, range(count + len(others)))), *map(str, others)}
    strange = [label for label in columns.get("codes") or () if label not in labels]
    if strange:
        raise ValueError(f"source has words of {strange[0]!r}, which is not one of the columns")


def _current(checkpoint: Any) -> dict[str, Any]:
    """Return a checkpoint with the names of today: in version 0.1 the progress was a place, and an epoch a turn."""
    if isinstance(checkpoint, dict) and isinstance(checkpoint.get("place"), dict):
        place = {"epoch" if name == "turn" else name: value for name, value in checkpoint["place"].items()}
        checkpoint = {"command": checkpoint.get("command"), "progress": place}
    if (
        not isinstance(checkpoint, dict)
        or not all(isinstance(checkpoint.get(name), dict) for name in ("command", "progress"))
        or not is_count(checkpoint["progress"].get("rows"))
        or not isinstance(checkpoint["progress"].get("done"), bool)
    ):
        raise ValueError("checkpoint must be a command and its progress")
    return checkpoint
