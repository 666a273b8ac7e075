"""kullback inspect."""

import json
from typing import Any

from kullback.cli._arguments import Json, Model

#: Entries of a list that are shown.
_SOME = 10


def inspect(model: Model, as_json: Json = False) -> None:
    """Say what a model file holds.

    The kind, the parameters, how much data is behind it, and the version that wrote it. Long lists are cut; --json has
    them whole.
    """
    from safetensors import safe_open

    from kullback.cli._held import Held
    from kullback.cli._progress import write_json
    from kullback.cli._say import answer

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
        write_json(told)
        return
    for name in ("kind", "version", "points_seen", "batches_seen", "columns"):
        value = told[name]
        _line(name.replace("_", " "), _cut(value) if isinstance(value, list) else value)
    for name, words in held.codes.items():
        _line(f"words of {name}", _cut(words))
    if told["checkpoint"]:
        place = told["checkpoint"]["place"]
        _line("checkpoint", f"{place['rows']:,} rows, {'done' if place['done'] else 'not done'}")
    answer("parameters")
    for name, value in told["parameters"].items():
        _line(f"  {name}", f"[{_cut(value)}]" if isinstance(value, list) else value)
    answer("attributes")
    for name, value in attributes.items():
        _line(f"  {name}", _shown(value))


def _is_attribute(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_") and name not in ("source_", "checkpoint_")


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _cut(entries: list[Any]) -> str:
    """Return the first entries of a list, and how many more there are."""
    more = f", … ({len(entries) - _SOME:,} more)" if len(entries) > _SOME else ""
    return ", ".join(str(entry) for entry in entries[:_SOME]) + more


def _shown(value: Any) -> Any:
    """Return an attribute_ as it is read: arrays with their shape."""
    import numpy as np

    if not isinstance(value, list):
        return value
    if any(isinstance(entry, str) for entry in value):
        return _cut(value)
    array = np.asarray(value)
    shown = np.array2string(array, precision=4, separator=", ", threshold=30).replace("\n", " ")
    return f"{array.shape} {shown}"


def _line(name: str, value: Any) -> None:
    from kullback.cli._say import answer

    if value is not None:
        seen = isinstance(value, float) and "seen" in name
        answer(f"{name:<24} {value:,.0f}" if seen else f"{name:<24} {value}")
