"""Files of data that have gone wrong once: what they are, what is done with them, and what must come of it."""

import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fuzz import data_seeds

#: Returns a file that is whole, by its name.
Whole = Callable[[str], bytes]


class Case(NamedTuple):
    """A file: how its name ends, what is done with it, what makes it, and what it is made from.

    `expected` is the outcome: `refused`, `accepted`, or "" for either.
    """

    suffix: str
    use: str
    make: Callable[[Whole], bytes]
    expected: str = "refused"
    origin: str = "case"


def _text(suffix: str, data: bytes, expected: str = "refused", use: str = "read") -> Case:
    return Case(suffix, use, lambda whole: data, expected)


def _npy_header(shape: str, body: bytes = b"", kind: str = "'<f8'") -> bytes:
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + body


def _encrypted() -> bytes:
    changed = bytearray(data_seeds.npz())
    changed[6] |= 1
    changed[changed.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


def _strange_index() -> bytes:
    """Return an Arrow file whose words are places in a list that is shorter."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 7], pa.int32()), pa.array(["x", "y"]), safe=False)
    return data_seeds.arrow(pa.table({"w": column}))


def _strange_offsets() -> bytes:
    """Return an Arrow file whose words lie far behind its end."""
    entries = ["one", "three", "eleven"]
    data = data_seeds.arrow(pa.table({"w": pa.array(entries)}))
    before = np.array([0, 3, 8, 14], np.int32).tobytes()
    assert data.count(before) == 1
    return data.replace(before, np.array([0, 3, 2**30, 2**30 + 6], np.int32).tobytes())


def _fewer_than_no_rows() -> bytes:
    """Return a Parquet file that says that it has −48 rows."""
    data, said = data_seeds.parquet(data_seeds.plain_table(), "none"), b"\x16\x60\x19"  # 48, as Thrift packs it
    assert data.count(said) == 1
    return data.replace(said, b"\x16\x5f\x19")


def _views() -> bytes:
    """Return an Arrow file of words as polars writes them: a dictionary of views."""
    return data_seeds.arrow(data_seeds.views_table())


def _wide_csv(twice: bool) -> bytes:
    names = [f"c{place}" for place in range(45_000)]
    if twice:
        names[-1] = names[-2]
    return "\n".join([",".join(names), *[",".join(["1.5"] * len(names))] * 5, ""]).encode()


def _large(value: str) -> bytes:
    return f"a,b\n0,1\n1,0\n1,{value}\n2,1\n".encode()


_PLANT = "time,temperature,status\n" + "".join(
    f"2026-01-01 00:{m:02}:00,{20 + m % 3},{'run' if m % 2 else 'idle'}\n" for m in range(40)
)

DATA_CASES: dict[str, Case] = {
    "null begins a block": _text("jsonl", b'null\n{"a":1}\n{"a":2}\n'),
    "null and a brace begin a block": _text("jsonl", b'null}\n{"a":1}\n{"a":2}\n'),
    "null in the middle": _text("jsonl", b'{"a":1}\nnull\n{"a":2}\n'),
    "a number is a line": _text("jsonl", b'{"a":1}\n5\n{"a":2}\n'),
    "JSON in Latin-1": _text("jsonl", b'{"a":1}\n{"a":"h\xf6he"}\n{"a":2}\n'),
    "JSON with a surrogate as key": _text("jsonl", b'{"\\ud800":1}\n{"\\ud800":2}\n'),
    "a JSON array": _text("jsonl", b'[{"a":1},\n{"a":2}]\n'),
    "Arrow: words far behind the end": _text("arrow", _strange_offsets()),
    "Arrow: a place that no list has": _text("arrow", _strange_index()),
    "Arrow: a place that no list has, in memory": _text("arrow", _strange_index(), use="read table"),
    "Parquet: fewer than no rows": _text("parquet", _fewer_than_no_rows()),
    "Arrow: words as polars writes them": _text("arrow", _views(), "accepted"),
    "NPY: no rows of a trillion columns": _text("npy", _npy_header("(0, 1000000000000)")),
    "NPY: a row of many columns that are not there": _text("npy", _npy_header("(1, 100000000000)")),
    "NPY: the header does not end": _text("npy", _npy_header("(2, 3", bytes(48))),
    "NPY: a header that is very long": _text("npy", _npy_header("(2, 3), " + "9" * 5000, bytes(48))),
    "NPY: code in the header": _text("npy", _npy_header("(2, 3)", bytes(48), "__import__('os').abort()")),
    "NPY: two rows, wide": _text("npy", _npy_header("(2, 300000)", bytes(4_800_000)), "accepted"),
    "NPZ: no rows of a trillion columns": _text("npz", data_seeds.npz("X.npy", _npy_header("(0, 1000000000000)"))),
    "NPZ: a row of many columns that are not there": _text(
        "npz", data_seeds.npz("X.npy", _npy_header("(1, 100000000000)"))
    ),
    "NPZ: a negative number of rows": _text("npz", data_seeds.npz("X.npy", _npy_header("(-1, 3)", bytes(24)))),
    "NPZ: a member of another name": _text("npz", data_seeds.npz("X"), ""),
    "NPZ: encrypted": _text("npz", _encrypted()),
    "NPZ: the header does not end": _text("npz", data_seeds.npz("X.npy", _npy_header("(2, 3", bytes(48)))),
    "CSV: many columns": _text("csv", _wide_csv(False), "accepted"),
    "CSV: many columns, one name twice": _text("csv", _wide_csv(True)),
    "CSV: a quote is not closed": _text("csv", b'a,w\n1,"x\n2,y\n3,z\n'),
    "CSV: decimal commas": _text("csv", b'a,b\n"1,5",2\n"2,5",3\n"3,5",4\n'),
    "CSV: thousands": _text("csv", b'a,b\n"1,000",2\n"2,000",3\n"3,000",4\n'),
    "CSV: names in Latin-1": _text("csv", b"h\xf6he,b\n1,2\n3,4\n"),
    "CSV: lines end as they did on old machines": _text("csv", b"a,b\r1,2\r3,4\r"),
    "CSV: it is compressed": _text("csv", data_seeds.gz(b"a,b\n1,2\n3,4\n")),
    "CSV: dates": _text("csv", _PLANT.encode(), "refused", "fit gaussian-mixture"),
    "CSV: words, to a Gaussian": _text(
        "csv", b"x,w\n1,red\n2,blue\n" * 1 + b"3,red\n4,blue\n" * 9, "refused", "fit gaussian-mixture"
    ),
    "CSV: from a named pipe": _text("csv", data_seeds.csv(), "accepted", "read named"),
    "JSON lines: from a named pipe": _text("jsonl", data_seeds.jsonl(), "accepted", "read named"),
    "CSV: compressed by zstd": _text("csv.zst", data_seeds.zst(data_seeds.mixed_csv()), "accepted"),
    "a large population where all is the same": _text("run", b"", "accepted", "plateau"),
    "a category of 10⁹": _text("csv", _large("1000000000"), "refused", "fit categorical-mixture"),
    "a category of 10¹⁹": _text("csv", _large("1e19"), "refused", "fit categorical-mixture"),
    "points at 10³⁰⁰": _text("csv", b"a,b,c\n" + b"1e300,1e300,1e300\n" * 8, "refused", "fit factor-analysis"),
}
