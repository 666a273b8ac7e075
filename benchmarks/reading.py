"""Reading: how much of the speed of `partial_fit` is left when its batches come from a file."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._timing import Figure, seconds
from benchmarks.online import from_mixture
from kullback import GaussianMixture
from kullback.sources import open_source

COLUMNS, COMPONENTS, BATCH, DISTINCT = 16, 10, 4_096, 24


def run(full: bool = False) -> Iterator[Figure]:
    """Compare rows per second from a Parquet file with rows per second from batches in memory."""
    rows, rounds = 10**7 if full else 10**6, 3 if full else 5
    X = from_mixture(np.random.default_rng(0), DISTINCT * BATCH, COLUMNS, COMPONENTS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        _write(path, X, rows)
        from_file, in_memory = [], []
        for _ in range(rounds):
            in_memory.append(seconds(lambda: _learn(_batches(X, rows))))
            from_file.append(seconds(lambda: _learn(open_source(path, batch_rows=BATCH))))
    ratio = statistics.median(a / b for a, b in zip(in_memory, from_file, strict=True))
    what = f"partial_fit from a Parquet file of {rows:,} × {COLUMNS}, {COMPONENTS} components"
    yield Figure(what, "of the rate in memory", ratio, 0.8, at_least=True)


def _learn(batches) -> None:
    mixture = GaussianMixture(COMPONENTS, random_state=0)
    for batch in batches:
        mixture.partial_fit(batch)


def _batches(X: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    """Yield what the file holds: the same rows again and again, so that they need little memory."""
    for start in range(0, rows, BATCH):
        place = start % len(X)
        yield X[place : place + min(BATCH, rows - start)]


def _write(path: Path, X: np.ndarray, rows: int) -> None:
    schema = pa.schema([(f"x{place}", pa.float64()) for place in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, len(X)):
            here = X[: rows - start]
            writer.write_table(pa.table([here[:, place] for place in range(COLUMNS)], schema=schema))
