"""Tables in memory, column by column: what columns of each library and type hold, and what is refused."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kullback.sources import Codes, read_columns

TEXT, TRUTH, WHOLE = ["b", None, "a", "b"], [True, None, False, True], [3, None, 1, 2]
DICTIONARY = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))

#: A column of four entries, what it holds, and its entries as numbers; text is numbered as it comes.
COLUMNS = {
    "text": (pd.Series(TEXT), "words", [0, np.nan, 1, 0]),
    "object": (pd.Series(TEXT, dtype=object), "words", [0, np.nan, 1, 0]),
    "three kinds of nothing": (pd.Series([None, np.nan, pd.NA, "a"], dtype=object), "words", [np.nan] * 3 + [0]),
    "empty text is missing": (pd.Series(["a", "", "NA", "b"]), "words", [0, np.nan, np.nan, 1]),
    "string": (pd.Series(TEXT, dtype="string"), "words", [0, np.nan, 1, 0]),
    "string[pyarrow]": (pd.Series(TEXT, dtype="string[pyarrow]"), "words", [0, np.nan, 1, 0]),
    "category": (pd.Series(TEXT, dtype="category"), "words", [0, np.nan, 1, 0]),
    "dictionary[pyarrow]": (pd.Series(TEXT).astype(DICTIONARY), "words", [0, np.nan, 1, 0]),
    "categories of numbers": (pd.Series([20, 10, None, 20], dtype="category"), "words", [0, 1, np.nan, 0]),
    "categories of truth": (pd.Series([True, False, None, True], dtype="category"), "truth", [1, 0, np.nan, 1]),
    "bool": (pd.Series([True, False, False, True]), "truth", [1, 0, 0, 1]),
    "boolean": (pd.Series(TRUTH, dtype="boolean"), "truth", [1, np.nan, 0, 1]),
    "bool[pyarrow]": (pd.Series(TRUTH, dtype="bool[pyarrow]"), "truth", [1, np.nan, 0, 1]),
    "object of truth": (pd.Series(TRUTH, dtype=object), "truth", [1, np.nan, 0, 1]),
    "Int64": (pd.Series(WHOLE, dtype="Int64"), "number", [3, np.nan, 1, 2]),
    "UInt8": (pd.Series(WHOLE, dtype="UInt8"), "number", [3, np.nan, 1, 2]),
    "Float64": (pd.Series([1.5, None, 2, 0], dtype="Float64"), "number", [1.5, np.nan, 2, 0]),
    "int64[pyarrow]": (pd.Series(WHOLE, dtype="int64[pyarrow]"), "number", [3, np.nan, 1, 2]),
    "double[pyarrow]": (pd.Series([1.5, None, 2, 0], dtype="double[pyarrow]"), "number", [1.5, np.nan, 2, 0]),
    "decimals": (pd.Series([decimal.Decimal("1.5")] * 4, dtype=object), "number", [1.5] * 4),
    "polars String": (pl.Series(TEXT), "words", [0, np.nan, 1, 0]),
    "polars Categorical": (pl.Series(TEXT, dtype=pl.Categorical), "words", [0, np.nan, 1, 0]),
    "polars Enum": (pl.Series(TEXT, dtype=pl.Enum(["c", "a", "b"])), "words", [0, np.nan, 1, 0]),
    "polars Boolean": (pl.Series(TRUTH), "truth", [1, np.nan, 0, 1]),
    "polars Decimal": (pl.Series([decimal.Decimal("1.5")] * 4), "number", [1.5] * 4),
    "polars Null": (pl.Series([None] * 4), "number", [np.nan] * 4),
    "pyarrow": (pa.chunked_array([TEXT[:2], TEXT[2:]]), "words", [0, np.nan, 1, 0]),
    "pyarrow dictionary": (pa.chunked_array([pa.array(TEXT).dictionary_encode()]), "words", [0, np.nan, 1, 0]),
    "array of text": (np.array(["b", "c", "a", "b"]), "words", [0, 1, 2, 0]),
    "array of objects": (np.array(["b", None, "a", "b"], dtype=object), "words", [0, np.nan, 1, 0]),
}


def frame_of(column):
    if isinstance(column, pl.Series):
        return pl.DataFrame({"c": column})
    if isinstance(column, pa.ChunkedArray):
        return pa.table({"c": column})
    return column[:, None] if isinstance(column, np.ndarray) else pd.DataFrame({"c": column})


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_each_type(name):
    column, kind, numbers = COLUMNS[name]
    columns = read_columns(frame_of(column))
    label = "0" if "array" in name else "c"
    assert (columns.labels, columns.kinds) == ([label], [kind])
    codes = Codes({label: []} if kind == "words" else {}, closed=False)
    np.testing.assert_array_equal(columns.numbers(codes)[:, 0], numbers)


def test_types_that_list_categories_say_their_order():
    frame = pd.DataFrame({"c": pd.Categorical(["a", "b"], categories=["b", "", "a", "z"]), "t": ["x", "y"]})
    assert read_columns(frame).declared == {"c": ["b", "a", "z"]}
    enum = pl.DataFrame({"c": pl.Series(["a"], dtype=pl.Enum(["b", "a"]))})
    assert read_columns(enum).declared == {"c": ["b", "a"]}
    assert read_columns(enum.to_arrow()).declared == {"c": ["b", "a"]}
    assert read_columns(enum.cast(pl.Categorical)).declared == {}


@pytest.mark.parametrize(
    "table",
    [
        np.ones((2, 2)), [[1, 2], [3, 4]], pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]}),
        pl.DataFrame({"a": [1, None], "b": [0.5, 1]}), np.array([[1, None]], dtype=object), np.ones((2, 2), bool),
        pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}), [["a"], [1, 2]], "text", None, 5,
    ],
)  # fmt: skip
def test_what_is_plain_numbers_or_no_table_is_left_alone(table):
    assert read_columns(table) is None


HOSTILE = {
    "mixed": (
        pd.Series([1, "a", None], dtype=object),
        "'c' of X holds entries of several types, such as 1 (int) and 'a'",
    ),
    "dates": (pd.Series(pd.to_datetime(["2026-01-01"])), "'c' of X holds times of type timestamp"),
    "zones": (pd.Series(pd.to_datetime(["2026-01-01"], utc=True)), "'c' of X holds times"),
    "days": (pd.Series([datetime.date(2026, 1, 1)], dtype=object), "'c' of X holds times"),
    "durations": (pd.Series(pd.to_timedelta([5])), "'c' of X holds times of type duration"),
    "months": (pd.Series(pd.period_range("2026", periods=2, freq="M")), "'c' of X holds values of type extension"),
    "intervals": (pd.Series(pd.cut([1, 2, 3], 2)), "'c' of X holds values of type extension<pandas.interval"),
    "complex": (pd.Series([1j]), "'c' of X holds entries of type complex"),
    "lists": (pd.Series([[1], [2]], dtype=object), "'c' of X holds values of type list"),
    "dicts": (pd.Series([{"a": 1}], dtype=object), "'c' of X holds values of type struct"),
    "bytes": (pd.Series([b"a"], dtype=object), "'c' of X holds values of type binary"),
    "fractions as categories": (pd.Series(pd.Categorical([0.5, 1.5])), "'c' of X holds categories of type double"),
    "huge": (pd.Series([10**30], dtype=object), "'c' of X holds whole numbers of more than 64 bits"),
    "polars lists": (pl.Series([[1]]), "'c' of X holds values of type large_list"),
    "polars dates": (pl.Series([datetime.date(2026, 1, 1)]), "'c' of X holds times"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_neither_numbers_nor_words_is_refused_by_name(name):
    column, sentence = HOSTILE[name]
    with pytest.raises(ValueError, match="column 'c'") as error:
        read_columns(frame_of(column))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_names_that_cannot_be_told_apart_and_frames_without_rows_are_refused():
    with pytest.raises(ValueError, match="two columns with the name 'a': give each its own"):
        read_columns(pd.DataFrame([["x", 1]], columns=["a", "a"]))
    with pytest.raises(ValueError, match=r"collect it first, X.collect\(\)"):
        read_columns(pl.LazyFrame({"a": ["x"]}))
    with pytest.raises(ValueError, match="X holds times of type datetime64"):
        read_columns(np.array([["2026-01-01"]], dtype="M8[D]"))


def test_columns_without_names_go_by_their_places():
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    for columns in ([7, 5], levels):
        assert read_columns(pd.DataFrame([["p", 1.0]], columns=columns)).labels == ["0", "1"]
    assert read_columns([["p", 1.0], ["q", 2.0]]).kinds == ["words", "number"]
