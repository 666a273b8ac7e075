"""Named pipes and other files that are no files: streams, by whatever name."""

import contextlib
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from kullback.sources import is_stream, open_source
from sources.writing import csv_bytes, jsonl_bytes, rows

X = rows()


@contextlib.contextmanager
def written(path, data):
    """Make a named pipe that someone writes to."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    yield path
    writer.join()


@pytest.mark.parametrize(("name", "format"), [("x.csv", None), ("x", "csv"), ("x.ndjson", None), ("x.csv", "jsonl")])
def test_a_named_pipe_is_a_stream(tmp_path, name, format):
    text = jsonl_bytes(X) if "json" in f"{name}{format}" else csv_bytes(X)
    with written(tmp_path / name, text) as path:
        assert is_stream(path)
        source = open_source(path, format=format, batch_rows=100)
        assert np.array_equal(np.concatenate(list(source)), X, equal_nan=True)
        assert source.position["rows"] == len(X)
        assert source.rows is None
    with pytest.raises(ValueError, match="cannot be read again"):
        source.resume(source.position)


def test_what_cannot_be_a_stream(tmp_path):
    os.mkfifo(tmp_path / "x")
    os.mkfifo(tmp_path / "x.parquet")
    writers = [os.open(tmp_path / name, os.O_RDWR) for name in ("x", "x.parquet")]
    for name in ("x", "x.parquet"):
        with pytest.raises(ValueError, match=rf"{name} can only be read as csv, tsv or jsonl, so say which it is"):
            open_source(tmp_path / name)
    with pytest.raises(ValueError, match="is a stream: it can only be read alone"):
        open_source([tmp_path / "x", tmp_path / "x.parquet"], format="csv")
    for writer in writers:
        os.close(writer)
    assert [is_stream(data) for data in ("-", "/dev/null", tmp_path, tmp_path / "none", "\0", X)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("how", ["cat x.csv | {} /dev/stdin", "{} /dev/stdin < x.csv", "bash -c '{} <(cat x.csv)'"])
def test_standard_input_by_name_and_process_substitution(tmp_path, how):
    (tmp_path / "x.csv").write_bytes(csv_bytes(X))
    script = "import sys\nfrom kullback.sources import open_source\n"
    script += "print(sum(map(len, open_source(sys.argv[1], format='csv'))))"
    (tmp_path / "count.py").write_text(script)
    command = how.format(f"{sys.executable} count.py")
    ran = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout == f"{len(X)}\n", ran.stderr
