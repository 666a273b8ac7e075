"""Fitted estimators as files: safetensors with a JSON header. Reading one runs no code."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kullback._whole_file import write_whole
from kullback.estimators._columns import Shape
from kullback.estimators._learning_curve import check_curve
from kullback.estimators._sound import check_magnitude

FORMAT = "kullback"
#: Arrays that are no part of the model.
_OF_DATA = ("attributes.waiting_", "attributes.waiting_inputs_", "attributes.learning_curve_")


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator, whole or not at all."""
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
        if name.endswith("_") and not name.startswith("_") and name not in estimator._derived
    }
    content = save(arrays, metadata={"format": FORMAT, "header": json.dumps(header)})
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory: there is no place for {path.name}.")
    write_whole(path, content)


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
            header = json.loads(metadata.get("header", "null"), parse_constant=_constant)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is not a dictionary
    except (SafetensorError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a saved model: {error}.") from None
    if metadata.get("format") != FORMAT or not isinstance(header, dict):
        raise ValueError(f"{path} is not a saved model: it has no header of kullback.")
    kind = header.get("kind")
    if kind not in estimators.SAVED or not all(isinstance(header.get(k), dict) for k in ("parameters", "attributes")):
        raise ValueError(f"{path} holds a {kind!r}: this version of kullback knows no such model.")
    named = {
        f"{group}.{name}"
        for group in ("parameters", "attributes")
        for name, value in header[group].items()
        if isinstance(value, dict) and "tensor" in value
    }
    if named != set(arrays):
        raise ValueError(f"{path} is damaged: its arrays are not those that its header names.")
    for name, array in arrays.items():
        may_lack = name == "attributes.waiting_"  # NaN is what is missing
        if np.issubdtype(array.dtype, np.floating) and not (may_lack or np.isfinite(array).all()):
            raise ValueError(f"{path} is damaged: {name} has entries that are not finite.")
    try:
        estimator = getattr(estimators, kind)(**_get("parameters", header["parameters"], arrays))
        estimator._validate_params()
        for name, value in _get("attributes", header["attributes"], arrays).items():
            if not name.endswith("_") or name in estimator._derived:
                raise ValueError(f"{name} is not the name of an attribute_.")
            setattr(estimator, name, value)
        _check_size(estimator, sum(array.size for name, array in arrays.items() if name not in _OF_DATA))
        _check_attributes(estimator)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return estimator


def _check_size(estimator: Any, numbers: int) -> None:
    """Raise where the header speaks of a model that is larger than the arrays of the file, before it is built."""
    sizes = [getattr(estimator, name, None) or 1 for name in ("n_components", "n_latents")]
    k, n = max(*sizes, len(np.ravel(getattr(estimator, "weights_", 1)))), int(getattr(estimator, "n_features_in_", 1))
    family = getattr(estimator, "_families", getattr(estimator, "family", "poisson"))  # others have one for each column
    if n < 0 or Shape(n, np.ravel(getattr(estimator, "n_categories_", ())), 0).numbers(family, k) > numbers:
        raise ValueError(
            f"{k} components of {n} columns have more parameters than the {numbers} numbers that it holds."
        )


def _check_attributes(estimator: Any) -> None:
    """Raise unless the attributes_ are those of one model, of the shapes that the parameters say."""
    model = estimator.to_model()
    check_magnitude(model)
    for name, expected in estimator._attributes(model).items():
        found = np.shape(getattr(estimator, name))
        if found != np.shape(expected):
            raise ValueError(f"{name} has shape {found}, and the model needs {np.shape(expected)}.")
    columns = estimator._shape_of(model)["n_features_in_"]
    if getattr(estimator, "n_features_in_", columns) != columns:
        raise ValueError(f"n_features_in_ is {estimator.n_features_in_!r}, and the model has {columns} columns.")
    for name, found in type(estimator)._parameters_of(model).items():
        if name == "n_components" and getattr(estimator, name) not in (None, found):
            raise ValueError(f"n_components is {getattr(estimator, name)}, and the model has {found} components.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != columns:
        raise ValueError(f"there are {len(names)} names for {columns} columns.")
    for name in ("n_points_seen_", "n_batches_seen_"):
        if not float(getattr(estimator, name, 0)) >= 0:
            raise ValueError(f"{name} is {getattr(estimator, name)}: it cannot be negative.")
    if hasattr(estimator, "learning_curve_"):
        check_curve(estimator.learning_curve_)


def _constant(name: str) -> float:
    if name == "NaN":
        raise ValueError("its header has a NaN")
    return float(name)


def _put(name: str, value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return what the header says about a value; arrays of numbers go to the tensors."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        arrays[name] = np.asarray(value, order="C")  # a single number keeps its shape
        return {"tensor": name}
    if isinstance(value, np.ndarray):
        return {"strings": [str(entry) for entry in value]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):  # of rows, which may be arrays
        value = [entry.tolist() if isinstance(entry, (np.ndarray, np.generic)) else entry for entry in value]
    try:
        if json.loads(json.dumps(value)) == json.loads(json.dumps(value)):
            return value
    except (TypeError, ValueError):
        pass
    # a generator of random numbers, a function: nothing that a file can hold
    warnings.warn(f"{name.partition('.')[2]} is not in the file: it is a {type(value).__name__}.", stacklevel=4)
    return None


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
