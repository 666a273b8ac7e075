"""Fitted estimators as files: safetensors with a JSON header. Reading one runs no code."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "kullback"


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write to a temporary file beside the goal, flush, then rename: a crash leaves the old file or the new one."""
    from safetensors.numpy import save

    import kullback

    arrays: dict[str, np.ndarray] = {}
    header: dict[str, Any] = {"kind": type(estimator).__name__, "version": kullback.__version__}
    header["parameters"] = {
        name: _put(f"parameters.{name}", value, arrays) for name, value in estimator.get_params(deep=False).items()
    }
    header["attributes"] = {
        name: _put(f"attributes.{name}", value, arrays)
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }
    content = save(arrays, metadata={"format": FORMAT, "header": json.dumps(header)})
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_estimator(path: str | Path) -> Any:
    """Read a fitted estimator; anything else in the file is refused with one sentence."""
    from safetensors import SafetensorError, safe_open

    from kullback import estimators

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata.get("header", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is not a dictionary
    except (SafetensorError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a saved model: {error}.") from None
    if metadata.get("format") != FORMAT or not isinstance(header, dict):
        raise ValueError(f"{path} is not a saved model: it has no header of kullback.")
    kind = header.get("kind")
    if kind not in estimators.SAVED or not all(isinstance(header.get(k), dict) for k in ("parameters", "attributes")):
        raise ValueError(f"{path} holds a {kind!r}: this version of kullback knows no such model.")
    for name, array in arrays.items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise ValueError(f"{path} is damaged: {name} has entries that are not finite.")
    try:
        estimator = getattr(estimators, kind)(**_get("parameters", header["parameters"], arrays))
        for name, value in _get("attributes", header["attributes"], arrays).items():
            setattr(estimator, name, value)
        estimator.to_model()
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return estimator


def _put(name: str, value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return what the header says about a value; arrays of numbers go to the tensors."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        arrays[name] = np.ascontiguousarray(value)
        return {"tensor": name}
    if isinstance(value, np.ndarray):
        return {"strings": [str(entry) for entry in value]}
    if isinstance(value, np.generic):
        return value.item()
    try:
        if json.loads(json.dumps(value)) == value or isinstance(value, (tuple, list)):
            return list(value) if isinstance(value, tuple) else value
    except (TypeError, ValueError):
        pass
    return None  # a generator of random numbers, a function: nothing that a file can hold


def _get(group: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    found = {}
    for name, value in header.items():
        if not name.isidentifier() or name.startswith("_"):
            raise ValueError(f"{name!r} is not a name.")
        if isinstance(value, dict) and "tensor" in value:
            value = arrays[f"{group}.{name}"]
        elif isinstance(value, dict) and "strings" in value:
            value = np.array(value["strings"], dtype=object)
        found[name] = value
    return found
