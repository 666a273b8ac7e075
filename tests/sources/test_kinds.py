"""What columns hold: times, numbers with commas, and words that are not categories."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kullback.sources import BadRow, open_source
from kullback.sources._columns import Columns

TIMES = [
    "2026-01-01",
    "2026-01-01 00:00:00",
    "2026-12-31T23:59:59",
    "2026-01-01T00:00:00.123456",
    "2026-01-01T00:00:00Z",
    "2026-01-01 00:00:00+02:00",
    "2026-01-01 00:00:00.5 UTC",
    "2026-01-01T00:00-0530",
    "20260101T000000Z",
    "12:30",
    "23:59:59.999",
]


def csv_of(words, quote='"'):
    return "\n".join(["x,w", *(f"{n},{quote}{word}{quote}" for n, word in enumerate(words)), ""]).encode()


def jsonl_of(words):
    return "".join(json.dumps({"x": n, "w": word}) + "\n" for n, word in enumerate(words)).encode()


WRITTEN = {"csv": csv_of, "tsv": lambda words: csv_of(words).replace(b",", b"\t"), "jsonl": jsonl_of}


@pytest.fixture(params=WRITTEN)
def format(request):
    return request.param


@pytest.mark.parametrize("time", TIMES)
def test_times_in_text_are_refused(format, time):
    text = WRITTEN[format]([time, "", time, "unknown", time])
    what = r"column 'w' holds times such as '.*', and a model learns from numbers and categories: turn it into"
    with pytest.raises(ValueError, match=what):
        open_source(io.BytesIO(text), format=format)
    source = open_source(io.BytesIO(text), format=format, columns=["x"])
    assert np.array_equal(next(iter(source))[:, 0], np.arange(5))


def test_times_are_refused_as_in_parquet(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "w": pd.to_datetime(["2026-01-01", "2026-01-02"])})
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_csv(tmp_path / "x.csv", index=False)
    said = []
    for suffix in ("parquet", "csv"):
        with pytest.raises(ValueError, match="holds times") as error:
            open_source(tmp_path / f"x.{suffix}")
        said.append(str(error.value).partition(", and")[2])
    assert said[0] == said[1]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_times_may_tell_sequences_apart(tmp_path, suffix):
    days = ["2026-01-01", "2026-01-01", "2026-01-02", "2026-01-02"]
    frame = pd.DataFrame({"x": np.arange(4.0), "day": days})
    frame.to_csv(tmp_path / "x.csv", index=False)
    pq.write_table(pa.table({"x": np.arange(4.0), "day": pd.to_datetime(days).date}), tmp_path / "x.parquet")
    (table,) = open_source(tmp_path / f"x.{suffix}", sequence="day")
    expected = next(iter(open_source(frame, sequence="day")))
    assert np.array_equal(table, expected)
    assert len(set(table[:, 1])) == 2


@pytest.mark.parametrize(
    "word", ["2026", "2026-13-01", "2026-001", "3:2", "12:60", "A-2026-01-01", "1-2-3", "10.0.0.1"]
)
def test_words_that_are_no_times(format, word):
    source = open_source(io.BytesIO(WRITTEN[format]([word, "red", "red"])), format=format)
    assert source.kinds["w"] == "words"


def test_a_few_times_do_not_make_a_column_of_times(format):
    source = open_source(io.BytesIO(WRITTEN[format](["2026-01-01", "red", "blue"])), format=format)
    assert np.array_equal(np.concatenate(list(source))[:, 1], [0, 1, 2])


@pytest.mark.parametrize(
    "entry",
    [
        "1,5",
        "-1,5",
        "+1,000",
        "1,000",
        "1,234,567.5",
        "1.000,5",
        "-1 000,25",
        ",5",
        "1,5e3",
        "1.000.000",
        "12'345.5",
        "1\u00a0000",
    ],
)
def test_numbers_with_commas_are_bad_rows(format, entry):
    if format == "tsv":
        text = "\n".join(["x\tw", f"0\t{entry}", "1\t2.5", f"2\t{entry}", ""]).encode()
    else:
        text = WRITTEN[format]([entry, "2.5", entry])
    line = 1 if format == "jsonl" else 2
    what = rf"line {line}: column 'w' is .*, which is not a number: write decimals with a point, and nothing betw"
    with pytest.raises(BadRow, match=what):
        list(open_source(io.BytesIO(text), format=format))
    source = open_source(io.BytesIO(text), format=format, skip_bad=True)
    assert np.array_equal(np.concatenate(list(source)), [[1, 2.5]])
    assert source.bad_rows == 2


@pytest.mark.parametrize(
    "word", ["red, blue", "1,2,3", "a,5", "Smith, J.", "1,5 kg", ",", "1,,5", "1, 5", "110 001", "10.0.0.1"]
)
def test_words_with_commas_are_words(word):
    for format in ("csv", "jsonl"):
        source = open_source(io.BytesIO(WRITTEN[format]([word, "red", word])), format=format)
        assert np.array_equal(np.concatenate(list(source))[:, 1], [0, 1, 0])
        assert source.codes == {"w": [word, "red"]}


def test_truth_is_true_or_false(format):
    text = WRITTEN[format](["true", "False"]) + WRITTEN[format]([7]).splitlines()[-1]
    with pytest.raises(BadRow, match="column 'w' is '?7'?, which is neither true nor false"):
        list(open_source(io.BytesIO(text), format=format, batch_rows=2))  # whose kinds two rows decide


def test_lists_among_truths_are_bad_rows():
    text = b'{"a": true}\n{"a": [1]}\n{"a": false}\n'
    with pytest.raises(BadRow, match=r"line 2: column 'a' is \[1\], which is n"):
        list(open_source(io.BytesIO(text), format="jsonl"))


@pytest.fixture(params=["csv", "jsonl", "parquet", "pandas", "stream", "tables", "shuffled"])
def opened(request, tmp_path):
    """Opens a column of words, each time from another place, with batches of different sizes."""

    def open_words(words, rows=64, **options):
        frame = pd.DataFrame({"x": np.arange(len(words)), "w": words})
        if request.param == "parquet":
            frame.to_parquet(tmp_path / "x.parquet")
        elif request.param in ("csv", "shuffled"):
            (tmp_path / "x.csv").write_bytes(csv_of(words))
        elif request.param == "jsonl":
            (tmp_path / "x.jsonl").write_bytes(jsonl_of(words))
        elif request.param == "stream":
            return open_source(io.BytesIO(csv_of(words)), format="csv", batch_rows=rows, **options)
        elif request.param == "tables":
            return open_source([frame[:100], frame[100:]], batch_rows=rows, **options)
        data = frame if request.param == "pandas" else tmp_path
        shuffle = {"shuffle": 50} if request.param == "shuffled" else {}
        return open_source(data, batch_rows=rows, **shuffle, **options)

    return open_words


IDS = [f"id {n}" for n in range(300)]


def test_words_that_are_nearly_all_different_are_refused(opened):
    what = "Column 'w' holds 280 different texts in 300 rows: these are names or notes, and not categories; leave it"
    for rows in (30, 10_000):
        with pytest.raises(ValueError, match=what):
            list(opened([*IDS[:280], *IDS[:20]], rows))
    assert sum(map(len, opened(IDS, columns=["x"]))) == 300
    assert sum(map(len, opened(IDS, codes={"w": IDS}))) == 300
    assert sum(map(len, opened(IDS, sequence="w"))) == 300


def test_categories_of_many_words_are_read(opened):
    assert sum(map(len, opened(IDS[:199]))) == 199  # a small table
    assert sum(map(len, opened(IDS + IDS[:40]))) == 340  # each comes in turn, and the first ones again
    assert sum(map(len, opened(IDS[:100] + [""] * 500))) == 600


def test_missing_words_do_not_count(opened):
    with pytest.raises(ValueError, match="holds 300 different texts in 300 rows"):
        list(opened([each for word in IDS for each in (word, "", "")]))


def test_a_source_that_resumes_counts_as_one_that_was_left_alone(opened, request):
    if request.node.callspec.params["opened"] == "stream":
        pytest.skip("a stream does not begin again")
    for words, refused in ((IDS, True), ([*IDS[:150], *IDS[:150]], False)):
        source = opened(words, 64)
        next(iter(source))
        again = opened(words, 64)
        again.resume(json.loads(json.dumps(source.position)))
        if refused:
            with pytest.raises(ValueError, match="holds 300 different texts in 300 rows"):
                list(again)
        else:
            assert sum(map(len, again)) == 236


def test_names_are_looked_up_and_not_searched_for():
    class Names(list):
        """A list that would take long for each search."""

        index = count = __contains__ = None

    names, kinds = Names(f"c{place}" for place in range(100)), ["number"] * 100
    columns = Columns(names[::-1], names, kinds, None, "data")
    assert columns.taken == list(range(100))[::-1]
    columns.names = Names(columns.names)
    assert columns.places("more", Names(names[1:] + names[:1]), 100) == [*range(99)][::-1][:99] + [99]
    with pytest.raises(ValueError, match="data has two columns with the name 'c7'"):
        Columns(None, Names([*names, "c7"]), [*kinds, "number"], None, "data")


def test_thousands_of_columns(tmp_path):
    names = [f"c{place}" for place in range(2_000)]
    (tmp_path / "x.csv").write_text(f"{','.join(names)}\n{','.join(map(str, range(2_000)))}\n1,2\n")
    (tmp_path / "x.jsonl").write_text(json.dumps(dict(zip(names, range(2_000), strict=True))) + "\n")
    for name in ("x.csv", "x.jsonl"):
        source = open_source(tmp_path / name, columns=names[::-1], skip_bad=True)
        assert np.array_equal(np.concatenate(list(source)), [np.arange(2_000)[::-1]])
