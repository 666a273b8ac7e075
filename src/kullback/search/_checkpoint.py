"""A run as a file: safetensors with a JSON header. Reading one runs no code."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kullback.storage import atomic_write, has_format, pack_tensors

FORMAT = "kullback-search"
#: Methods that had another name when a run was written.
RENAMED = {"Exponential": "XNES"}

Arrays = dict[str, NDArray[Any]]


def write_run(path: Path, header: dict[str, Any], arrays: Arrays) -> None:
    """Write a run, whole or not at all."""
    atomic_write(
        path, pack_tensors(FORMAT, header, {name: np.array(array, order="C") for name, array in arrays.items()})
    )


def read_run(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read a run; anything else is refused with one sentence."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata.get("header", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is not a dictionary
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a saved run: {error}.") from None
    if not has_format(FORMAT, metadata, header):
        raise ValueError(f"{path} is not a saved run: it has no header of a search.")
    return header, arrays


def check_same_settings(path: Path, header: dict[str, Any], settings: dict[str, Any], door: str) -> None:
    """Raise unless a run was begun by a call of `door` with these settings."""
    theirs = header.get("settings")
    if not isinstance(theirs, dict):
        raise ValueError(f"{path} is not a saved run: it does not say which.")
    for name, value in settings.items():
        found = theirs.get(name)
        if isinstance(found, str) and name == "method":
            method, bracket, options = found.partition("(")
            found = RENAMED.get(method, method) + bracket + options
        if found != value:
            raise ValueError(f"{path} holds a run with another {name}: call {door} as that run was called.")


def check_arrays(path: Path, arrays: Arrays, expected: dict[str, tuple[tuple[int | None, ...], str]]) -> None:
    """Raise unless the arrays have these names, shapes (None for any length) and kinds of numbers."""
    if set(arrays) != set(expected):
        raise ValueError(f"{path} is damaged: its arrays are not those of a run.")
    for name, (shape, kind) in expected.items():
        found = arrays[name]
        fits = found.ndim == len(shape) and all(a in (None, b) for a, b in zip(shape, found.shape, strict=True))
        if not fits or found.dtype.kind != kind:
            raise ValueError(f"{path} is damaged: {name} has shape {found.shape} and type {found.dtype}.")
