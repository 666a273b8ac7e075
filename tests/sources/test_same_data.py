"""A position is of the data it was made from: what was replaced is refused, what has only grown is gone on with."""

import copy
import itertools
import json
import logging
import os

import numpy as np
import pytest

from kullback.sources import _fingerprint, open_source
from kullback.sources import _text as text_file
from sources.writing import WRITERS, rows

X, OTHER = rows(), rows(seed=1)
OPTIONS = [{}, {"shuffle": 60}]


def read(path, batches, **options):
    """Read some batches, and return the position after them."""
    source = open_source(path, batch_rows=20, **options)
    for _ in itertools.islice(source, batches):
        pass
    return json.loads(json.dumps(source.position))


def resumed(path, position, **options):
    source = open_source(path, batch_rows=20, **options)
    source.resume(position)
    return np.concatenate([np.empty((0, 3)), *source])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 1000)
    monkeypatch.setattr(_fingerprint, "_BLOCK", 512)
    return tmp_path


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_that_was_replaced_is_refused_by_name(folder, suffix, options):
    for number in range(3):
        WRITERS[suffix](folder / f"{number}.{suffix}", X[100 * number : 100 * (number + 1)])
    position = read(folder, 10, **options)
    assert len(resumed(folder, position, **options)) == 100
    for number in range(2):
        before = (folder / f"{number}.{suffix}").read_bytes()
        WRITERS[suffix](folder / f"{number}.{suffix}", OTHER[:100])
        with pytest.raises(ValueError, match=rf"{number}.{suffix} is not what was read before: .*, or begin anew\.$"):
            resumed(folder, position, **options)
        (folder / f"{number}.{suffix}").write_bytes(before)
    assert len(resumed(folder, position, **options)) == 100


@pytest.mark.parametrize("options", OPTIONS)
def test_rows_before_the_position_that_were_changed_are_seen(folder, options):
    WRITERS["csv"](folder / "x.csv", X)
    position = read(folder / "x.csv", 20, **options)
    end = int(position["data"]["tail"].split()[0])
    text = bytearray((folder / "x.csv").read_bytes())
    assert 512 < end < len(text) - 512
    place = text.index(b"1", end - 300)
    text[place : place + 1] = b"2"
    (folder / "x.csv").write_bytes(text)
    with pytest.raises(
        ValueError, match=f"x.csv is not what was read before: what stands before byte {end:,} is another"
    ):
        resumed(folder / "x.csv", position, **options)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "csv.gz", "csv.zst"])
def test_text_that_has_grown_is_read_to_its_new_end(folder, suffix):
    path, more = folder / f"x.{suffix}", folder / f"more.{suffix}"
    WRITERS[suffix](path, X[:300])
    position = read(path, 10)
    WRITERS[suffix](more, OTHER[:50])
    with open(path, "ab") as file:
        if suffix == "csv":
            file.write(more.read_bytes().partition(b"\n")[2])
        elif suffix == "jsonl":
            file.write(more.read_bytes())
        else:
            file.write(more.read_bytes())  # its names are a row that is bad
    source = open_source(path, batch_rows=20, skip_bad=True)
    source.resume(position)
    assert np.array_equal(np.concatenate(list(source)), np.concatenate([X[200:300], OTHER[:50]]), equal_nan=True)
    assert len(read(path, 100)["data"]["files"]) == 1 if suffix in ("csv", "jsonl") else True
    with pytest.raises(ValueError, match="is not what was read before: it had"):
        open_source(path).check(position["data"])


def test_a_file_before_the_position_may_not_have_grown(folder):
    for number in range(2):
        WRITERS["csv"](folder / f"{number}.csv", X[:100])
    position = read(folder, 8)
    with open(folder / "0.csv", "a") as file:
        file.write("1,2,3\n")
    with pytest.raises(ValueError, match="0.csv is not what was read before: it had"):
        resumed(folder, position)


def test_files_that_were_only_touched_are_gone_on_with(folder, caplog):
    WRITERS["parquet"](folder / "x.parquet", X)
    position = read(folder / "x.parquet", 10)
    os.utime(folder / "x.parquet", (1, 1))
    with caplog.at_level(logging.WARNING):
        assert len(resumed(folder / "x.parquet", position)) == 301
    assert "x.parquet was written since it was read before" in caplog.text


def test_all_files_are_checked_as_a_whole(folder):
    for number in range(2):
        WRITERS["npy"](folder / f"{number}.npy", X)
    fingerprint = read(folder, 100)["data"]
    open_source(folder).check(fingerprint)
    open_source(folder).check(None)  # of a stream: nothing is known
    WRITERS["npy"](folder / "2.npy", X)
    with pytest.raises(ValueError, match="There were 2 files, and there are 3"):
        open_source(folder).check(fingerprint)
    with pytest.raises(ValueError, match="this source has none"):
        open_source(X).check(fingerprint)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", ["csv", "npy", "array", "tables"])
def test_no_forged_position_gets_through(folder, kind, options):
    data = {"array": X, "tables": [X[:99], X[99:]]}.get(kind, folder / f"x.{kind}")
    if kind in WRITERS:
        WRITERS[kind](data, X)
    position = read(data, 12, **options)
    source = open_source(data, batch_rows=20, **options)
    assert sum(map(len, source.resume(position) or source)) == 261
    wrong = [None, True, -1, 1.5, 1 << 60, 1e300, "x", [], ["x"], {}, {"x": 1}]
    for path in paths(position):
        for value in wrong:
            forged = replaced(position, path, value)
            if forged == position or (path[-1] == "codes" and value == {}) or (path[-1] == "tail" and value is None):
                continue
            with pytest.raises(ValueError, match="^(The|There|position|/)") as error:
                list(source.resume(forged) or source)
            assert len(str(error.value)) < 400
        with pytest.raises(ValueError, match="position"):
            source.resume(replaced(position, path, ...))


def paths(value, begin=()):
    """Yield the way to every entry of nested dictionaries."""
    for name, entry in value.items():
        yield (*begin, name)
        if isinstance(entry, dict):
            yield from paths(entry, (*begin, name))


def replaced(position, path, value):
    """Return a position with another entry, or without it."""
    forged = inner = copy.deepcopy(position)
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    if value is ...:
        del inner[path[-1]]
    return forged
