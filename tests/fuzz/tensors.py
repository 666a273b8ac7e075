"""Files of tensors with a JSON header, taken apart, changed where it may hurt, and put together again."""

import json
import random
import struct
from typing import Any

from fuzz.odd import DOUBLES, ESCAPES, INTEGERS, TEXTS

#: What a header may say instead.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 2**31, -(2**31), 2**53, 2**63, 2**64, 10**13, 10**9, 1e308, -1e308, 5e-324, 0.5,
    "", "x", "0", "\x1b]0;p\a", "a\nb", "é" * 300, "y" * 5000, [], {}, [1], ["x"], [[1]], [None], {"a": 1}, [[]],
    {"tensor": "attributes.means_"}, {"strings": [1]}, {"strings": "x"}, {"strings": []}, [1.5, 2.5],
    [-1, 0], ["a", "a"],
)  # fmt: skip
#: What may be said where an array of numbers belongs.
_ARRAYS: tuple[Any, ...] = (
    {}, {"a": 1}, {"x": [1]}, {"strings": ["x"]}, ["x"], [None], [[1], [1, 2]], [1.0, 1.0], 2**64, -1,
)  # fmt: skip
#: Values of every type.
_TYPED: tuple[Any, ...] = ({}, {"a": 1}, {"x": [1]}, [], [1], ["x"], "x", None, True, 0.5)
#: What may be said of how many there are: enough to be noticed, and more than there is memory for.
_SIZES = (0, 1, 100, 1000, 10**4, 2 * 10**4, 10**6, 10**7, 5 * 10**7, 10**8, 10**9)
_TYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "I8", "U8", "BOOL", "U64", "F8_E4M3", "X", "")
_SHAPES: tuple[Any, ...] = ([], [0], [1], [2], [-1], [10**13], [2**62, 4], [100000], [1, 1, 1, 1], "x", None, [1.5])
#: What tells of the data and the place in it is small, and is where most can go wrong.
_WEIGHTS = {"format": 0.3, "version": 0.2, "kind": 0.5, "parameters": 10, "attributes": 10, "command": 10}
_WEIGHTS |= {"source": 6, "checkpoint": 9, "progress": 6, "position": 4, "before": 3}
_WEIGHTS |= {"n_features_in_": 4, "n_points_seen_": 4, "n_batches_seen_": 12, "lower_bound_": 4, "lower_bounds_": 2}


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return the tensor table, the metadata with its `header` taken apart, and the bytes of the tensors."""
    (size,) = struct.unpack("<Q", data[:8])
    table = json.loads(data[8 : 8 + size])
    metadata = dict(sorted(table.pop("__metadata__").items()))
    return table, {**metadata, "header": json.loads(metadata["header"])}, data[8 + size :]


def written(table: dict[str, Any], held: dict[str, Any], body: bytes, metadata: Any = None) -> bytes:
    """Put a file together, always in the same order."""
    if metadata is None:
        metadata = {**held, "header": json.dumps(held["header"])}
    text = json.dumps({"__metadata__": metadata, **table}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def change(data: bytes, rng: random.Random) -> bytes:
    """Change one thing in a file that is whole."""
    table, held, body = parts(data)
    whats = {"entry": 5, "told": 12, "type": 10, "name": 2, "table": 2, "tensor": 2, "text": 1}
    what = rng.choices(list(whats), list(whats.values()))[0]
    if what in ("type", "name") and not {"parameters", "attributes"} <= set(held["header"]):
        what = "told"
    if what == "type":
        held = {**held, "header": _of_another_type(held["header"], rng)}
    elif what == "name":
        held = {**held, "header": _of_another_name(held["header"], rng)}
    elif what == "entry":
        body = _entry(table, body, rng)
    elif what == "tensor":
        table, body = _resized(table, body, rng)
    elif what == "table":
        table = _told_of_tensors(table, rng)
    elif what == "told":
        held = {**held, "header": _changed(held["header"], rng)}
    else:
        metadata = {**held, "header": _text(json.dumps(held["header"]), rng)}
        odd: Any = rng.choice((metadata, metadata, metadata, {"format": "kullback"}, {}, {"header": 5}, [], None, "x"))
        return written(table, held, body, odd if odd is not None else {"format": "x"})
    return written(table, held, body)


def _entry(table: dict[str, Any], body: bytes, rng: random.Random) -> bytes:
    """Put special numbers into one tensor: one entry, some, or all of them."""
    names = [name for name, told in table.items() if told["data_offsets"][1] - told["data_offsets"][0] >= 1]
    if not names:
        return body
    chosen = rng.choices(names, [_weight(name.rpartition(".")[2]) for name in names])[0]
    told = table[chosen]
    first, last = told["data_offsets"]
    if told["dtype"] == "F64":
        size, numbers = 8, [struct.pack("<d", x) for x in DOUBLES]
    elif chosen.endswith("n_categories_"):
        size, numbers = 8, [struct.pack("<q", x) for x in _SIZES]
    elif told["dtype"] in ("I64", "U64"):
        size, numbers = 8, [struct.pack("<Q", x % 2**64) for x in INTEGERS]
    elif told["dtype"] == "F32":
        size, numbers = 4, [struct.pack("<f", max(min(x, 3e38), -3e38) if abs(x) < 1e308 else 3e38) for x in DOUBLES]
    else:
        size, numbers = 1, [bytes([x]) for x in (0, 1, 2, 127, 128, 255)]
    places = range(first, last - size + 1, size)
    if not places:
        return body
    count = rng.choice((1, 1, 1, 2, len(places)))
    changed, same = bytearray(body), rng.choice(numbers)
    for place in rng.sample(places, min(count, len(places))):
        changed[place : place + size] = same if rng.random() < 0.7 else rng.choice(numbers)
    return bytes(changed)


def _resized(table: dict[str, Any], body: bytes, rng: random.Random) -> tuple[dict[str, Any], bytes]:
    """Give one tensor another shape, with as many bytes as it says: the file itself stays whole."""
    chosen = rng.choice(list(table))
    told = table[chosen]
    first, last = told["data_offsets"]
    content, count = body[first:last], max(_count(told["shape"]), 1)
    size = (last - first) // count or 1
    old = told["shape"]
    shape = rng.choice(([], [1], [0], [2, *old], old[::-1], [count], [side + 1 for side in old], [100_000]))
    needed = size * _count(shape)
    content = (content * (needed // max(len(content), 1) + 1))[:needed] if content else bytes(needed)
    after, place, bodies = {}, 0, []
    for name, each in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        own = content if name == chosen else body[slice(*each["data_offsets"])]
        after[name] = {
            **each,
            "shape": shape if name == chosen else each["shape"],
            "data_offsets": [place, place + len(own)],
        }
        bodies.append(own)
        place += len(own)
    return after, b"".join(bodies)


def _count(shape: list[int]) -> int:
    count = 1
    for side in shape:
        count *= side
    return count


def _told_of_tensors(table: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Say something else of one tensor."""
    table = {name: dict(told) for name, told in table.items()}
    name = rng.choice(list(table))
    what = rng.randrange(6)
    if what == 0:
        table[name]["dtype"] = rng.choice(_TYPES)
    elif what == 1:
        table[name]["shape"] = rng.choice(_SHAPES)
    elif what == 2:
        table[name]["data_offsets"] = [rng.choice((0, 8, -8, 2**63, 2**64 - 1, 16)), rng.choice((0, 8, 2**40, 2**63))]
    elif what == 3:
        del table[name]
    elif what == 4:
        table[rng.choice(("x", "attributes.x_", "parameters.n_components", "attributes.__class__"))] = table.pop(name)
    else:
        other = rng.choice(list(table))
        table[name], table[other] = table[other], table[name]
    return table


def _of_another_type(header: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Give one parameter or attribute of a model a value that may be of another type."""
    group = rng.choice(("parameters", "attributes"))
    names = list(header[group])
    chosen = rng.choices(names, [_weight(name) for name in names])[0]
    return {**header, group: {**header[group], chosen: rng.choice(_TYPED)}}


def _of_another_name(header: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Give one column of the data that a model knows a name that a terminal would obey."""
    command = header.get("command", {})
    source = command.get("source", {})
    names = list(source.get("names") or ["x"])
    names[rng.randrange(len(names))] = rng.choice(ESCAPES)
    return {**header, "command": {**command, "source": {**source, "names": names}}}


def _changed(tree: Any, rng: random.Random) -> Any:
    """Change one node of a tree of JSON: those near the root are as likely as all below them."""
    keys: list[Any] = list(tree) if isinstance(tree, dict) else list(range(len(tree))) if isinstance(tree, list) else []
    if not keys:
        return _other(tree, rng)
    new: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    key = rng.choices(keys, [_weight(key) for key in keys])[0]
    if isinstance(new[key], (dict, list)) and new[key] and rng.random() < 0.88:
        new[key] = _changed(new[key], rng)
        return new
    what = rng.random()
    if what < 0.12:
        del new[key]
    elif what < 0.18 and isinstance(new, dict):
        new[rng.choice(("x", "n_components", "x_", "_x", "__class__", "save", "source_", "checkpoint_"))] = new[key]
    elif what < 0.24:
        other = rng.choice(keys)
        new[key], new[other] = new[other], new[key]
    elif str(key).startswith("n_") and type(new[key]) is int and rng.random() < 0.4:
        new[key] = rng.choice(_SIZES)
    elif _is_array(key) and rng.random() < 0.85:
        new[key] = rng.choice(_ARRAYS)
    else:
        new[key] = _other(new[key], rng)
    return new


def _is_array(key: Any) -> bool:
    """Whether numbers of any shape may stand here: where a model begins, and what is known of it before."""
    return isinstance(key, str) and key.endswith(("_prior", "_init", "n_categories")) and key != "n_init"


def _weight(key: Any) -> float:
    """Return how often a part of a header is changed, or a tensor."""
    if not isinstance(key, str):
        return 1
    return _WEIGHTS.get(key, 15 if _is_array(key) else 3 if key == "n_categories_" else 1)


def _other(value: Any, rng: random.Random) -> Any:
    """Return another value, often of the same type."""
    what = rng.random()
    if isinstance(value, bool) and what < 0.3:
        return not value
    if isinstance(value, int) and what < 0.5:
        return rng.choice((value + 1, value - 1, -value, value * 2, value + 0.5, str(value), *INTEGERS))
    if isinstance(value, float) and what < 0.5:
        return rng.choice((value + 1, -value, str(value), *DOUBLES))
    if isinstance(value, str) and what < 0.5:
        return rng.choice((value + "x", value[:-1], value.upper(), *TEXTS))
    return rng.choice(VALUES)


def _text(text: str, rng: random.Random) -> str:
    """Damage JSON as text."""
    place = rng.randrange(len(text))
    what = rng.randrange(5)
    if what == 0:
        return text[:place]
    if what == 1:
        odd = rng.choice(("NaN", "Infinity", '"', "{", "[" * 20_000, ",", "\\ud800", "1e999"))
        return text[:place] + odd + text[place:]
    if what == 2:
        return "[" * 100_000 + text
    if what == 3:
        return text[:place] + text[place + rng.randrange(1, 20) :]
    old, new = rng.choice(("0", "1", "true", "null", '"', ":")), rng.choice(("2", "null", "9" * 400, "NaN"))
    return text.replace(old, new, 1)
