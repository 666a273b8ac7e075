"""Whole files of data in every format: a few rows of numbers, of words and numbers, and of categories."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 48
NAMES = ["a", "b", "c"]
WORDS = ["red", "green", "blue", "ünder"]


def numbers() -> np.ndarray:
    """Two clouds of points, some entries missing."""
    rng = np.random.default_rng(1)
    X = rng.normal(np.where(rng.random((ROWS, 1)) < 0.5, -3, 3), 1, (ROWS, 3)).round(3)
    X[rng.random(X.shape) < 0.04] = np.nan
    return X


def categories() -> np.ndarray:
    """Whole numbers from 0 to 3."""
    return np.random.default_rng(2).integers(0, 4, (ROWS, 3)).astype(float)


def words() -> list[str]:
    """A word for each row."""
    return np.random.default_rng(3).choice(WORDS, ROWS).tolist()


def plain_table() -> pa.Table:
    """The numbers as doubles, floats and integers of several sizes."""
    X = numbers()
    counts = categories()[:, 0].astype(int)
    return pa.table(
        {
            "a": pa.array(X[:, 0], from_pandas=True),
            "b": pa.array(X[:, 1], pa.float32(), from_pandas=True),
            "c": pa.array(counts, pa.int64()),
        }
    )


def mixed_table(dictionary: bool = False) -> pa.Table:
    """Numbers, words and truths."""
    entries = pa.array([None if row % 11 == 5 else word for row, word in enumerate(words())])
    return pa.table(
        {
            "a": pa.array(numbers()[:, 0], from_pandas=True),
            "w": entries.dictionary_encode() if dictionary else entries,
            "t": pa.array(categories()[:, 0] > 1),
        }
    )


def codes_table() -> pa.Table:
    """Categories as whole numbers."""
    return pa.table(dict(zip(NAMES, categories().astype(np.int64).T, strict=True)))


def views_table() -> pa.Table:
    """Words in a dictionary of views, as polars writes them."""
    known = pa.array(WORDS).cast(pa.string_view())
    places = pa.array([WORDS.index(word) for word in words()], pa.uint32())
    return pa.table({"a": numbers()[:, 0], "w": pa.DictionaryArray.from_arrays(places, known)})


def odd_table() -> pa.Table:
    """Columns of types that are seldom used."""
    counts = categories()[:, 0].astype(int)
    return pa.table(
        {
            "h": pa.array(numbers()[:, 0].astype(np.float16)),
            "n": pa.nulls(ROWS),
            "d": pa.array(counts).cast(pa.decimal128(21, 2)),
            "k": pa.array(counts, pa.uint8()).dictionary_encode(),
            "w": pa.array(words(), pa.large_string()),
            "t": pa.array(counts > 1),
        }
    )


def csv(separator: str = ",") -> bytes:
    """Numbers with a header."""
    lines = [separator.join("" if np.isnan(x) else repr(float(x)) for x in row) for row in numbers()]
    return "\n".join([separator.join(NAMES), *lines, ""]).encode()


def mixed_csv() -> bytes:
    """Numbers, words, some in quotes, and truths."""
    rows = zip(numbers()[:, 0], words(), categories()[:, 0] > 1, strict=True)
    lines = [
        f"{'' if np.isnan(x) else float(x)}," + (f'"{word}"' if place % 5 == 0 else word) + f",{str(truth).lower()}"
        for place, (x, word, truth) in enumerate(rows)
    ]
    return "\n".join(["a,w,t", *lines, ""]).encode()


def codes_csv() -> bytes:
    """Categories as whole numbers."""
    return "\n".join(["a,b,c", *(",".join(str(int(x)) for x in row) for row in categories()), ""]).encode()


def jsonl() -> bytes:
    """Objects of numbers; what is missing is null or not there."""
    lines = [
        json.dumps({name: float(x) for name, x in zip(NAMES, row, strict=True) if not np.isnan(x) or name == "a"})
        for row in numbers()
    ]
    return "\n".join([*lines, ""]).replace("NaN", "null").encode()


def mixed_jsonl() -> bytes:
    """Objects of a number, a word and a truth."""
    rows = zip(numbers()[:, 1], words(), categories()[:, 0] > 1, strict=True)
    lines = [json.dumps({"a": None if np.isnan(x) else x, "w": w, "t": bool(t)}) for x, w, t in rows]
    return "\n".join([*lines, ""]).encode()


def npy(array: np.ndarray) -> bytes:
    """Return an array as NumPy writes it."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def npz(member: str = "X.npy", content: bytes | None = None, deflated: bool = False) -> bytes:
    """Return an archive of one array, always with the same time in it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(member), npy(numbers()) if content is None else content, archive.compression)
    return stream.getvalue()


def arrow(table: pa.Table, stream: bool = False, compression: str | None = None) -> bytes:
    """Return a table as an Arrow file or stream of several batches."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=20)
    return sink.getvalue()


def parquet(table: pa.Table, codec: str, dictionary: bool = True) -> bytes:
    """Return a table as a Parquet file of several row groups."""
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=20, compression=codec, use_dictionary=dictionary)
    return sink.getvalue()


def zst(data: bytes) -> bytes:
    """Compress as zstd does."""
    return pa.compress(data, codec="zstd", asbytes=True)


def gz(data: bytes) -> bytes:
    """Compress as gzip does, always with the same time in it."""
    return gzip.compress(data, mtime=0)


#: Name of a seed: suffix of its file, and what makes it. What is fitted to it is in `uses`.
DATA: dict[str, tuple[str, Callable[[], bytes]]] = {
    "csv": ("csv", csv),
    "csv mixed": ("csv", mixed_csv),
    "csv codes": ("csv", codes_csv),
    "tsv": ("tsv", lambda: csv("\t")),
    "jsonl": ("jsonl", jsonl),
    "jsonl mixed": ("jsonl", mixed_jsonl),
    "csv.gz": ("csv.gz", lambda: gz(mixed_csv())),
    "jsonl.gz": ("jsonl.gz", lambda: gz(jsonl())),
    "csv.zst": ("csv.zst", lambda: zst(mixed_csv())),
    "jsonl.zst": ("jsonl.zst", lambda: zst(mixed_jsonl())),
    "npy": ("npy", lambda: npy(numbers())),
    "npy codes": ("npy", lambda: npy(categories().astype(np.int64))),
    "npy columns": ("npy", lambda: npy(np.asfortranarray(numbers()))),
    "npz stored": ("npz", npz),
    "npz deflated": ("npz", lambda: npz(deflated=True)),
    "parquet snappy": ("parquet", lambda: parquet(mixed_table(), "snappy")),
    "parquet plain": ("parquet", lambda: parquet(plain_table(), "none", dictionary=False)),
    "parquet zstd": ("parquet", lambda: parquet(mixed_table(dictionary=True), "zstd")),
    "parquet gzip": ("parquet", lambda: parquet(plain_table(), "gzip")),
    "parquet words": ("parquet", lambda: parquet(mixed_table(), "none", dictionary=False)),
    "arrow": ("arrow", lambda: arrow(plain_table())),
    "arrow words": ("arrow", lambda: arrow(mixed_table())),
    "arrow dictionary": ("arrow", lambda: arrow(mixed_table(dictionary=True))),
    "arrow stream": ("arrows", lambda: arrow(mixed_table(), stream=True)),
    "arrow stream dictionary": ("arrows", lambda: arrow(mixed_table(dictionary=True), stream=True)),
    "arrow codes": ("arrow", lambda: arrow(codes_table())),
    "arrow views": ("arrow", lambda: arrow(views_table())),
    "arrow types": ("arrow", lambda: arrow(odd_table())),
    "parquet types": ("parquet", lambda: parquet(odd_table(), "none")),
    "arrow lz4": ("feather", lambda: arrow(mixed_table(), compression="lz4")),
    "arrow zstd": ("arrow", lambda: arrow(mixed_table(dictionary=True), compression="zstd")),
}

#: Those with a column of words, `w`.
WORDY = frozenset(
    {
        "csv mixed", "jsonl mixed", "csv.gz", "csv.zst", "jsonl.zst", "parquet snappy", "parquet zstd", "parquet words",
        "arrow words", "arrow dictionary", "arrow stream", "arrow stream dictionary", "arrow lz4", "arrow zstd",
        "arrow types", "parquet types", "arrow views",
    }
)  # fmt: skip
