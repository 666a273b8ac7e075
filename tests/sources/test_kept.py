"""Columns that go along with the rows that are read, as they are in the file."""

import datetime
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from kullback.sources import BadRow, Kept, open_source

CSV = (
    'time,x,id,note,y\n2026-01-01,1.50,007,"a, ""b""",1\n2026-01-02,x,008,bad,2\n'
    "2026-01-03,,009,,NA\n2026-01-04,4,010,ü,4\n"
)


def together(source):
    """Return the rows of a source, and all that goes along."""
    tables, parts = [], []
    for table in source:
        tables.append(table)
        parts.append(source.kept)
    return np.concatenate(tables), Kept.concatenate(parts)


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_text_goes_along_as_it_is_written(tmp_path, suffix, size):
    text = CSV.replace("a, ", "a; ") if "tsv" in suffix else CSV
    path = tmp_path / f"data{suffix}"
    data = (text.replace(",", "\t") if "tsv" in suffix else text).encode()
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    source = open_source(path, columns=["y", "x"], skip_bad=True, keep="all", batch_rows=size, ahead=size % 2)
    X, along = together(source)
    assert np.array_equal(X, [[1, 1.5], [np.nan, np.nan], [4, 4]], equal_nan=True)
    assert along.form == "text"
    assert along.files is None
    assert along.rows.tolist() == [1, 3, 4]
    assert along.table.to_pydict() == {
        "time": ["2026-01-01", "2026-01-03", "2026-01-04"],
        "x": ["1.50", "", "4"],
        "id": ["007", "009", "010"],
        "note": ['a; "b"' if "tsv" in suffix else 'a, "b"', "", "ü"],
        "y": ["1", "NA", "4"],
    }
    assert along.kinds["id"] == "number"
    assert along.kinds["time"].startswith("times")


def test_only_what_is_asked_for_goes_along(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,c\n1,2,3\n")
    _, along = together(open_source(tmp_path / "d.csv", columns=["a"], keep=["c", "b"]))
    assert along.table.to_pydict() == {"b": ["2"], "c": ["3"]}  # in the order of the file
    _, along = together(open_source(tmp_path / "d.csv", keep=[]))
    assert along.rows.tolist() == [1]
    assert along.table.num_columns == 0
    source = open_source(tmp_path / "d.csv")
    list(source)
    assert source.kept is None
    with pytest.raises(ValueError, match="no column 'z'"):
        open_source(tmp_path / "d.csv", keep=["z"])
    with pytest.raises(ValueError, match="keep does not go with shuffle"):
        open_source(tmp_path / "d.csv", keep="all", shuffle=5)


def test_json_keeps_its_numbers_texts_and_objects(tmp_path):
    lines = ['{"t": "2026", "x": 1.50, "o": {"k": [1.0, null]}, "big": 12345678901234567890123}', "", "[1]", '{"x": 2}']
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    X, along = together(open_source(tmp_path / "d.jsonl", columns=["x"], keep="all", skip_bad=True))
    assert X.tolist() == [[1.5], [2]]
    assert along.rows.tolist() == [1, 3]
    assert along.form == "json"
    assert along.table.to_pydict() == {
        "t": ['"2026"', "null"],
        "x": ["1.50", "2"],
        "o": ['{"k": [1.0, null]}', "null"],
        "big": ["12345678901234567890123", "null"],
    }
    assert json.loads(along.table["o"][0].as_py()) == {"k": [1, None]}


@pytest.mark.parametrize("form", ["parquet", "arrow", "table"])
def test_typed_columns_keep_their_types(tmp_path, form):
    table = pa.table({
        "day": pa.array([datetime.date(2026, 1, day) for day in range(1, 6)]),
        "x": pa.array([1.0, float("inf"), 3, None, 5], pa.float32()),
        "id": pa.array([1, 2, 2**62, None, 5], pa.int64()),
        "kind": pa.array(["a", "b", "a", None, "b"]).dictionary_encode(),
        "list": pa.array([[1], [], None, [2, 3], [4]]),
    })  # fmt: skip
    data = table
    if form == "parquet":
        pq.write_table(table, tmp_path / "d.parquet", row_group_size=2)
        data = tmp_path / "d.parquet"
    elif form == "arrow":
        pyarrow.feather.write_feather(table, tmp_path / "d.arrow", chunksize=2)
        data = tmp_path / "d.arrow"
    X, along = together(open_source(data, columns=["x"], keep="all", skip_bad=True, batch_rows=3))
    assert np.array_equal(X[:, 0], [1, 3, np.nan, 5], equal_nan=True)
    assert along.rows.tolist() == [1, 3, 4, 5]
    wanted = table.take([0, 2, 3, 4])
    assert along.form == "typed"
    assert along.table.to_pydict() == wanted.to_pydict()
    found = {field.name: field.type for field in along.table.schema}
    assert [found[name] for name in ("day", "x", "id", "list")] == [
        table.schema.field(n).type for n in ("day", "x", "id", "list")
    ]
    assert pa.types.is_dictionary(found["kind"])


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_arrays_have_places_for_names(tmp_path, suffix):
    X = np.arange(12).reshape(4, 3).astype(">i4")
    np.save(tmp_path / "d.npy", X)
    np.savez(tmp_path / "d.npz", X)
    values, along = together(open_source(tmp_path / f"d.{suffix}", columns=[2], keep="all", batch_rows=3))
    assert values[:, 0].tolist() == [2, 5, 8, 11]
    assert along.table.to_pydict() == {f"x{k}": X[:, k].tolist() for k in range(3)}
    assert along.table.schema.field("x0").type == pa.int32()


def test_rows_of_several_files_say_which(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"x,name\n1,{name}\n2,{name}\n")
    _, along = together(open_source(tmp_path, columns=["x"], keep="all", batch_rows=3))
    assert along.rows.tolist() == [1, 2, 1, 2]
    assert along.files == [str(tmp_path / f"{name}.csv") for name in "aabb"]
    (tmp_path / "b.csv").write_text("x,other\n1,b\n")
    with pytest.raises(ValueError, match="b.csv has no column 'name'"):
        together(open_source(tmp_path, columns=["x"], keep="all"))


def test_a_source_that_goes_on_has_the_same_rows_along(tmp_path):
    (tmp_path / "d.csv").write_text("x,t\n" + "".join(f"{k},t{k}\n" for k in range(10)))
    source = open_source(tmp_path / "d.csv", columns=["x"], keep="all", batch_rows=4)
    next(iter(source))
    again = open_source(tmp_path / "d.csv", columns=["x"], keep="all", batch_rows=4)
    again.resume(source.position)
    X, along = together(again)
    assert along.rows.tolist() == [5, 6, 7, 8, 9, 10]
    assert along.table["t"].to_pylist() == [f"t{int(x)}" for x in X[:, 0]]


def test_what_is_no_text_cannot_go_along(tmp_path):
    (tmp_path / "d.csv").write_bytes(b"x,note\n1,fine\n2,caf\xe9\n")
    assert len(next(iter(open_source(tmp_path / "d.csv", columns=["x"])))) == 2
    with pytest.raises(BadRow, match="line 3: column 'note' is .*, which is not text in UTF-8"):
        list(open_source(tmp_path / "d.csv", columns=["x"], keep="all"))


def test_weights_are_numbers_and_not_negative(tmp_path):
    (tmp_path / "d.csv").write_text("x,w,t\n1,0,a\n2,-1,a\n3,,b\n4,2.5,b\n5,inf,b\n")
    source = open_source(tmp_path / "d.csv", columns=["x", "w"], weight="w", skip_bad=True)
    assert np.concatenate(list(source)).tolist() == [[1, 0], [4, 2.5]]
    assert source.bad_rows == 3
    with pytest.raises(BadRow, match="line 3: column 'w' is -1, and a weight is 0 or more"):
        list(open_source(tmp_path / "d.csv", columns=["x", "w"], weight="w"))
    with pytest.raises(ValueError, match="'t' holds words, and weights are numbers"):
        open_source(tmp_path / "d.csv", weight="t")
    with pytest.raises(ValueError, match="weight is 'w', which is none of the columns"):
        open_source(tmp_path / "d.csv", columns=["x"], weight="w")
