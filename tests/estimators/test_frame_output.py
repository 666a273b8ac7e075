"""Answers that look like X come back as the kind of frame that came in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kullback
from kullback.estimators.data._frame_output import restore_frame

KNOWN = [None, ["b", "a"], None, None]
#: A row that is whole, one of other entries, and one in which all is missing.
TABLE = np.array([[1.5, 0.0, 1.0, 7.0], [2.5, 1.0, 0.0, 8.0], [np.nan] * 4])
NAMES = ["x", "word", "bit", "count"]
NULLABLE = {"x": "Float64", "word": "string", "bit": "boolean", "count": "Int64"}
ARROW = {"x": "double[pyarrow]", "word": "string[pyarrow]", "bit": "bool[pyarrow]", "count": "int64[pyarrow]"}
LISTED = {"x": "float32", "word": pd.CategoricalDtype(["z", "a", "b"]), "bit": "boolean", "count": "UInt8"}


def pandas_like(types):
    return pd.DataFrame({name: pd.Series([], dtype=types[name]) for name in NAMES})


@pytest.mark.parametrize("types", [NULLABLE, ARROW, LISTED])
def test_types_of_pandas_that_know_missing_values_stay(types):
    found = restore_frame(TABLE, pandas_like(types), KNOWN)
    assert {name: str(dtype) for name, dtype in found.dtypes.items()} == {
        name: str(pd.Series([], dtype=dtype).dtype) for name, dtype in types.items()
    }
    assert found["word"].tolist()[:2] == ["b", "a"]
    assert found["bit"].tolist()[:2] == [True, False]
    assert found["count"].tolist()[:2] == [7, 8]
    assert found.isna().sum(axis=1).tolist() == [0, 0, 4]
    if types is LISTED:
        assert list(found["word"].cat.categories) == ["z", "a", "b"]


def test_types_of_numpy_stay_where_nothing_is_missing():
    like = pandas_like({"x": "float64", "word": object, "bit": bool, "count": "int32"})
    whole = restore_frame(TABLE[:2], like, KNOWN)
    assert list(whole.dtypes) == list(like.dtypes)
    assert whole.to_numpy().tolist() == [[1.5, "b", True, 7], [2.5, "a", False, 8]]
    missing = restore_frame(TABLE, like, KNOWN)
    assert [str(dtype) for dtype in missing.dtypes] == ["float64", "object", "boolean", "Int64"]


def test_what_a_type_cannot_hold_makes_a_column_of_floats():
    odd = np.array([[0.0, 5.0, 0.3, 2.5]])
    found = restore_frame(odd, pandas_like(NULLABLE), KNOWN)
    assert found["bit"].tolist() == [0.3]
    assert found["count"].tolist() == [2.5]
    assert found["word"].tolist() == ["category 5"]  # room that no row has used
    listed = restore_frame(odd, pandas_like(LISTED), KNOWN)
    assert list(listed["word"].cat.categories) == ["z", "a", "b", "category 5"]


def test_index_and_names_of_pandas_stay():
    like = pandas_like(NULLABLE).reindex(["p", "q", "r"])
    like.columns = pd.MultiIndex.from_product([["top"], NAMES])
    found = restore_frame(TABLE, like, KNOWN)
    assert found.index.tolist() == ["p", "q", "r"]
    assert found.columns.equals(like.columns)
    assert restore_frame(TABLE[:2], like, KNOWN).index.tolist() == [0, 1]


@pytest.mark.parametrize("text", [pl.String, pl.Categorical, pl.Enum(["z", "a", "b"])])
def test_types_of_polars_stay(text):
    like = pl.DataFrame(schema={"x": pl.Float32, "word": text, "bit": pl.Boolean, "count": pl.Int16})
    found = restore_frame(TABLE, like, KNOWN)
    assert found.schema == like.schema
    assert found.rows() == [(1.5, "b", True, 7), (2.5, "a", False, 8), (None,) * 4]
    odd = restore_frame(np.array([[0.0, 5.0, 0.3, 2.5]]), like, KNOWN)
    assert odd.rows() == [(0.0, "category 5", 0.3, 2.5)]


def test_types_of_pyarrow_stay():
    like = pa.table({"x": pa.array([], pa.float32()), "word": pa.array([], pa.large_string()),
                     "bit": pa.array([], pa.bool_()), "count": pa.array([], pa.int8())})  # fmt: skip
    found = restore_frame(TABLE, like, KNOWN)
    assert found.schema == like.schema
    assert found.to_pylist()[0] == {"x": 1.5, "word": "b", "bit": True, "count": 7}
    assert set(found.to_pylist()[2].values()) == {None}


def test_arrays_stay_arrays():
    assert restore_frame(TABLE, TABLE, KNOWN) is TABLE
    assert restore_frame(TABLE, [[1, 2]], KNOWN) is TABLE


@pytest.mark.slow
def test_what_is_imputed_and_drawn_looks_like_x():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=100), "word": rng.choice(["a", "b"], 100), "bit": rng.random(100) < 0.5})
    gaps = frame.astype({"bit": "boolean"}).mask(rng.random((100, 3)) < 0.2)
    for kind, limit in ((kullback.Mixture, {"tol": 1e9}), (kullback.HMM, {"n_iter": 2})):
        found = kind(1, family="auto", random_state=0, **limit).fit(gaps)
        filled = found.impute(gaps)
        assert list(filled.dtypes) == list(gaps.dtypes)
        assert not filled.isna().to_numpy().any()
        assert filled.where(gaps.notna()).equals(gaps)
        numbers = found.to_array(gaps)
        bare = kind.from_model(found.to_model(), random_state=0)
        np.testing.assert_array_equal(bare.impute(numbers), found.to_array(filled))
        drawn = found.to_frame(found.sample(5)[0], like=frame)
        assert set(drawn["word"]) <= {"a", "b"}
        assert drawn["bit"].dtype == bool
        assert found.to_frame(numbers, numbers) is numbers
        with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3 features"):
            found.to_frame(numbers, frame[["x", "word"]])
