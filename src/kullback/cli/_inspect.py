"""kullback inspect."""

import json
from typing import Any

from kullback.cli._arguments import Json, Model


def inspect(model: Model, as_json: Json = False) -> None:
    """Say what a model file holds.

    The kind, the parameters, how much data is behind it, and the version that wrote it.
    """
    import numpy as np
    from safetensors import safe_open

    from kullback.cli._held import Held

    held = Held.load(model)
    estimator = held.estimator
    with safe_open(model, framework="numpy") as file:
        header = json.loads(file.metadata()["header"])
    attributes = {name: _plain(value) for name, value in vars(estimator).items() if _is_attribute(name)}
    told: dict[str, Any] = {
        "kind": held.kind,
        "version": header.get("version"),
        "points_seen": getattr(estimator, "n_points_seen_", None),
        "batches_seen": getattr(estimator, "n_batches_seen_", None),
        "columns": held.names,
        "words": held.codes,
        "checkpoint": header["attributes"].get("checkpoint_"),
        "parameters": {name: _plain(value) for name, value in estimator.get_params(deep=False).items()},
        "attributes": attributes,
    }
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
        return
    for name in ("kind", "version", "points_seen", "batches_seen", "columns"):
        value = told[name]
        _line(name.replace("_", " "), ", ".join(value) if isinstance(value, list) else value)
    for name, words in held.codes.items():
        _line(f"words of {name}", ", ".join(words))
    if told["checkpoint"]:
        place = told["checkpoint"]["place"]
        _line("checkpoint", f"{place['rows']:,} rows, {'done' if place['done'] else 'not done'}")
    print("parameters")
    for name, value in told["parameters"].items():
        _line(f"  {name}", value)
    print("attributes")
    for name, value in attributes.items():
        array = np.asarray(value, dtype=object if value is None else None)
        shown = np.array2string(array, precision=4, separator=", ", threshold=30).replace("\n", " ")
        _line(f"  {name}", f"{array.shape} {shown}" if array.ndim else value)


def _is_attribute(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name not in ("source_", "checkpoint_")


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _line(name: str, value: Any) -> None:
    if value is not None:
        print(f"{name:<24} {value:,.0f}" if isinstance(value, float) and "seen" in name else f"{name:<24} {value}")
