"""Dask arrays and frames, block by block."""

import itertools

import numpy as np
import pytest

from kullback.sources import open_source
from sources.writing import NAMES, as_table, rows

X = rows()


def resumed_everywhere(data, size):
    source = open_source(data, batch_rows=size)
    steps = [(batch, source.position) for batch in source]
    assert np.array_equal(np.concatenate([batch for batch, _ in steps]), X, equal_nan=True)
    assert [len(batch) for batch, _ in steps] == [min(size, len(X) - start) for start in range(0, len(X), size)]
    for _, position in itertools.islice(steps, 0, len(steps) - 1, 2):
        again = open_source(data, batch_rows=len(X))
        again.resume(position)
        assert np.array_equal(next(iter(again)), X[position["done"] :], equal_nan=True)
    return source


def test_array():
    array = pytest.importorskip("dask.array").from_array(X, chunks=(83, 2))
    assert resumed_everywhere(array, 50).rows == 501


def test_frame():
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(as_table(X).to_pandas(), npartitions=4)
    source = resumed_everywhere(frame, 50)
    assert source.names == NAMES
    assert source.rows is None
