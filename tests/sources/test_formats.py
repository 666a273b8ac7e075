"""Every format gives the same batches, from every position on."""

import itertools
import json

import numpy as np
import pytest

from kullback.sources import _text as text_file
from kullback.sources import open_source
from sources.writing import NAMELESS, NAMES, WRITERS, as_table, rows

X = rows()
CUTS = (0, 7, 200, 200, 501)  # four files, one of them empty


@pytest.fixture(params=WRITERS)
def suffix(request):
    return request.param


@pytest.fixture(params=[None, "small"])
def pieces(request, monkeypatch):
    """Files are read in pieces of usual size, and in pieces that are smaller than batches."""
    if request.param == "small":
        monkeypatch.setattr(text_file, "BLOCK", 1000)
        for name in ("_typed", "_parquet", "_arrow_file", "_part"):
            monkeypatch.setattr(f"kullback.sources.{name}.PIECE", 11)


def equal(first, second):
    first, second = list(first), list(second)
    return len(first) == len(second) and all(map(lambda a, b: np.array_equal(a, b, equal_nan=True), first, second))


def expected(size):
    return [X[start : start + size] for start in range(0, len(X), size)]


def write_files(folder, suffix):
    for number, (start, end) in enumerate(itertools.pairwise(CUTS)):
        WRITERS[suffix](folder / f"part-{number}.{suffix}", X[start:end])


@pytest.mark.parametrize("size", [3, 64, 1000])
def test_one_file(tmp_path, suffix, size):
    path = tmp_path / f"x.{suffix}"
    WRITERS[suffix](path, X)
    source = open_source(path, batch_rows=size)
    assert source.names == (None if suffix in NAMELESS else NAMES)
    assert source.rows == (None if suffix.startswith(("csv", "tsv", "jsonl", "arrows")) else len(X))
    assert equal(source, expected(size))
    assert source.bad_rows == 0
    assert list(source) == []


def test_all_dtypes_are_doubles(tmp_path):
    for dtype in (np.float32, np.int16, bool):
        np.save(tmp_path / "x.npy", np.arange(6).reshape(3, 2).astype(dtype))
        (batch,) = open_source(tmp_path / "x.npy")
        assert batch.dtype == np.float64
        assert np.array_equal(batch, np.arange(6).reshape(3, 2).astype(dtype))


def test_glob_directory_and_list(tmp_path, suffix, pieces):
    write_files(tmp_path, suffix)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "readme.md").write_text("nothing")
    files = [str(tmp_path / f"part-{number}.{suffix}") for number in range(4)]
    for data in (tmp_path, f"{tmp_path}/*.{suffix}", files):
        assert equal(open_source(data, batch_rows=50), expected(50))


def test_resume_is_as_if_nothing_had_happened(tmp_path, suffix, pieces):
    write_files(tmp_path, suffix)
    source, positions = open_source(tmp_path, batch_rows=50), []
    for _ in source:
        positions.append(json.dumps(source.position))
    assert len(positions) == 11
    for done, position in list(enumerate(positions, 1))[::2]:
        again = open_source(tmp_path, batch_rows=50)
        again.resume(json.loads(position))
        assert json.dumps(again.position) == position
        assert equal(again, expected(50)[done:])
        for key in ("file", "name", "row", "done", "bad"):
            assert again.position.get(key) == source.position.get(key)
    source.resume(json.loads(positions[3]))  # the same one can go back too
    assert equal(source, expected(50)[4:])


def test_a_position_can_have_batches_of_another_size(tmp_path, suffix):
    write_files(tmp_path, suffix)
    source = open_source(tmp_path, batch_rows=97)
    next(iter(source))
    again = open_source(tmp_path, batch_rows=500)
    again.resume(source.position)
    assert equal(again, [X[97:]])


def test_going_on_after_a_pause_loses_nothing(tmp_path, suffix):
    write_files(tmp_path, suffix)
    source, seen = open_source(tmp_path, batch_rows=20), []
    for count in (1, 5, 2, 100):
        for batch in itertools.islice(source, count):
            seen.append(batch)
    assert equal(seen, expected(20))


def test_a_position_of_other_files_is_refused(tmp_path):
    write_files(tmp_path, "csv")
    source = open_source(tmp_path, batch_rows=100)
    next(iter(source))
    (tmp_path / "part-0.csv").unlink()
    with pytest.raises(ValueError, match="'part-1.csv', which was file 1"):
        open_source(tmp_path).resume(source.position)
    with pytest.raises(ValueError, match="it must be what `position` of a source has said"):
        open_source(tmp_path).resume({"row": 3})


def test_a_position_of_a_longer_file_is_refused(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 1000)
    path = tmp_path / f"x.{suffix}"
    WRITERS[suffix](path, X)
    source = open_source(path, batch_rows=500)
    next(iter(source))
    WRITERS[suffix](path, X[:100])
    again = open_source(path)
    shorter = (
        r"has 100 rows, and the position is after row 500|is not what was read before: it had [\d,]+ bytes and has"
    )
    with pytest.raises(ValueError, match=rf"x.{suffix} ({shorter})"):
        again.resume(source.position)


@pytest.mark.parametrize(
    "kind", ["array", "memmap", "float32", "fortran", "pandas", "polars", "arrow", "batch", "reader"]
)
def test_tables_in_memory(tmp_path, kind):
    table, data = as_table(X), None
    if kind in ("array", "float32", "fortran", "memmap"):
        data = {"float32": X.astype(np.float32), "fortran": np.asfortranarray(X)}.get(kind, X)
        if kind == "memmap":
            np.save(tmp_path / "x.npy", X)
            data = np.load(tmp_path / "x.npy", mmap_mode="r")
    elif kind == "polars":
        data = pytest.importorskip("polars").from_arrow(table)
    elif kind == "pandas":
        data = pytest.importorskip("pandas").DataFrame(X, columns=NAMES, index=np.arange(len(X)) * 3)
    else:
        data = {"arrow": table, "batch": table.to_batches()[0], "reader": table.to_reader(max_chunksize=17)}[kind]
    source = open_source(data, batch_rows=100)
    first = next(iter(source))
    if kind != "reader":  # which can be gone through once
        again = open_source(data, batch_rows=100)
        again.resume(source.position)
        source = again
    values = X.astype(np.float32) if kind == "float32" else X
    assert np.array_equal(np.concatenate([first, *source]), values, equal_nan=True)
    assert source.names == (None if isinstance(data, np.ndarray) else NAMES)


def test_iterables_of_tables():
    tables = [X[start:end] for start, end in itertools.pairwise(CUTS)]
    source = open_source(tables, batch_rows=50)
    first = list(itertools.islice(source, 3))
    assert equal(first, expected(50)[:3])
    assert source.position["rows"] == 150
    again = open_source((table for table in tables), batch_rows=50)
    again.resume(source.position)
    assert equal(again, expected(50)[3:])
    with pytest.raises(ValueError, match="cannot be gone through again"):
        again.resume(source.position)
    source.resume(open_source(tables).position)
    assert equal(source, expected(50))


def test_arrays_of_an_npz_file_by_name(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, y=X[:, 0])
    with pytest.raises(ValueError, match=r"has 2 arrays: name one of X, y after a colon, as in x.npz:X"):
        open_source(tmp_path / "x.npz")
    with pytest.raises(ValueError, match="has no array 'z'"):
        open_source(f"{tmp_path}/x.npz:z")
    assert equal(open_source(f"{tmp_path}/x.npz:X", batch_rows=64), expected(64))
    assert equal(open_source(f"{tmp_path}/*.npz:y"), [X[:, :1]])


def test_csv_without_names(tmp_path):
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    source = open_source(tmp_path / "x.csv", header=False, columns=[1])
    assert source.names is None
    assert equal(source, [np.array([[2.0], [4.0]])])


def test_csv_with_lines_inside_quotes_and_a_byte_order_mark(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 16)
    lines = [f'"one\nor ""two"", {row}",{row},wide\r\n' for row in range(40)]
    (tmp_path / "x.csv").write_bytes(b'\xef\xbb\xbf"the\ntext",n,size\r\n' + "".join(lines).encode())
    source = open_source(tmp_path / "x.csv", columns=["n"], batch_rows=7)
    positions = [source.position for _ in source]
    for position in positions[:-1]:
        again = open_source(tmp_path / "x.csv", columns=["n"], batch_rows=40)
        again.resume(position)
        (rest,) = again
        assert np.array_equal(rest[:, 0], np.arange(position["done"], 40))


def test_csv_with_quotes_that_open_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 16)
    (tmp_path / "x.csv").write_text("size,n\n" + "".join(f'5" wide,{row}\n' for row in range(41)))
    source = open_source(tmp_path / "x.csv", batch_rows=50)
    (batch,) = source
    assert source.codes == {"size": ['5" wide']}
    assert np.array_equal(batch[:, 1], np.arange(41))
