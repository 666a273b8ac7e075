"""Bad rows: the right place, counted or raised; damaged files get one sentence."""

import contextlib
import gzip
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kullback.sources import BadRow, open_source
from kullback.sources import _text as text_file
from sources.writing import WRITERS, rows

NUL = '{"a": 1, "b": 2}'


@pytest.fixture(params=[1 << 20, 40])
def block(request, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", request.param)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("1,x", "column 'b' is 'x', which is not a number"),
        ("1", "there are 1 columns where 2 should be"),
        ("1,2,3", "there are 3 columns where 2 should be"),
        ("1,inf", "column 'b' is infinite"),
        ("-Infinity,2", "column 'a' is infinite"),
        ("1_000,2", "column 'a' is '1_000', which is not a number"),
        ("1,1e999", "column 'b' is infinite"),
        ('"1\n2",2', r"column 'a' is '1\\n2', which is not a number"),
    ],
)
def test_bad_line_of_csv(tmp_path, block, line, what):
    lines = ["a,b", *["1,2"] * 30, "", "3,4", line, "5,6", line, "7,8"]  # the bad ones are lines 34 and 36, or 37
    (tmp_path / "x.csv").write_text("\n".join(lines))
    source, seen = open_source(tmp_path / "x.csv", batch_rows=10), []
    with pytest.raises(BadRow, match=f"x.csv, line 34: {what}"):
        seen.extend(source)
    assert [len(batch) for batch in seen] == [10, 10, 10]
    assert source.position["done"] == 30
    with pytest.raises(BadRow, match="line 34"):  # it does not go away
        list(source)
    skipping = open_source(tmp_path / "x.csv", batch_rows=10, skip_bad=True)
    assert np.array_equal(np.concatenate(list(skipping)), [*[[1, 2]] * 30, [3, 4], [5, 6], [7, 8]])
    assert skipping.bad_rows == 2


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"a": 1, "b": ', "this is not JSON"),
        ("[1, 2]", r"this is not a JSON object: \[1, 2\]"),
        ('{"a": 1, "b": "x"}', "column 'b' is 'x', which is not a number"),
        ('{"a": 1, "b": [2]}', r"column 'b' is \[2\], which is not a number"),
        ('{"a": 1, "b": Infinity}', "column 'b' is infinite"),
        ('{"a": 1, "b": 1e999}', "column 'b' is infinite"),
        ('{"a": 1, "b": 2} {"a": 1, "b": 2}', "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
    ],
)
def test_bad_line_of_json_lines(tmp_path, block, line, what):
    (tmp_path / "x.jsonl").write_text("\n".join([*[NUL] * 12, "", NUL, line, NUL, line]))
    with pytest.raises(BadRow, match=f"x.jsonl, line 15: {what}"):
        list(open_source(tmp_path / "x.jsonl"))
    skipping = open_source(tmp_path / "x.jsonl", skip_bad=True, batch_rows=7)
    assert np.array_equal(np.concatenate(list(skipping)), [[1, 2]] * 14)
    assert skipping.bad_rows == 2


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "npy", "npz"])
def test_infinite_row_of_a_typed_file(tmp_path, suffix):
    X = np.nan_to_num(rows(300))
    X[211, 1] = -np.inf
    WRITERS[suffix](tmp_path / f"x.{suffix}", X)
    label = "1" if suffix in ("npy", "npz") else "b"
    with pytest.raises(BadRow, match=rf"x.{suffix}, row 211 \(the first is row 0\): column '{label}' is infinite"):
        list(open_source(tmp_path / f"x.{suffix}", batch_rows=50))
    skipping = open_source(tmp_path / f"x.{suffix}", batch_rows=50, skip_bad=True)
    assert np.array_equal(np.concatenate(list(skipping)), np.delete(X, 211, axis=0))
    assert skipping.bad_rows == 1


def test_skipped_rows_are_logged_up_to_a_limit(tmp_path, caplog):
    (tmp_path / "x.csv").write_text("a\n" + "1\n2\n3\nx\n" * 5)
    with caplog.at_level(logging.WARNING, "kullback.sources"):
        assert sum(map(len, open_source(tmp_path / "x.csv", skip_bad=True, max_bad=5))) == 15
    assert len(caplog.records) == 5
    assert "x.csv, line 5: column 'a' is 'x', which is not a number; the row is left out." in caplog.text
    source, seen = open_source(tmp_path / "x.csv", skip_bad=True, max_bad=3, batch_rows=2), []
    with pytest.raises(BadRow, match="line 17: .* this is bad row number 4, and max_bad allows 3"):
        seen.extend(source)
    assert sum(map(len, seen)) == 12


def test_positions_count_bad_rows(tmp_path, block):
    lines = [f"{row},{'x' if row % 7 == 3 else row}" for row in range(200)]
    (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(lines))
    options = {"skip_bad": True, "batch_rows": 17}
    source = open_source(tmp_path / "x.csv", **options)
    steps = [(batch, source.position, source.bad_rows) for batch in source]
    assert source.bad_rows == 29
    for place, (_, position, bad) in enumerate(steps):
        again = open_source(tmp_path / "x.csv", **options)
        again.resume(position)
        assert again.bad_rows == bad
        rest = list(again)
        assert all(map(np.array_equal, rest, (batch for batch, _, _ in steps[place + 1 :])))
        assert len(rest) == len(steps) - place - 1
        assert again.bad_rows == 29


def test_a_bad_row_brings_no_words(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\nred,1\ngreen,inf\nblue,3\npink,x\n")
    source = open_source(tmp_path / "x.csv", skip_bad=True)
    assert np.array_equal(np.concatenate(list(source)), [[0, 1], [1, 3]])
    assert source.codes == {"a": ["red", "blue"]}


def test_words_that_are_not_utf8(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\nred,1\nr\xe9d,2\n")
    with pytest.raises(BadRow, match="line 3: column 'a' is .*, which is not a text"):
        list(open_source(tmp_path / "x.csv"))
    assert len(next(iter(open_source(tmp_path / "x.csv", columns=["b"])))) == 2


def test_empty_text(tmp_path):
    for name, text, what in [("x.csv", "", "x.csv is empty"), ("x.jsonl", "\n", "x.jsonl is empty")]:
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=what):
            open_source(tmp_path / name)
    (tmp_path / "x.csv").write_text("a,b\n")
    assert list(open_source(tmp_path / "x.csv")) == []
    (tmp_path / "x.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(ValueError, match="UTF-16"):
        open_source(tmp_path / "x.csv")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "npy", "npz", "csv.gz", "jsonl.gz"])
def test_damaged_files(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    WRITERS[suffix](path, rows(5000))
    whole = path.read_bytes()
    for damage in (b"", b"rubbish" * 100, whole[: len(whole) // 2], whole[:-30]):
        path.write_bytes(damage)
        with pytest.raises((ValueError, OSError), match=f"x.{suffix}") as error:
            list(open_source(path))
        assert "\n" not in str(error.value)
    middle = bytearray(whole)
    for place in range(len(whole) // 3, len(whole) // 3 + 200):
        middle[place] ^= 0x55
    path.write_bytes(bytes(middle))
    with contextlib.suppress(ValueError):  # numbers may have changed: nobody can tell. But nothing else may happen.
        list(open_source(path, columns=[0], skip_bad=True, max_bad=10_000))


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return print, ("the trap has sprung",)

    objects = np.array([[Trap()]], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", objects)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(ValueError, match=rf"{name}.*(objects|numbers)"):
            open_source(tmp_path / name)
    with pytest.raises(ValueError, match="array of object, and not of numbers"):
        open_source(objects)


def test_files_that_are_something_else(tmp_path):
    text = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (row, row**3) for row in range(10_000)), 1)
    (tmp_path / "x.csv.gz").write_bytes(text[:-5000])
    with pytest.raises(ValueError, match=r"x.csv.gz is damaged"):
        list(open_source(tmp_path / "x.csv.gz", batch_rows=10))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x.parquet is not an Arrow file"):
        open_source(tmp_path / "x.parquet", format="arrow")
