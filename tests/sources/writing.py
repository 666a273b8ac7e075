"""The same rows in every format, in files of odd sizes."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ["a", "b", "c"]


def rows(count=501, seed=0):
    """Numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, len(NAMES))) * 10.0 ** rng.integers(-8, 8, size=(count, 1))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def as_table(X):
    return pa.table({name: pa.array(X[:, place], from_pandas=True) for place, name in enumerate(NAMES)})


def write_csv(path, X):
    path.write_bytes(csv_bytes(X))


def csv_bytes(X):
    lines = [",".join("NA" if np.isnan(value) else repr(float(value)) for value in row) for row in X]
    return "\n".join([",".join(NAMES), *lines, ""]).encode()


def jsonl_bytes(X):
    keep = [
        {name: float(value) for name, value in zip(NAMES, row, strict=True) if not np.isnan(value) or name == "a"}
        for row in X
    ]
    return "".join(json.dumps(row).replace("NaN", "null") + "\n" for row in keep).encode()


def write_arrow_stream(path, X):
    with pa.ipc.new_stream(path, as_table(X).schema) as writer:
        writer.write_table(as_table(X), max_chunksize=37)


def write_arrow(path, X, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(path, as_table(X).schema, options=options) as writer:
        writer.write_table(as_table(X), max_chunksize=37)


def zstd_bytes(text):
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as writer:
        writer.write(text)
    return packed.getvalue().to_pybytes()


#: Formats whose columns have no names.
NAMELESS = {"npy", "npz"}

#: Each writes a table to a path.
WRITERS = {
    "csv": write_csv,
    "csv.gz": lambda path, X: path.write_bytes(gzip.compress(csv_bytes(X))),
    "csv.zst": lambda path, X: path.write_bytes(zstd_bytes(csv_bytes(X))),
    "tsv": lambda path, X: path.write_bytes(csv_bytes(X).replace(b",", b"\t").replace(b"\n", b"\r\n")),
    "jsonl": lambda path, X: path.write_bytes(jsonl_bytes(X)),
    "jsonl.gz": lambda path, X: path.write_bytes(gzip.compress(jsonl_bytes(X))),
    "parquet": lambda path, X: pq.write_table(as_table(X), path, row_group_size=53),
    "feather": lambda path, X: write_arrow(path, X, "lz4"),
    "arrow": write_arrow,
    "arrows": write_arrow_stream,
    "npy": lambda path, X: np.save(path, X),
    "npz": lambda path, X: np.savez_compressed(path, X=X),
}
