"""What a saved model is asked."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import kullback
from cli.helpers import BATCH, each_command, rows_for, size_of, write_csv
from kullback.cli._column_roles import Chunk, Roles
from kullback.cli._model_file import read_model
from kullback.cli._row_scores import SeriesScorer
from kullback.cli._saved_model import SavedModel
from kullback.estimators import _anomalies

#: One of each sort: to the command the others are like these.
SERIES = ["gaussian-hmm", "linear-dynamical-system"]
SORTS = ["gaussian-mixture", "categorical-mixture", "factor-analysis", "compound-dirichlet", *SERIES]


def table(text):
    """Return CSV as columns."""
    rows = list(csv.DictReader(text.splitlines()))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.fixture
def fitted(run):
    """Fit an estimator from the command line, and return it and the rows."""

    def fitted(name):
        X = rows_for(name)
        write_csv("data.csv", X)
        fit = ["fit", name, "data.csv", *size_of(name), "--random-state", 0, "--batch-rows", BATCH]
        run(*fit, "--save", "m.safetensors")
        return read_model("m.safetensors").estimator, X

    return fitted


@pytest.mark.parametrize("name", each_command(SORTS, slow=("GaussianHMM", "LinearDynamicalSystem")))
def test_every_sort_answers(run, refused, fitted, name):
    model, X = fitted(name)
    scores = table(run("score", "m.safetensors", "data.csv", "--quiet", "--batch-rows", BATCH).stdout)
    found = np.array(scores["log_likelihood"], float)
    if name in SERIES:
        assert found.sum() == pytest.approx(model.score(X), rel=1e-9)
    else:
        assert found == pytest.approx(model.score_samples(X), rel=1e-12)
    assert set(scores["anomaly"]) <= {"true", "false"}
    assert ("component" in scores) == hasattr(model, "predict")

    drawn = table(run("sample", "m.safetensors", "-n", BATCH, "--random-state", 1).stdout)
    assert {name: len(column) for name, column in drawn.items()} == {f"c{k}": BATCH for k in range(X.shape[1])}
    told = json.loads(run("inspect", "m.safetensors", "--json").stdout)
    assert (told["kind"], told["points_seen"], told["version"]) == (type(model).__name__, 128, kullback.__version__)
    assert told["columns"] == [f"c{k}" for k in range(X.shape[1])]
    assert "points seen              128" in run("inspect", "m.safetensors").stdout

    if name != "compound-dirichlet":  # rows of counts are there or not, as a whole
        X[::5, 0] = np.nan
        write_csv("holes.csv", X)
        filled = table(run("impute", "m.safetensors", "holes.csv", "--quiet", "--batch-rows", BATCH).stdout)
        assert filled.pop("row") == [str(k + 1) for k in range(len(X))]
        values = np.array(list(filled.values()), float).T
        assert np.isfinite(values).all()
        assert (values[~np.isnan(X)] == X[~np.isnan(X)]).all()
    if name in SERIES:
        ahead = table(run("forecast", "m.safetensors", "data.csv", "--steps", 3).stdout)
        assert ahead["step"] == ["1", "2", "3"]
        path = table(run("decode", "m.safetensors", "data.csv").stdout)
        assert all(len(column) == 128 for column in path.values())
    else:
        for command in ("forecast", "decode"):
            sentence = refused(command, "m.safetensors", "data.csv")
            assert sentence.startswith(f"{command} is for models of series")
            assert type(model).__name__ in sentence


def test_forecasts_and_states_are_those_of_the_library(run, fitted):
    system, X = fitted("linear-dynamical-system")
    wanted = system.forecast(X, 4, level=0.8)
    found = table(run("forecast", "m.safetensors", "data.csv", "--steps", 4, "--level", 0.8).stdout)
    assert np.array(found["c1"], float) == pytest.approx(wanted.mean[:, 1])
    assert np.array(found["c0_lower"], float) == pytest.approx(wanted.lower[:, 0])
    assert np.array(found["c1_upper"], float) == pytest.approx(wanted.upper[:, 1])
    states = table(run("decode", "m.safetensors", "data.csv").stdout)
    assert np.array(states["state_0"], float) == pytest.approx(system.smooth(X)[0][:, 0])
    assert set(states) == {"row", "c0", "c1"} | {f"state_{h}{sd}" for h in range(3) for sd in ("", "_sd")}


def test_a_symbol_ahead_has_a_probability(run, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "words.csv").write_text("sound\n" + "\n".join(rng.choice(["ba", "di", "gu"], 128)) + "\n")
    fit = ["fit", "categorical-hmm", "words.csv", "--n-components", 3, "--random-state", 0, "--batch-rows", BATCH]
    run(*fit, "--save", "m.safetensors")
    ahead = table(run("forecast", "m.safetensors", "words.csv").stdout)
    sounds = [float(ahead[f"sound={sound}"][0]) for sound in ("ba", "di", "gu")]
    assert sum(sounds) == pytest.approx(1)
    assert sum(float(ahead[f"state_{h}"][0]) for h in range(3)) == pytest.approx(1)


@pytest.mark.slow
def test_anomalies_are_as_many_as_asked_for_among_the_models_own_rows(run, fitted, monkeypatch):
    monkeypatch.setattr(_anomalies, "DRAWS", 4000)
    fitted("gaussian-mixture")
    run("sample", "m.safetensors", "-n", 4000, "--random-state", 5, "--output", "own.csv")
    flags = table(run("score", "m.safetensors", "own.csv", "--anomaly", 0.1, "--quiet").stdout)["anomaly"]
    assert flags.count("true") / 4000 == pytest.approx(0.1, abs=0.03)
    X = np.full((3, 4), 3.0)
    X[0] = 1000
    X[1, 1:] = np.nan  # one entry that is likely: fewer entries, other likelihoods
    X[2] = np.nan
    write_csv("some.csv", X)
    flags = table(run("score", "m.safetensors", "some.csv", "--quiet").stdout)["anomaly"]
    assert flags == ["true", "false", "false"]


@pytest.mark.slow
def test_anomalies_of_a_machine_have_the_column_that_was_changed(run):
    """In all rows but one all columns are the same."""
    X = np.repeat(rows_for("gaussian-rbm")[:, :1], 4, axis=1)
    X[7, 2] = 40.0
    write_csv("same.csv", X)
    run("fit", "gaussian-rbm", "same.csv", "--n-components", 4, "--n-iter", 60, "--random-state", 0, "--save", "same")
    told = table(run("score", "same", "same.csv", "--quiet", "--contributions").stdout)
    assert told["anomaly"][7] == "true"
    assert told["unlikely_column"][7] == "c2"
    found = np.array([told[f"contribution_c{place}"] for place in range(4)], float)
    assert np.isfinite(found).all()
    assert found[:, 7].argmax() == 2


def test_a_series_is_scored_the_same_in_pieces(run, fitted):
    model, X = fitted("gaussian-hmm")
    saved = SavedModel(model, None, {}, Roles(), None, [])
    whole, pieces = SeriesScorer(saved), SeriesScorer(saved)
    parts = [pieces(Chunk(part)).log_likelihood for part in np.split(X, 2)]
    assert np.concatenate(parts) == pytest.approx(whole(Chunk(X)).log_likelihood, rel=1e-10)


def test_rows_leave_in_the_format_of_the_suffix(run, refused, fitted, tmp_path):
    fitted("gaussian-mixture")
    wanted = table(run("score", "m.safetensors", "data.csv", "--quiet").stdout)
    for name in ("s.csv", "s.parquet", "s.jsonl"):
        assert "128 rows" in run("score", "m.safetensors", "data.csv", "--output", name, "--batch-rows", 64).stderr
    assert table((tmp_path / "s.csv").read_text()) == wanted
    columns = pq.read_table(tmp_path / "s.parquet").to_pydict()
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert columns["log_likelihood"] == [line["log_likelihood"] for line in lines]
    assert [str(value) for value in columns["log_likelihood"]] == wanted["log_likelihood"]
    assert columns["anomaly"] == [line["anomaly"] for line in lines]
    assert run("score", "m.safetensors", "data.csv", "--json", "--quiet").stdout == (tmp_path / "s.jsonl").read_text()
    assert "has no suffix of .csv" in refused("score", "m.safetensors", "data.csv", "--output", "s.xls")
    assert "not a directory" in refused("score", "m.safetensors", "data.csv", "--output", "nowhere/s.csv")


def test_a_row_that_the_model_does_not_allow_is_named(run, refused):
    X = rows_for("poisson-mixture")
    kullback.PoissonMixture(1, random_state=0).fit(X).save("m.safetensors")
    X[100, 1] = -1
    write_csv("data.csv", X)
    for command in ("score", "impute"):
        sentence = refused(command, "m.safetensors", "data.csv", "--batch-rows", BATCH, "-o", "out.csv")
        assert sentence.startswith("data.csv, row 101: ")
        assert "column 'c1' is -1" in sentence


def test_half_an_answer_is_no_file(run, refused, fitted, tmp_path):
    fitted("gaussian-mixture")
    text = (tmp_path / "data.csv").read_text() + "1,2,x,4\n"
    (tmp_path / "bad.csv").write_text(text)
    assert "bad.csv, line 130" in refused("score", "m.safetensors", "bad.csv", "--batch-rows", BATCH, "-o", "s.csv")
    assert not (tmp_path / "s.csv").exists()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_models_are_combined(run, refused, tmp_path):
    for seed, name in enumerate(("a", "b")):
        write_csv("data.csv", rows_for("gaussian-mixture", 400, seed=seed))
        run(
            "fit",
            "gaussian-mixture",
            "data.csv",
            "--n-components",
            2,
            "--random-state",
            seed,
            "--save",
            f"{name}.safetensors",
        )
    said = run("combine", "a.safetensors", "b.safetensors", "--save", "all.safetensors").stdout
    assert said == "GaussianMixture of 2 models, 800 points: all.safetensors\n"
    together, columns, *_ = read_model("all.safetensors")
    assert sorted(together.means_[:, 0].round()) == [-3, 3]
    assert columns["names"] == ["c0", "c1", "c2", "c3"]
    run("combine", "a.safetensors", "b.safetensors", "--weights", "1,0", "--save", "one.safetensors")
    found, wanted = (kullback.load(f"{name}.safetensors").means_[:, 0] for name in ("one", "a"))
    assert np.sort(found) == pytest.approx(np.sort(wanted))
    both = ["combine", "a.safetensors", "b.safetensors", "--save", "all.safetensors"]
    assert "--weights is 'x'" in refused(*both, "--weights", "x")
    write_csv("data.csv", rows_for("gaussian-mixture"), ["c0", "c1", "c2", "other"])
    run("fit", "gaussian-mixture", "data.csv", "--save", "c.safetensors")
    assert "different columns" in refused("combine", "a.safetensors", "c.safetensors", "--save", "all.safetensors")
    run("fit", "mixture", "data.csv", "--save", "d.safetensors")
    assert "all must have the same type" in refused(
        "combine", "c.safetensors", "d.safetensors", "--save", "all.safetensors"
    )


@pytest.mark.slow
def test_models_of_frames_and_of_arrays_are_read(run):
    import pandas as pd

    X = rows_for("gaussian-mixture")
    write_csv("data.csv", X, ["a", "b", "c", "d"])
    frame = pd.DataFrame(X[:, [2, 0]], columns=["c", "a"])
    kullback.GaussianMixture(3, random_state=0).partial_fit(frame).save("frame.safetensors")
    kullback.GaussianMixture(3, random_state=0).partial_fit(X[:, [2, 0]]).save("array.safetensors")
    write_csv("two.csv", X[:, [2, 0]], ["c", "a"])
    named = run("score", "frame.safetensors", "data.csv", "--quiet", "--keep", "none")
    assert named.stderr == ""
    assert named.stdout == run("score", "array.safetensors", "two.csv", "--quiet", "--keep", "none").stdout
    assert run("sample", "array.safetensors").stdout.startswith("x0,x1\n")


def test_what_is_no_model_is_refused(refused, fitted, tmp_path):
    fitted("gaussian-mixture")
    assert refused("inspect", "nothing.safetensors") == "There is no file nothing.safetensors."
    content = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "half.safetensors").write_bytes(content[: len(content) // 2])
    assert "half.safetensors is not a saved model" in refused("score", "half.safetensors", "data.csv")
    assert "not a saved model" in refused("sample", "data.csv")
    assert "There is no file none.csv" in refused("impute", "m.safetensors", "none.csv")
    assert "must be 0 or more, and less than 1" in refused("score", "m.safetensors", "data.csv", "--anomaly", 2)
    write_csv("less.csv", rows_for("gaussian-mixture")[:, :2])
    assert "no column 'c2'" in refused("score", "m.safetensors", "less.csv")
