"""Files of estimators in which one thing was changed, and what may come of them."""

import contextlib
import copy
import json
import warnings

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import kullback
from kullback.report import write_report

#: What stands in the place of what belongs there: of another type, of another size, or none at all.
WRONG = [
    None, True, 5, -1, 1.5, 10**400, "x", "", "\x1b[31m" * 50_000, [], [1, 2], ["a"], [[1], [2, 3]], [None], {},
    {"a": 1}, {"strings": ["a"]}, {"strings": 5}, float("inf"), {"names": 5}, {"names": [1, 2]},
    {"names": ["a", "a"]},
    {"codes": {"c0": 5}}, {"codes": {"c0": [1]}}, {"codes": ["c0"]}, {"names": None, "codes": {"zzz": ["a"]}},
    {"sequence": []}, {"inputs": "c0"}, {"command": {}, "place": {}},
    {"command": {}, "place": {"rows": "x", "done": 1}},
]  # fmt: skip
#: The same for arrays.
WRONG_ARRAYS = [
    np.zeros(0), np.zeros(()), np.zeros(100_000), np.full(1, -1.0), np.full((1, 1, 1, 1), 0.5), np.array([True]),
    np.full(2, 1e308), np.full((2, 2), -1), np.full(3, 10**12), np.zeros((100_000, 1)), np.zeros((1, 100_000)),
]  # fmt: skip


def opened(path):
    """Return the header of a file, and its arrays."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["header"]), load_file(path)


def changed(header, group, key, value):
    """Return a header with one value changed."""
    header = copy.deepcopy(header)
    header[group][key] = value
    return header


def without(header, arrays, group, key):
    """Return a header and arrays that lack something."""
    header = copy.deepcopy(header)
    del header[group][key]
    return header, {name: array for name, array in arrays.items() if name != f"{group}.{key}"}


def write(path, header, arrays):
    """Write a file as the library would; arrays that the header does not name are left out."""
    groups = {group: header[group] for group in ("parameters", "attributes") if isinstance(header[group], dict)}
    named = {
        f"{group}.{name}"
        for group, told in groups.items()
        for name, value in told.items()
        if isinstance(value, dict) and "tensor" in value
    }
    kept = {name: array for name, array in arrays.items() if name in named or name.startswith("trees.")}
    save_file(kept, path, {"header": json.dumps(header)})


def variants(header, arrays):
    """Yield files with one thing changed: what it is, the header, the arrays."""
    for group in ("parameters", "attributes"):
        for key, told in header[group].items():
            yield (f"no {key}", *without(header, arrays, group, key))
            for place, value in enumerate(WRONG):
                yield f"{key} {place}", changed(header, group, key, value), arrays
            if isinstance(told, dict) and "tensor" in told:
                like = arrays[f"{group}.{key}"]
                turned = ~like if like.dtype == bool else -like
                for place, wrong in enumerate([*WRONG_ARRAYS, turned, like[..., None], like.astype(np.int8)]):
                    wrong = np.ascontiguousarray(wrong).reshape(np.shape(wrong))
                    yield f"{key} array {place}", header, {**arrays, f"{group}.{key}": wrong}
    for key in ("feature_names_in_", "waiting_inputs_", "family_"):
        if key not in header["attributes"]:
            for place, value in enumerate(WRONG):
                yield f"new {key} {place}", changed(header, "attributes", key, value), arrays
    for key in ("kind", "version", "parameters", "attributes"):
        for place, value in enumerate(WRONG):
            yield f"header {key} {place}", {**header, key: value}, arrays


def refusal(path):
    """Return the sentence with which a file is refused, or None. Other errors than refusals are raised."""
    try:
        kullback.load(path)
    except ValueError as error:
        return str(error).removeprefix(str(path))
    return None


#: What a page shows besides the model itself.
SHOWN = ("feature_names_in_", "learning_curve_", "lower_bound", "n_points_seen_", "n_iter_", "converged_")


def ask(path, X, page=None):
    """Ask a model all there is to ask; no answer is NaN or infinite, every error is a refusal."""
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        estimator = kullback.load(path)
        assert estimator.score(X) < np.inf, "score"  # less than any number where rows are impossible, and never NaN
        drawn = estimator.sample(4)
        drawn = drawn[0] if isinstance(drawn, tuple) else drawn
        assert np.isfinite(np.asarray(drawn, float)).all(), "sample"
        if page is not None:
            write_report(estimator, page, X)
        estimator.partial_fit(X)
        assert estimator.score(X) < np.inf, "score after partial_fit"
