"""Models and checkpoints that have gone wrong once, or must go right."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz import tensors
from fuzz.cases import DATA_CASES, Case, Whole

DIAGONAL, WORDS = "model gaussian-mixture diag", "model mixture mixed"


def _as_it_is(origin: str, use: str) -> Case:
    return Case(_suffix(origin), use, lambda whole: whole(origin), "accepted", origin)


def _suffix(origin: str) -> str:
    return {"checkpoint": "ckpt", "search": "run"}.get(origin.partition(" ")[0], "safetensors")


def _header(origin: str, use: str, path: str, change: Callable[[Any, Any], None], expected: str = "refused") -> Case:
    """Return a file whose header is changed at a place: a path of keys with dots between them."""

    def make(whole: Whole) -> bytes:
        table, held, body = tensors.parts(whole(origin))
        node, keys = held["header"], [int(key) if key.isdigit() else key for key in path.split(".")]
        for key in keys[:-1]:
            node = node[key]
        change(node, keys[-1])
        return tensors.written(table, held, body)

    return Case(_suffix(origin), use, make, expected, origin)


def _told(value: Any) -> Callable[[Any, Any], None]:
    """Return what says something else at a place."""
    return lambda node, key: node.__setitem__(key, value)


def _left_out(node: Any, key: Any) -> None:
    del node[key]


def _progress(name: str, path: str, value: Any) -> Case:
    """Return a checkpoint that says another progress."""
    return _header(f"checkpoint {name}", f"resume {name}", f"command.checkpoint.progress.{path}", _told(value))


def _tensor(origin: str, name: str, array: np.ndarray) -> Case:
    """Return a model with another array in it."""

    def make(whole: Whole) -> bytes:
        table, held, body = tensors.parts(whole(origin))
        kinds = {"float64": "F64", "int64": "I64"}
        after, bodies, place = {}, [], 0
        for each, told in table.items():
            own = body[slice(*told["data_offsets"])]
            if each == name:
                own, told = array.tobytes(), {"dtype": kinds[array.dtype.name], "shape": list(array.shape)}
            after[each] = {**told, "data_offsets": [place, place + len(own)]}
            bodies.append(own)
            place += len(own)
        assert name in after, list(after)
        return tensors.written(after, held, b"".join(bodies))

    return Case("safetensors", "ask", make, "refused", origin)


MODEL_CASES: dict[str, Case] = {
    "source is a number": _header(DIAGONAL, "inspect", "command.source", _told(5)),
    "source is a list": _header(DIAGONAL, "score", "command.source", _told([1])),
    "names are numbers": _header(DIAGONAL, "inspect", "attributes.feature_names_in_.strings", _told([1, 2, 3])),
    "words are no list": _header(WORDS, "inspect", "attributes.categories_.entries.w", _told(7)),
    "a bound that is a word": _header(DIAGONAL, "inspect", "attributes.lower_bound_", _told("x")),
    "nobody counted the points": _header(DIAGONAL, "learn", "attributes.n_points_seen_", _left_out, ""),
    "names that write to the terminal": _header(
        DIAGONAL, "inspect", "attributes.feature_names_in_.strings.0", _told("\x1b]0;p\a"), ""
    ),
    "a parameter that is very long": _header(DIAGONAL, "ask", "parameters.covariance_type", _told("x" * 100_000)),
    "a noise of 100,000 numbers": _tensor("model probabilistic-pca", "attributes.noise_variance_", np.ones(100_000)),
    "fewer than not categories": _tensor(
        "model categorical-mixture", "attributes.n_categories_", np.array([-(2**63)] * 3)
    ),
    "concentrations next to 0": _tensor("model compound-dirichlet", "attributes.concentration_", np.full(4, 5e-324)),
    "nobody counted the columns": _header(DIAGONAL, "learn", "attributes.n_features_in_", _left_out),
    "fewer points than its curve has": _header(DIAGONAL, "learn", "attributes.n_points_seen_", _told(1.0)),
    "more categories than the model has": _header(
        "model categorical-mixture", "fit anew", "parameters.n_categories", _told(10**8)
    ),
    "a pass that never was": _progress("online", "epoch", 10**9),
    "less than no rows": _progress("online", "rows", -1),
    "a row that is a word": _progress("online", "position.row", "x"),
    "a byte that is a list": _progress("online", "position.byte", [1]),
    "a row before the first": _progress("shuffled", "position.first", -5),
    "a file that never was": _progress("arrow", "position.file", 2**31),
    "a rule that is very long": _header("search real", "search real", "stopped", _told("y" * 5000)),
    "what is saved twice": _as_it_is(DIAGONAL, "save"),
    "a checkpoint as it is": _as_it_is("checkpoint online", "resume online"),
    "a checkpoint of a shuffle as it is": _as_it_is("checkpoint shuffled", "resume shuffled"),
}
CASES = DATA_CASES | MODEL_CASES
NAMES = list(CASES)
