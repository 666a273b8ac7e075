"""Places as files: a fit that was killed goes on from one, bit for bit. Reading one runs no code."""

import json
import math
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kullback.learning._fit import Best, Place
from kullback.runtime import as_numpy, read_tree, tensors_of
from kullback.storage import atomic_write, check_writable, has_format, pack_tensors, remove_leftovers, sentence

FORMAT = "kullback place"
PlaceT = TypeVar("PlaceT", bound=Place[Any, Any, Any])
_TREES = ("model", "state", "memories")


def save_place(path: str | Path, place: PlaceT, about: object = None) -> None:
    """Write a place, whole or not at all. `about` is anything that JSON can hold, which must be the same to go on."""
    path = Path(path)
    check_writable(path)
    place = as_numpy(place)
    arrays = {"curve": np.ascontiguousarray(place.curve)}
    for name in _TREES:
        arrays |= tensors_of(name, getattr(place, name))
    header = {"about": about, "step": place.step, "points": place.points, "failures": place.failures}
    header |= {"position": place.position, "rule": place.rule, "best": None if place.best is None else place.best.step}
    if place.best is not None:
        arrays |= tensors_of("best", place.best.model)
    atomic_write(path, pack_tensors(FORMAT, header, arrays))


def load_place(path: str | Path, like: PlaceT, about: object = None) -> PlaceT:
    """Read a place of a fit that begins at `like`; raise one sentence if it is not one.

    Shapes and types are those of `like`, whose leaves may be `jax.ShapeDtypeStruct`.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    remove_leftovers(path)  # what a writer that was killed has left
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata.get("header", "null"))
            if not has_format(FORMAT, metadata, header):
                raise ValueError("it has no header of a fit.")
            if header.get("about") != about:
                raise ValueError("it belongs to another fit.")
            _check(header, like)
            trees = {name: read_tree(name, getattr(like, name), file) for name in _TREES}
            best = header["best"]
            if best is not None:
                best = Best(read_tree("best", like.model, file), best)
            rows = file.get_slice("curve").get_shape()
            if len(rows) != 2 or rows[0] > 512 or rows[1] != 4:
                raise ValueError(f"its curve has the shape {rows}.")
            curve = file.get_tensor("curve")
    except (SafetensorError, RecursionError):
        raise ValueError(f"{path} is not a checkpoint of a fit.") from None
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is not a checkpoint to go on from: {sentence(error)}") from None
    numbers = {name: header[name] for name in ("step", "points", "failures", "position", "rule")}
    return like._replace(**trees, best=best, curve=curve, **numbers)


def _check(header: dict[str, Any], like: PlaceT) -> None:
    """Raise unless the numbers of a header can be those of a place."""
    for name in ("step", "failures", *(["best"] if header["best"] is not None else [])):
        value = header[name]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
            raise ValueError(f"{name} is {value!r}.")
    points = header["points"]
    if not isinstance(points, float) or not (math.isfinite(points) and points >= 0):
        raise ValueError(f"points is {points!r}.")
    if not isinstance(header["rule"], dict) or set(header["rule"]) != set(like.rule):
        raise ValueError("its rule is another one.")
    for name, value in header["rule"].items():
        if value is not None and (not isinstance(value, (int, float)) or not math.isfinite(value)):
            raise ValueError(f"{name} of its rule is {value!r}.")
