"""Reading ahead, standard input, memory, and interrupts."""

import gc
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kullback.sources import open_source
from sources.writing import WRITERS, csv_bytes, jsonl_bytes, rows
from tiers import slow

X = rows()


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "kullback-reader"]


@pytest.mark.slow
def test_no_thread_is_left(tmp_path):
    WRITERS["parquet"](tmp_path / "x.parquet", X)
    source = open_source(tmp_path / "x.parquet", batch_rows=10)
    iterator = iter(source)
    next(iterator)
    assert len(readers()) == 1
    iterator.close()
    assert readers() == []
    assert len(list(source)) == 50
    assert readers() == []
    for _ in source:
        pass
    with pytest.raises(ZeroDivisionError):
        [1 / 0 for _ in open_source(tmp_path / "x.parquet", batch_rows=10)]
    gc.collect()
    assert readers() == []


def test_the_position_is_that_of_what_was_handed_out(tmp_path):
    WRITERS["parquet"](tmp_path / "x.parquet", X)
    source = open_source(tmp_path / "x.parquet", batch_rows=10, ahead=5)
    for done, _ in enumerate(source, 1):
        time.sleep(0.001)
        assert source.position["done"] == min(10 * done, 501)


@pytest.mark.parametrize("ahead", [0, 1, 2, 50])
def test_what_raises_ahead_raises_in_its_place(ahead):
    def tables():
        yield X[:100]
        yield X[100:200]
        raise KeyError("lost")

    source, seen = open_source(tables(), batch_rows=30, ahead=ahead), []
    with pytest.raises(KeyError, match="lost"):
        seen.extend(source)
    assert np.array_equal(np.concatenate(seen), X[:180], equal_nan=True)
    with pytest.raises(KeyError, match="lost"):
        list(source)
    assert readers() == []


def test_no_more_is_read_ahead_than_was_asked_for():
    made = []

    def tables():
        for number in range(100):
            made.append(number)
            yield X[:10]

    iterator = iter(open_source(tables(), batch_rows=10, ahead=3))
    next(iterator)
    time.sleep(0.2)
    assert len(made) <= 6
    iterator.close()


def test_without_reading_ahead_there_is_no_thread():
    where = []

    def tables():
        for _ in range(3):
            where.append(threading.current_thread())
            yield X

    assert len(list(open_source(tables(), ahead=0))) == 1
    assert set(where) == {threading.main_thread()}


@pytest.mark.parametrize(("format", "text"), [("csv", csv_bytes(X)), ("jsonl", jsonl_bytes(X))])
def test_open_files(format, text):
    source = open_source(io.BytesIO(text), format=format, batch_rows=100)
    assert np.array_equal(np.concatenate(list(source)), X, equal_nan=True)
    assert source.position["rows"] == 501
    with pytest.raises(ValueError, match="cannot be read again"):
        source.resume(source.position)
    with pytest.raises(ValueError, match="so say which it is"):
        open_source(io.BytesIO(text))
    with pytest.raises(ValueError, match="is empty"):
        open_source(io.BytesIO(b""), format=format)


def test_a_slow_pipe_is_read_as_it_comes():
    out, into = os.pipe()
    with open(out, "rb") as stream, open(into, "wb", buffering=0) as writer:
        writer.write(b"a,b\n1,2\n3,")
        writer.write(b"4\n5,6\n")
        source = open_source(stream, format="csv", batch_rows=2)
        iterator = iter(source)
        assert np.array_equal(next(iterator), [[1, 2], [3, 4]])  # while the pipe is open
        started = time.monotonic()
        iterator.close()  # while nothing comes
        assert time.monotonic() - started < 5
        assert readers() == []
        writer.write(b"7,8\n9")
        writer.close()
        seen = []
        with pytest.raises(ValueError, match="line 6: there are 1 columns where 2 should be"):
            seen.extend(source)
        assert np.array_equal(seen, [[[5, 6], [7, 8]]])
        assert source.position["rows"] == 4


def run(script, **options):
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_standard_input():
    script = """
import json, sys
from kullback.sources import open_source
assert "jax" not in sys.modules and "pyarrow" not in sys.modules
source = open_source("-", format="csv", columns=["c", "a"], batch_rows=100)
total = sum(len(batch) for batch in source)
print(json.dumps([total, source.names, source.position]))
"""
    process = run(script, stdin=subprocess.PIPE)
    out, err = process.communicate(csv_bytes(X))
    assert process.returncode == 0, err
    total, names, position = json.loads(out)
    assert (total, names, position["rows"]) == (501, ["c", "a"], 501)


def test_interrupts_are_heard():
    script = """
import sys
from kullback.sources import open_source
try:
    for batch in open_source("-", format="csv", batch_rows=1):
        print(len(batch), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = run(script, stdin=subprocess.PIPE)
    process.stdin.write(b"a\n1\n2\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"1\n"
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert out.endswith(b"interrupted\n"), err
    assert process.returncode == 0


MEMORY = """
import gc, io, sys, tracemalloc
import numpy as np
import pyarrow.csv
from kullback.sources import open_source

def tables(count):
    for _ in range(count):
        yield np.ones((100, 4))

class Lines(io.RawIOBase):
    def __init__(self, count):
        self.left = count
    def read1(self, size):
        self.left -= 1
        return b"1.25,2.5,red\\n" * 100 if self.left >= 0 else b""

def most(count):
    gc.collect()
    tracemalloc.start()
    if sys.argv[1] == "text":
        source = open_source(Lines(count // 10), format="csv", header=False, batch_rows=128)
    else:
        source = open_source(tables(count), batch_rows=128, shuffle=int(sys.argv[1]))
    for _ in source:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak

most(200)
print(most(2000) - most(200))
"""


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("0", 20_000),
        slow("2000", 60_000),
        slow("text", 20_000),
    ],
)
def test_memory_does_not_grow(kind, limit):
    # A shuffle keeps marks back to the oldest row that waits, and a longer run meets an older one: 17 kB more for ten
    # times the batches. Marks of all of them would be 600 kB, their rows 5 MB.
    command = [sys.executable, "-c", MEMORY, kind]
    assert int(subprocess.run(command, check=True, capture_output=True).stdout) < limit
