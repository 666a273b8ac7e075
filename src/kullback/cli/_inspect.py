"""kullback inspect."""

import json
from typing import Any

from kullback.cli._arguments import Json, Model

#: Entries of a list that are shown.
_SOME = 10


def inspect(model: Model, as_json: Json = False) -> None:
    """Print what a model file contains.

    The kind, the version that wrote it, how many rows it was fitted to, columns, parameters and attributes; of linear
    models of a target also the coefficients. Long lists are cut; --json has them whole.
    """
    from safetensors import safe_open

    from kullback.cli._messages import as_json_value, print_answer, write_json
    from kullback.cli._saved_model import SavedModel

    saved = SavedModel.load(model)
    estimator = saved.estimator
    with safe_open(model, framework="numpy") as file:
        version = json.loads(file.metadata()["header"]).get("version")
    public = {name: value for name, value in vars(estimator).items() if name[0] != "_" and name[-1] == "_"}
    attributes = {name: _as_attribute(value) for name, value in public.items()}
    facts: dict[str, Any] = {
        "kind": saved.kind,
        "version": version,
        "points_seen": attributes.get("n_points_seen_"),
        "batches_seen": attributes.get("n_batches_seen_"),
        "columns": saved.names,
        "targets": list(saved.roles.targets) or None,
        "words": saved.codes,
        "checkpoint": saved.checkpoint,
        "parameters": {name: as_json_value(value) for name, value in estimator.get_params(deep=False).items()},
        "attributes": attributes,
    }
    coefficients = _coefficients(saved)
    if coefficients is not None:
        facts["coefficients"] = coefficients
    if as_json:
        write_json(facts)
        return
    for name in ("kind", "version", "points_seen", "batches_seen", "columns", "targets"):
        value = facts[name]
        _line(name.replace("_", " "), _cut(value) if isinstance(value, list) else value)
    for name, words in saved.codes.items():
        _line(f"words of {name}", _cut(words))
    if saved.checkpoint:
        progress = saved.checkpoint["progress"]
        _line("checkpoint", f"{progress['rows']:,} rows, {'done' if progress['done'] else 'not done'}")
    print_answer("parameters")
    for name, value in facts["parameters"].items():
        _line(f"  {name}", f"[{_cut(value)}]" if isinstance(value, list) else value)
    print_answer("attributes")
    for name, value in attributes.items():
        _line(f"  {name}", _summarize(value))
    if coefficients is not None:
        print_answer("coefficients")
        _line("", "  ".join(f"{name:>12}" for name in coefficients["of"]))
        for name, row in zip(coefficients["columns"], coefficients["values"], strict=True):
            _line(f"  {name}", "  ".join(f"{value:>12.6g}" for value in row))


def _coefficients(saved: Any) -> dict[str, Any] | None:
    """Return the coefficients of a linear model of targets: a row for each column, in the units of the data."""
    import numpy as np

    from kullback.estimators import coordinate_names

    estimator = saved.estimator
    if not saved.has_targets or estimator.method != "linear":
        return None
    if saved.names is not None:
        estimator.feature_names_in_ = np.array(saved.names, dtype=object)
    targets = set(map(str, saved.roles.targets))
    estimator.categories_ = {label: words for label, words in saved.codes.items() if label not in targets}
    if saved.kind == "Classifier":
        classes = [str(each) for each in estimator.classes_.tolist()]
        of, table = classes[-len(estimator.coef_) :], np.column_stack([estimator.intercept_, estimator.coef_])
    else:
        table = estimator.free_coefficients_
        names = list(map(str, saved.roles.targets))
        of = coordinate_names(estimator.to_model().kind, names if len(names) > 1 else [""])
    return {"of": of, "columns": ["(intercept)", *estimator.design_names_], "values": table.T.tolist()}


def _cut(entries: list[Any]) -> str:
    """Return the first entries of a list, and how many more there are."""
    more = f", … ({len(entries) - _SOME:,} more)" if len(entries) > _SOME else ""
    return ", ".join(str(entry) for entry in entries[:_SOME]) + more


def _as_attribute(value: Any) -> Any:
    """Return an attribute_ as JSON can hold it; of networks how many numbers they have."""
    import jax
    import numpy as np

    from kullback.cli._messages import as_json_value

    if value is None or isinstance(value, bool | int | float | str | list | dict | np.ndarray | np.generic):
        return as_json_value(value)
    arrays = [leaf for leaf in jax.tree.leaves(value) if isinstance(leaf, np.ndarray | np.generic)]
    return {"arrays": len(arrays), "numbers": sum(array.size for array in arrays)}


def _summarize(value: Any) -> Any:
    """Return an attribute_ as it is read: arrays with their shape."""
    import numpy as np

    if isinstance(value, dict) and set(value) == {"arrays", "numbers"}:
        return f"{value['arrays']:,} arrays, {value['numbers']:,} numbers"
    if isinstance(value, dict):
        return ", ".join(value)
    if not isinstance(value, list):
        return value
    if any(isinstance(entry, str) for entry in value):
        return _cut(value)
    array = np.asarray(value)
    shown = np.array2string(array, precision=4, separator=", ", threshold=30).replace("\n", " ")
    return f"{array.shape} {shown}"


def _line(name: str, value: Any) -> None:
    from kullback.cli._messages import print_answer

    if value is not None:
        seen = isinstance(value, float) and "seen" in name
        print_answer(f"{name:<24} {value:,.0f}" if seen else f"{name:<24} {value}")
