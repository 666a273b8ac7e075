"""Answers keep the columns of the data, as they are in the file, with the numbers of the rows."""

import csv
import datetime
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kullback
from cli.helpers import rows_for, write_csv
from kullback.cli._output_columns import JsonText, Text, Typed, Values

HEADER = ["time", "id", "x", "note", "n", "kind", "on"]
#: Rows as they are written; what is empty in the columns of the model is missing.
ROWS = [
    ["2026-01-01 00:00", "007", "1.50", 'a, "b"', "3", "red", "true"],
    ["2026-01-01 00:01", "008", "", "", "", "blue", "false"],
    ["2026-01-01 00:02", "", "2", "ü", "12", "", ""],
    ["2026-01-01 00:03", "010", "1e1", "z", "0", "red", "true"],
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return a model of mixed columns, fitted once."""
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    rng = np.random.default_rng(0)
    data = path.with_name("data.csv")
    lines = [
        f"{rng.normal():.3f},{rng.poisson(5)},{rng.choice(['red', 'blue'])},{rng.choice(['true', 'false'])}"
        for _ in range(64)
    ]
    data.write_text("x,n,kind,on\n" + "\n".join(lines) + "\n")
    from typer.testing import CliRunner

    from kullback.cli import app

    fit = [
        "fit",
        "mixture",
        str(data),
        "--family",
        "gaussian,poisson,categorical,bernoulli",
        "--random-state",
        "0",
        "--method",
        "online",
    ]
    assert CliRunner().invoke(app, [*fit, "--n-components", "2", "--save", str(path)]).exit_code == 0
    return str(path)


def write_text(path, delimiter=",", rows=ROWS):
    with open(path, "w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([HEADER, *rows])


def rows_of(text):
    return list(csv.reader(text.splitlines()))


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.csv.gz", "-"])
def test_text_comes_back_as_it_was_written(run, model, name):
    write_text("d.csv")
    write_text("d.tsv", "\t")
    with open("d.csv", "rb") as plain, gzip.open("d.csv.gz", "wb") as packed:
        packed.write(plain.read())
    piped = {"input": Path("d.csv").read_text()} if name == "-" else {}
    format = ["--format", "csv"] if name == "-" else []
    head, *rows = rows_of(run("score", model, name, *format, "--quiet", **piped).stdout)
    assert head == ["row", *HEADER, "log_likelihood", "component", "anomaly", "unlikely_column"]
    assert [row[:8] for row in rows] == [[str(k), *row] for k, row in enumerate(ROWS, 1)]
    head, *rows = rows_of(run("impute", model, name, *format, "--quiet", "-o", "-", **piped).stdout)
    assert head == ["row", *HEADER]
    for found, row in zip(rows, ROWS, strict=True):
        assert [new for new, old in zip(found[1:], row, strict=True) if old] == [old for old in row if old]
    assert rows[0][1:] == ROWS[0]
    assert float(rows[1][3])
    assert rows[1][5].isdigit()  # a count is whole
    assert rows[2][6] in ("red", "blue")
    assert rows[2][7] in ("true", "false")
    assert rows[2][2] == ""  # the model knows nothing of it
    assert rows[1][4] == ""


@pytest.mark.slow
def test_some_columns_or_none_are_kept(run, refused, model):
    write_text("d.csv")
    score = ["score", model, "d.csv", "--quiet"]
    own = ["log_likelihood", "component", "anomaly", "unlikely_column"]
    assert rows_of(run(*score, "--keep", "note,time").stdout)[0] == ["row", "time", "note", *own]
    assert rows_of(run(*score, "--keep", "none").stdout)[0] == ["row", *own]
    assert rows_of(run(*score, "--keep", "none", "--no-row-numbers").stdout)[0] == own
    assert rows_of(run("impute", model, "d.csv", "--quiet", "--keep", "note").stdout)[0] == [
        "row",
        "x",
        "note",
        "n",
        "kind",
        "on",
    ]
    assert "no column 'tim'" in refused(*score, "--keep", "tim")


def test_names_that_clash_are_refused(run, refused, model):
    write_text("d.csv")
    run("score", model, "d.csv", "--quiet", "--keep", "x,n,kind,on", "-o", "scores.csv")
    sentence = refused("score", model, "scores.csv", "--quiet")
    assert sentence.startswith("scores.csv has a column 'row', and so has the answer: use --no-row-numbers, or --keep")
    assert "column 'log_likelihood'" in refused("score", model, "scores.csv", "--quiet", "--no-row-numbers")
    run("score", model, "scores.csv", "--quiet", "--keep", "x")
    run("impute", model, "scores.csv", "--quiet", "--no-row-numbers")


def test_a_row_number_is_that_of_the_file(run, model):
    write_text("d.csv", rows=[ROWS[0], ["t", "1", "bad", "", "1", "red", "true"], ROWS[3]])
    for command in ("score", "impute"):
        rows = rows_of(run(command, model, "d.csv", "--skip-bad", "--quiet").stdout)[1:]
        assert [row[:3] for row in rows] == [["1", "2026-01-01 00:00", "007"], ["3", "2026-01-01 00:03", "010"]]


def test_json_has_numbers_and_texts(run, model, tmp_path):
    lines = ['{"t": "a", "x": 1.50, "n": 3, "kind": "red", "on": true, "o": {"k": 1.0}}', '{"x": null, "kind": "blue"}']
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    first, second = run("impute", model, "d.jsonl", "--quiet", "--json").stdout.splitlines()
    assert first == '{"row": 1, "t": "a", "x": 1.50, "n": 3, "kind": "red", "on": true, "o": {"k": 1.0}}'
    second = json.loads(second)
    assert (second["row"], second["t"], second["kind"], second["o"]) == (2, None, "blue", None)
    assert type(second["n"]) is int
    assert type(second["on"]) is bool
    write_text("d.csv")
    found = json.loads(run("score", model, "d.csv", "--quiet", "--json").stdout.splitlines()[0])
    assert (found["id"], found["x"], found["time"], found["n"]) == ("007", 1.5, "2026-01-01 00:00", 3)


def test_types_are_kept_in_parquet(run, model):
    table = pa.table({
        "day": pa.array([datetime.date(2026, 1, 1), None, datetime.date(2026, 1, 3)]),
        "x": pa.array([1.5, None, 2], pa.float32()),
        "id": pa.array([1, 2**62, None]),
        "n": pa.array([1, None, 3], pa.int16()),
        "kind": pa.array(["red", None, "blue"]).dictionary_encode(),
        "on": pa.array([True, None, False]),
    })  # fmt: skip
    pq.write_table(table, "d.parquet")
    run("score", model, "d.parquet", "--quiet", "-o", "s.parquet")
    found = pq.read_table("s.parquet").select(table.column_names)
    assert found.to_pydict() == table.to_pydict()
    assert [found.schema.field(name).type for name in ("day", "x", "id", "n")] == [
        pa.date32(),
        pa.float32(),
        pa.int64(),
        pa.int16(),
    ]
    run("impute", model, "d.parquet", "--quiet", "-o", "f.parquet", "--batch-rows", 2)
    filled = pq.read_table("f.parquet")
    assert [filled.schema.field(name).type for name in ("x", "n", "on")] == [pa.float32(), pa.int16(), pa.bool_()]
    assert filled["id"].to_pylist() == [1, 2**62, None]
    assert not any(filled[name].null_count for name in ("x", "n", "kind", "on"))
    assert filled["n"].to_pylist()[::2] == [1, 3]
    text = rows_of(run("score", model, "d.parquet", "--quiet").stdout)
    assert text[1][1:7] == ["2026-01-01", "1.5", "1", "1", "red", "true"]
    write_text("d.csv")
    run("score", model, "d.csv", "--quiet", "-o", "t.parquet")
    schema = pq.read_schema("t.parquet")
    assert [str(schema.field(name).type) for name in HEADER] == [
        "string",
        "string",
        "double",
        "string",
        "int64",
        "string",
        "bool",
    ]


@pytest.mark.slow
def test_whole_numbers_are_drawn_whole(run, model):
    rows = rows_of(run("sample", model, "-n", 20, "--random-state", 0).stdout)[1:]
    assert all(row[1].isdigit() and row[3] in "01" and "." in row[0] for row in rows)
    run("sample", model, "-n", 20, "--output", "d.parquet")
    assert [str(kind) for kind in pq.read_schema("d.parquet").types] == ["double", "int64", "string", "int64"]


@pytest.mark.slow
def test_arrays_keep_their_columns_too(run):
    X = rows_for("gaussian-mixture").round(2)
    kullback.GaussianMixture(2, random_state=0).fit(X).save("m.safetensors")
    np.save("d.npy", X)
    head, first, *_ = rows_of(run("score", "m.safetensors", "d.npy", "--quiet").stdout)
    assert head[:5] == ["row", "x0", "x1", "x2", "x3"]
    assert np.array(first[1:5], float).tolist() == X[0].tolist()


def test_rows_of_a_folder_say_their_file(run, model, tmp_path):
    (tmp_path / "days").mkdir()
    for day in ("a", "b"):
        write_text(tmp_path / "days" / f"{day}.csv", rows=ROWS[:2])
    rows = rows_of(run("score", model, "days", "--quiet", "--keep", "none").stdout)
    assert [row[:2] for row in rows] == [
        ["row", "file"],
        ["1", "days/a.csv"],
        ["2", "days/a.csv"],
        ["1", "days/b.csv"],
        ["2", "days/b.csv"],
    ]


@pytest.mark.slow
def test_responsibilities_are_those_of_the_library(run, refused):
    X = rows_for("gaussian-mixture")
    write_csv("data.csv", X)
    mixture = kullback.GaussianMixture(2, random_state=0).fit(X)
    mixture.save("m.safetensors")
    rows = rows_of(run("score", "m.safetensors", "data.csv", "--responsibilities", "--quiet").stdout)
    assert rows[0][-2:] == ["responsibility_0", "responsibility_1"]
    assert np.array([row[-2:] for row in rows[1:]], float) == pytest.approx(mixture.predict_proba(X))
    kullback.FactorAnalysis(1).fit(X).save("f.safetensors")
    sentence = refused("score", "f.safetensors", "data.csv", "--responsibilities")
    assert sentence == "--responsibilities is for mixtures and hidden Markov models: this model is a FactorAnalysis."


@pytest.mark.slow
def test_states_have_responsibilities(run):
    X = rows_for("gaussian-hmm")
    write_csv("data.csv", X)
    chain = kullback.GaussianHMM(2, random_state=0).fit(X)
    chain.save("m.safetensors")
    rows = rows_of(run("decode", "m.safetensors", "data.csv", "--responsibilities").stdout)
    assert rows[0] == ["row", "c0", "c1", "c2", "c3", "state", "responsibility_0", "responsibility_1"]
    assert np.array([row[-2:] for row in rows[1:]], float) == pytest.approx(chain.predict_proba(X))
    rows = rows_of(run("score", "m.safetensors", "data.csv", "--responsibilities", "--quiet").stdout)
    assert np.array([row[-2:] for row in rows[1:]], float) == pytest.approx(chain.score_next(X).states)


def test_columns_are_written_in_three_ways():
    whole = Values(np.array([1.0, np.nan]), whole=True)
    assert (whole.csv(), whole.json(), whole.arrow().to_pylist()) == ([1, None], ["1", "null"], [1, None])
    text = Text(["07", "1.0", "", "-3"], True, None)
    assert text.json() == ['"07"', "1.0", "null", "-3"]
    assert text.arrow().to_pylist() == ["07", "1.0", None, "-3"]
    assert JsonText(['"a"', "null", "1.0", "NaN"], None).csv() == ["a", None, "1.0", "NaN"]
    assert JsonText(["NaN", '"\x9b"'], None).json() == ["null", '"\\u009b"']
    moment = pa.array([datetime.datetime(2026, 1, 1, 3), None], pa.timestamp("us"))
    assert Typed(moment).csv() == ["2026-01-01 03:00:00", None]
    assert Typed(pa.array([0.1, None], pa.float32())).csv() == [0.1, None]
    assert Typed(pa.array([[1, 2], None])).csv() == ["[1, 2]", None]
    assert Typed(pa.array([b"\xff"])).json() == ['"ff"']
    assert Typed(pa.array([1, None])).fill(np.array([False, True]), Values([1.0, 2.5])).csv() == [1.0, 2.5]
