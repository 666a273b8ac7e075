"""Chosen columns, words, missing entries, and what is not a table."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kullback.sources import BadRow, open_source
from kullback.sources import _codes as codes_file
from sources.writing import WRITERS, rows

CSV = "color,size,on\nred,1,true\nblue,,false\n,3,\nred,NaN,true\n"
JSONL = """{"color": "red", "size": 1, "on": true, "more": [1]}
{"color": "blue", "on": false}
{"size": 3, "color": null}

{"on": true, "color": "red", "size": "NA"}
"""
EXPECTED = np.array([[0, 1, 1], [1, np.nan, 0], [np.nan, 3, np.nan], [0, np.nan, 1]])


@pytest.fixture(
    params=["csv", "jsonl", "parquet", "pandas", "categories", "polars", "polars categories", "polars file"]
)
def words(request, tmp_path):
    """The same table with words, each time from another place."""
    table = pa.table({"color": ["red", "blue", "", "red"], "size": [1, None, 3, None], "on": [True, False, None, True]})
    if request.param == "csv":
        (tmp_path / "x.csv").write_text(CSV)
    elif request.param == "jsonl":
        (tmp_path / "x.jsonl").write_text(JSONL)
    elif request.param == "parquet":
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=1)
    elif request.param.startswith("polars"):
        polars = pytest.importorskip("polars")
        frame = polars.from_arrow(table)
        if request.param != "polars":
            frame = frame.with_columns(polars.col("color").cast(polars.Categorical))
        if request.param != "polars file":
            return frame
        frame.write_ipc(tmp_path / "x.arrow")
    else:
        frame = table.to_pandas()
        return frame.astype({"color": "category"}) if request.param == "categories" else frame
    return tmp_path


@pytest.mark.parametrize("size", [1, 2, 10])
def test_words_become_places_in_the_order_of_their_coming(words, size):
    source = open_source(words, batch_rows=size, columns=["color", "size", "on"])
    batches, known = [], []
    for batch in source:
        batches.append(batch)
        known.append(len(source.codes["color"]))
    assert np.array_equal(np.concatenate(batches), EXPECTED, equal_nan=True)
    assert source.codes == {"color": ["red", "blue"]}
    assert known == {1: [1, 2, 2, 2], 2: [2, 2], 10: [2]}[size]


def test_words_that_came_are_known_after_resume(words):
    source = open_source(words, batch_rows=1, columns=["color"])
    next(iter(source))
    position = json.loads(json.dumps(source.position))
    assert position["codes"] == {"color": ["red"]}
    again = open_source(words, batch_rows=10, columns=["color"])
    again.resume(position)
    assert np.array_equal(np.concatenate(list(again)), EXPECTED[1:, :1], equal_nan=True)
    assert again.codes == {"color": ["red", "blue"]}


def test_columns_in_the_order_asked_for(words):
    for asked in (["on", "color"], ["size"], ["on", "size", "color"]):
        source = open_source(words, columns=asked)
        assert source.names == asked
        places = [["color", "size", "on"].index(name) for name in asked]
        assert np.array_equal(np.concatenate(list(source)), EXPECTED[:, places], equal_nan=True)


def test_codes_of_a_model_are_kept_to(words):
    chosen = {"columns": ["color", "size"]}
    source = open_source(words, codes={"color": ["blue", "green", "red"]}, **chosen)
    assert np.array_equal(np.concatenate(list(source))[:, 0], [2, 0, np.nan, 2], equal_nan=True)
    assert source.codes == {"color": ["blue", "green", "red"]}
    with pytest.raises(
        BadRow, match=r"(line [23]|row 1 .*): column 'color' is 'blue', which is none of the known categories"
    ):
        list(open_source(words, codes={"color": ["red"]}, **chosen))
    skipping = open_source(words, codes={"color": ["red"]}, skip_bad=True, **chosen)
    assert np.array_equal(np.concatenate(list(skipping))[:, 0], [0, np.nan, 0], equal_nan=True)
    assert skipping.bad_rows == 1
    with pytest.raises(ValueError, match="no column 'shape', whose words are in codes"):
        open_source(words, codes={"shape": []}, **chosen)


def test_columns_by_place(tmp_path):
    X = rows(10)
    for suffix, writer in WRITERS.items():
        path = tmp_path / f"x.{suffix}"
        writer(path, X)
        assert np.array_equal(
            *(np.nan_to_num(each) for each in (next(iter(open_source(path, columns=[2, 0]))), X[:, [2, 0]]))
        )
        with pytest.raises(ValueError, match="has no column 3: its 3 columns are counted from 0"):
            open_source(path, columns=[3])
        with pytest.raises(ValueError, match="has no (column 'd'; it has a, b, c|names of columns)"):
            open_source(path, columns=["d"])
        with pytest.raises(ValueError, match="each once"):
            open_source(path, columns=[1, 1])


def test_a_few_bad_entries_do_not_make_words(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\noops\n2\n")
    with pytest.raises(BadRow, match="line 3: column 'a' is 'oops', which is not a number"):
        list(open_source(tmp_path / "x.csv"))


def test_ids_are_no_categories(tmp_path, monkeypatch):
    monkeypatch.setattr(codes_file, "MOST", 5)
    (tmp_path / "x.csv").write_text("id,n\n" + "".join(f"k{row},1\n" for row in range(6)))
    with pytest.raises(ValueError, match="Column 'id' holds more than 5 different texts"):
        list(open_source(tmp_path / "x.csv"))
    assert len(next(iter(open_source(tmp_path / "x.csv", columns=["n"])))) == 6


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pd.to_datetime(["2024-01-01"]), "times of type timestamp"),
        ([[1, 2]], "values of type list"),
        ([b"1"], "values of type binary"),
    ],
)
def test_what_no_column_may_hold(values, what):
    frame = pd.DataFrame({"x": [1.0], "odd": values})
    with pytest.raises(ValueError, match=f"data: column 'odd' holds {what}.*leave it out"):
        open_source(frame)
    assert np.array_equal(next(iter(open_source(frame, columns=["x"]))), [[1.0]])


def test_objects_in_json_lines_are_refused(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": {"b": 1}, "c": 1}\n')
    with pytest.raises(ValueError, match="column 'a' holds objects"):
        open_source(tmp_path / "x.jsonl")


def test_files_must_agree(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "b": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [2], "extra": ["?"], "a": [2.0]}), tmp_path / "2.parquet")
    assert np.array_equal(next(iter(open_source(tmp_path))), [[1, 1], [2, 2]])
    pq.write_table(pa.table({"a": ["word"], "b": [1]}), tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"3.parquet: column 'a' holds words, not numbers"):
        list(open_source(tmp_path))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "3.parquet")
    with pytest.raises(ValueError, match=r"3.parquet has no column 'b'; it has a"):
        list(open_source(tmp_path))
    np.save(tmp_path / "3.npy", np.ones((2, 2)))
    (tmp_path / "3.parquet").unlink()
    with pytest.raises(ValueError, match=r"3.npy has 2 columns without names, not names as before"):
        list(open_source(tmp_path))


def test_bad_arguments(tmp_path):
    for name, value in {"batch_rows": 0, "shuffle": -1, "ahead": 1.5, "max_bad": -1}.items():
        with pytest.raises(ValueError, match=f"{name} is {value}"):
            open_source(np.ones((3, 2)), **{name: value})
    for data in (None, 3, {"a": 1}, [1, 2], [[1, 2]]):
        with pytest.raises(ValueError, match="data (is|holds) a "):
            open_source(data)
    with pytest.raises(ValueError, match="data is empty"):
        open_source([])
    with pytest.raises(ValueError, match="shape"):
        open_source(np.ones((2, 2, 2)))
    with pytest.raises(FileNotFoundError, match="There is no file"):
        open_source(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="No file matches"):
        open_source(f"{tmp_path}/*.csv")
    with pytest.raises(FileNotFoundError, match="holds no file with a known suffix"):
        open_source(tmp_path)
    (tmp_path / "x.pkl").write_bytes(b"")
    with pytest.raises(ValueError, match="Pickles are not read"):
        open_source(tmp_path / "x.pkl")
    with pytest.raises(ValueError, match="format is 'pickle'"):
        open_source(tmp_path / "x.pkl", format="pickle")
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=["a", "a"]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="two columns with the name 'a'"):
        open_source(tmp_path / "x.parquet")


def test_a_source_says_what_its_columns_hold(words):
    source = open_source(words, columns=["on", "color", "size"])
    assert list(source.kinds.items()) == [("on", "truth"), ("color", "words"), ("size", "number")]
    assert open_source(words, sequence="color", columns=["color", "size"]).kinds == {
        "color": "sequence",
        "size": "number",
    }
    assert open_source(np.ones((2, 2)), sequence=1).kinds == {"0": "number", "1": "sequence"}


def test_there_may_be_as_many_words_as_categories():
    from kullback.core import MOST_CATEGORIES

    assert codes_file.MOST == MOST_CATEGORIES
