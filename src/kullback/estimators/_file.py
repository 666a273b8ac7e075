"""Fitted estimators as files: safetensors with a JSON header. Reading one runs no code."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from kullback.estimators._file_check import check_attribute, check_parameters
from kullback.estimators._registry import REGISTRY, estimator_class
from kullback.estimators._tree_check import check_trees
from kullback.estimators.data._family_file import UnknownFamilyError, family_from_json, family_to_json
from kullback.runtime import read_tree, tensor_names, tensors_of
from kullback.storage import atomic_write, check_writable, has_format, pack_tensors, sentence

FORMAT = "kullback"
#: What may go wrong where parameters and attributes_ do not belong together.
_DAMAGE = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, MemoryError)
#: Arrays that are no part of the model.
_OF_DATA = (
    "attributes.waiting_",
    "attributes.waiting_inputs_",
    "attributes.learning_curve_",
    "attributes.prequential_",
)


def save(estimator: Any, path: str | Path, command: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator, whole or not at all.

    `command` is what a program that fits estimators remembers of its work, JSON-able: it has a section of its own.
    """
    import kullback

    path = Path(path)
    check_writable(path)
    arrays: dict[str, np.ndarray] = {}
    header: dict[str, Any] = {"kind": type(estimator).__name__, "version": kullback.__version__}
    parameters = estimator.get_params(deep=False)
    if "family" in parameters:
        parameters["family"] = family_to_json(parameters["family"])
    header["parameters"] = {name: _put(f"parameters.{name}", value, arrays) for name, value in parameters.items()}
    header["attributes"] = {
        name: _put(f"attributes.{name}", value, arrays)
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_") and name not in (*estimator._derived, *estimator._trees)
    }
    if command is not None:
        header["command"] = command
    _check_readable(estimator, arrays)
    for name in estimator._trees:
        arrays |= tensors_of(f"trees.{name}", getattr(estimator, name))
    atomic_write(path, pack_tensors(FORMAT, header, arrays))


def _check_readable(estimator: Any, arrays: dict[str, np.ndarray]) -> None:
    """Raise where `load` would refuse the file: parameters may have been set since the fit."""
    check_trees(estimator)
    try:
        with np.errstate(all="ignore"):
            estimator.check_attributes(_count_numbers(arrays))
    except _DAMAGE as error:
        raise ValueError(
            f"This model cannot be saved, for its file could not be read: {sentence(error).rstrip('.')}. Parameters "
            "that were set since the fit have to be set back."
        ) from None


def _count_numbers(arrays: dict[str, np.ndarray]) -> int:
    """Return of how many numbers a model is."""
    return sum(array.size for name, array in arrays.items() if name not in _OF_DATA)


def load(path: str | Path) -> Any:
    """Read a fitted estimator; a file that holds anything else is refused with one sentence."""
    return load_with_command(path)[0]


def load_with_command(path: str | Path, kind: type | None = None) -> tuple[Any, dict[str, Any]]:
    """Read a fitted estimator, and what the program remembers that has written it: nothing of that is checked.

    A class that kullback does not know reads its own files: then it is the `kind`.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, and not a saved model.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata.get("header", "null"), parse_constant=_constant)
            names = [name for name in file.keys() if not name.startswith("trees.")]  # noqa: SIM118, no dictionary
            arrays = {name: file.get_tensor(name) for name in names}
    except SafetensorError:  # it says where its parser stopped, which is of no use here
        raise ValueError(f"{path} is not a saved model: `kullback fit` and `save` write such files.") from None
    except RecursionError:
        raise ValueError(f"{path} is not a saved model: its header is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: its header cannot be read: {sentence(error, 200)}.") from None
    if not has_format(FORMAT, metadata, header):
        raise ValueError(f"{path} is not a saved model: it has no header of kullback.")
    called = header.get("kind")
    if kind is None or kind.__name__ != called:
        if not isinstance(called, str) or called not in REGISTRY:
            raise ValueError(
                f"{path} holds a {sentence(repr(called), 60)}: this version of kullback knows no such model."
            )
        kind = estimator_class(called)
    if not all(isinstance(header.get(group), dict) for group in ("parameters", "attributes")):
        raise ValueError(f"{path} is damaged: its header has no parameters or no attributes.")
    command = _command_section(header)
    early = _add_columns_of_command(header, command)
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
        parameters = _get("parameters", header["parameters"], arrays)
        if "family" in parameters:
            parameters["family"] = family_from_json(parameters["family"], "feature_names_in_" in header["attributes"])
        estimator = kind(**parameters)
        check_parameters(estimator)
        for name, value in _get("attributes", header["attributes"], arrays).items():
            if not name.endswith("_") or name in estimator._derived:
                raise ValueError(f"{name} is not the name of an attribute_.")
            check_attribute(name, value)
            setattr(estimator, name, value)
        if early and estimator._category_room is None:  # text that was taken for numbers, as early versions did
            estimator.__dict__.pop("categories_", None)
        if estimator._trees:
            _read_trees(estimator, path)
        with np.errstate(all="ignore"):  # what is too large is refused, and needs no warning besides
            estimator.check_attributes(_count_numbers(arrays))
    except UnknownFamilyError as error:
        raise ValueError(f"{path} {error}") from None
    except NotFittedError:
        raise ValueError(f"{path} is damaged: it lacks parameters of the model.") from None
    except _DAMAGE as error:
        raise ValueError(f"{path} is damaged: {sentence(error)}") from None
    return estimator, command


def _command_section(header: dict[str, Any]) -> dict[str, Any]:
    """Return what the command remembers. Files of version 0.1 have it among the attributes_, from where it is taken."""
    early = {"source": "source_", "checkpoint": "checkpoint_"}
    section = {name: header["attributes"].pop(old) for name, old in early.items() if old in header["attributes"]}
    return header.get("command", section)


def _add_columns_of_command(header: dict[str, Any], command: Any) -> bool:
    """Take names and categories of columns from where the command had them in version 0.1; say if there were some.

    What is wrong there is left alone: the command says what.
    """
    source, attributes = command.get("source") if isinstance(command, dict) else None, header["attributes"]
    if not isinstance(source, dict) or {"feature_names_in_", "categories_"} & set(attributes):
        return False
    names, codes, width = source.get("names"), source.get("codes"), attributes.get("n_features_in_")
    if names is not None and (not _are_texts(names) or len(names) != width):
        return False
    if names is not None:
        attributes["feature_names_in_"] = {"strings": names}
    if not isinstance(codes, dict) or not all(map(_are_texts, codes.values())) or not isinstance(width, int):
        return False
    places = {str(place) for place in range(min(width, len(codes) and 1 << 20))}
    known = {label: found for label, found in codes.items() if label in (places if names is None else names)}
    if known:
        attributes["categories_"] = {"entries": known}
    return bool(known)


def _are_texts(value: Any) -> bool:
    """Whether these are texts, each of them once."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value) and len(set(value)) == len(value)


def _read_trees(estimator: Any, path: Path) -> None:
    """Set the attributes_ that are trees: their shapes follow from the parameters, and are compared before reading."""
    from safetensors import safe_open

    like = estimator._tree_shapes()
    with safe_open(path, framework="numpy") as file:
        expected = {tensor for name in estimator._trees for tensor in tensor_names(f"trees.{name}", like[name])}
        found = {name for name in file.keys() if name.startswith("trees.")}  # noqa: SIM118, it is not a dictionary
        if found != expected:
            raise ValueError("its networks are not those that its parameters describe.")
        for name in estimator._trees:
            setattr(estimator, name, read_tree(f"trees.{name}", like[name], file))


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
    if isinstance(value, dict):  # its keys may be any text, such as "tensor"
        return {"entries": value}
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
            if not isinstance(value["strings"], list) or not all(isinstance(word, str) for word in value["strings"]):
                raise ValueError(f"{name} is no list of words.")
            value = np.array(value["strings"], dtype=object)
        elif isinstance(value, dict) and isinstance(value.get("entries"), dict):
            value = value["entries"]
        found[name] = value
    return found
