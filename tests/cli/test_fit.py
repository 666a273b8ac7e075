"""kullback fit: online, in batch, from a pipe."""

import json

import numpy as np
import pytest

import kullback
from cli.helpers import BATCH, each_command, held, names_for, rows_for, size_of, write_csv
from kullback.cli._model_file import read_model


def test_online_is_fit_stream(run):
    X = rows_for("gaussian-mixture")
    write_csv("data.csv", X)
    run("fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--random-state", 3, "--batch-rows", BATCH,
        "--passes", 2, "--save", "m.safetensors")  # fmt: skip
    wanted = kullback.GaussianMixture(3, random_state=3).fit_stream(np.split(X, 2), passes=2)
    found = kullback.load("m.safetensors")
    assert np.array_equal(found.means_, wanted.means_)
    assert np.array_equal(found.covariances_, wanted.covariances_)
    assert found.n_points_seen_ == 256


def test_a_series_goes_on_from_batch_to_batch_and_ends_with_the_file(run):
    X = rows_for("gaussian-hmm")
    write_csv("data.csv", X)
    fit = ["fit", "gaussian-hmm", "data.csv", "--n-components", 3, "--random-state", 3, "--batch-rows", BATCH]
    run(*fit, "--save", "m.safetensors")
    wanted = kullback.GaussianHMM(3, random_state=3).fit_stream(np.split(X, 2))
    found = kullback.load("m.safetensors")
    assert np.array_equal(found.means_, wanted.means_)
    assert np.array_equal(found.transmat_, wanted.transmat_)
    assert found.n_points_seen_ == 128
    assert not hasattr(found, "waiting_")


def test_em_is_fit(run):
    X = rows_for("gaussian-mixture")
    write_csv("data.csv", X)
    run("fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--random-state", 3, "--method", "em",
        "--batch-rows", BATCH, "--save", "m.safetensors")  # fmt: skip
    wanted = kullback.GaussianMixture(3, random_state=3).fit(X)
    found = kullback.load("m.safetensors")
    assert np.array_equal(found.means_, wanted.means_)
    assert found.converged_
    assert found.verbose == 0


def test_a_warning_is_a_sentence(run):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit = ["fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--random-state", 0, "--method", "em"]
    fit += ["--max-iter", 1, "--tol", 0, "--save", "m.safetensors"]
    told = run(*fit)
    (line,) = told.stderr.splitlines()
    assert line.startswith("kullback: Best performing initialization did not converge.")
    assert run(*fit, "--quiet").output == ""


def test_rows_come_through_a_pipe(run):
    X = rows_for("gaussian-mixture").round(3)
    write_csv("data.csv", X)
    fit = ["--n-components", 3, "--random-state", 0, "--batch-rows", BATCH, "--save"]
    run("fit", "gaussian-mixture", "data.csv", *fit, "file.safetensors")
    with open("data.csv") as rows:
        run("fit", "gaussian-mixture", "-", "--format", "csv", *fit, "pipe.safetensors", input=rows.read())
    assert held("pipe.safetensors") == held("file.safetensors")


@pytest.mark.slow
def test_columns_are_chosen_and_remembered(run, refused):
    X = rows_for("gaussian-mixture")
    write_csv("data.csv", X, ["a", "b", "c", "d"])
    write_csv("turned.csv", X[:, ::-1], ["d", "c", "b", "a"])
    run("fit", "gaussian-mixture", "data.csv", "--columns", "c,a", "--save", "m.safetensors", "--random-state", 0)
    first = run("score", "m.safetensors", "data.csv", "--quiet", "--keep", "none").stdout
    assert run("score", "m.safetensors", "turned.csv", "--quiet", "--keep", "none").stdout == first
    write_csv("less.csv", X[:, :2], ["a", "b"])
    assert "less.csv has no column 'c'" in refused("score", "m.safetensors", "less.csv", "--quiet")


@pytest.mark.slow
def test_words_are_remembered(run, refused, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.choice(['red', 'blue'])},{rng.choice(['round', 'square', 'flat'])}" for _ in range(128)]
    (tmp_path / "words.csv").write_text("color,shape\n" + "\n".join(rows) + "\n")
    fit = ["fit", "categorical-mixture", "words.csv", "--n-components", 3, "--random-state", 0, "--batch-rows", BATCH]
    run(*fit, "--passes", 2, "--save", "m.safetensors")
    source = read_model("m.safetensors").columns
    assert source["names"] == ["color", "shape"]
    assert sorted(source["codes"]["shape"]) == ["flat", "round", "square"]
    # the other way round the words come in another order, and mean the same
    (tmp_path / "turned.csv").write_text("shape,color\n" + "\n".join(",".join(r.split(",")[::-1]) for r in rows[::-1]))
    alone = ["--quiet", "--keep", "none", "--no-row-numbers"]
    there = run("score", "m.safetensors", "words.csv", *alone).stdout.splitlines()[1:]
    back = run("score", "m.safetensors", "turned.csv", *alone).stdout.splitlines()[1:]
    assert there == back[::-1]
    drawn = run("sample", "m.safetensors", "-n", 50).stdout.splitlines()
    assert drawn[0] == "color,shape"
    assert {line.split(",")[0] for line in drawn[1:]} == {"red", "blue"}
    (tmp_path / "new.csv").write_text("color,shape\nred,round\ngreen,flat\n")
    assert "new.csv, line 3" in refused("score", "m.safetensors", "new.csv")
    (tmp_path / "holes.csv").write_text("color,shape\nred,\n,flat\n")
    filled = run("impute", "m.safetensors", "holes.csv", "--quiet").stdout.splitlines()
    assert filled[1].startswith("1,red,")
    assert filled[1].split(",")[2] in ("round", "square", "flat")
    assert filled[2].endswith(",flat")


def test_progress_is_json_or_nothing(run, monkeypatch):
    from kullback.cli import _progress_line

    monkeypatch.setattr(_progress_line, "_PIPE", 0.0)
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit = ["fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--batch-rows", BATCH, "--save", "m.safetensors"]
    told = [json.loads(line) for line in run(*fit, "--json").stdout.splitlines()]
    assert [line["rows"] for line in told] == [64, 128, 128, 128]
    assert told[-1]["done"]
    assert told[-1]["saved"] == "m.safetensors"
    assert {"rows_per_second", "log_likelihood", "seconds_left"} <= set(told[0])
    lines = run(*fit).stderr.splitlines()
    assert "64 rows" in lines[0]
    assert "nats per row" in lines[0]
    assert run(*fit, "--quiet").output == ""


def test_bad_rows_say_where_they_are(run, refused, tmp_path):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    lines = (tmp_path / "data.csv").read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:2000], "1,2,x,4", "1,2", *lines[1:129]]))
    fit = ["fit", "gaussian-mixture", "bad.csv", "--n-components", 3, "--batch-rows", BATCH, "--save", "m.safetensors"]
    assert "bad.csv, line 130" in refused(*fit)
    told = run(*fit, "--skip-bad")
    assert "2 bad rows left out" in told.stdout
    assert "--max-bad allows 1" in run(*fit, "--skip-bad", "--max-bad", 1, code=2).stderr


def test_rows_that_the_model_does_not_allow_say_where_they_are(refused):
    X = rows_for("poisson-mixture")
    X[114, 0] = -1
    write_csv("data.csv", X)
    sentence = refused("fit", "poisson-mixture", "data.csv", "--batch-rows", BATCH, "--save", "m.safetensors")
    assert sentence.startswith("data.csv, row 115: ")
    assert "column 'c0' is -1" in sentence
    em = ["fit", "poisson-mixture", "data.csv", "--method", "em", "--save", "m.safetensors"]
    assert refused(*em) == sentence


def test_what_does_not_go_together_is_refused(run, refused, tmp_path):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    save = ["--save", "m.safetensors"]
    mixture = ["fit", "gaussian-mixture", "data.csv"]
    assert "--passes is for --method online" in refused(*mixture, *save, "--method", "em", "--passes", 2)
    cluster = ["--scheduler", "local:1"]
    assert "--scheduler does not go with --shuffle" in refused(*mixture, *save, *cluster, "--shuffle", 9)
    assert "--checkpoint with --scheduler is for --method em" in refused(*mixture, *save, *cluster, "--checkpoint", "c")
    assert "it must be like 'local:2' or 'tcp" in refused(*mixture, *save, "--scheduler", "nowhere")
    assert "--shuffle is not for GaussianHMM" in refused("fit", "gaussian-hmm", "data.csv", *save, "--shuffle", 9)
    assert "--resume needs --checkpoint" in refused(*mixture, *save, "--resume")
    assert "can be read only once" in refused("fit", "gaussian-mixture", "-", *save, "--passes", 2)
    assert "no file nothing.csv" in refused("fit", "gaussian-mixture", "nothing.csv", *save)
    (tmp_path / "data.xyz").write_text("1\n")
    assert "format of data.xyz cannot be told" in refused("fit", "gaussian-mixture", "data.xyz", *save)
    assert "format is 'xls'" in refused(*mixture, *save, "--format", "xls")
    assert "no column 'z'" in refused(*mixture, *save, "--columns", "z")
    assert "nowhere is not a directory" in refused(*mixture, "--save", "nowhere/m.safetensors")
    assert "columns are numbers, counted from 0" in refused(*mixture, *save, "--no-header", "--columns", "a")
    write_csv("few.csv", rows_for("gaussian-mixture", 2))
    assert "--n-components = 5" in refused("fit", "gaussian-mixture", "few.csv", *save, "--n-components", 5)
    (tmp_path / "empty.csv").write_text("a,b\n")
    assert "there are no rows to fit GaussianMixture to" in refused("fit", "gaussian-mixture", "empty.csv", *save)
    assert "too few rows" in refused("fit", "gaussian-mixture", "empty.csv", *save, "--method", "online")


@pytest.mark.parametrize("name", each_command(slow=("GaussianHMM", "LinearDynamicalSystem")))
def test_the_example_of_each_help_runs(run, name):
    told = run("fit", name, "--help").stdout
    assert "--random-state" in told
    (line,) = [line for line in told.splitlines() if line.strip().startswith("$ kullback")]
    write_csv("data.csv", rows_for(name, BATCH), names_for(name))
    assert "64 rows" in run(*line.split()[2:]).stdout


@pytest.mark.slow
@pytest.mark.parametrize("method", ["online", "em"])
@pytest.mark.parametrize("name", ["gaussian-mixture", "gaussian-hmm", "linear-dynamical-system"])
def test_the_log_likelihood_is_in_nats_per_row(run, name, method):
    X = rows_for(name, 4 * BATCH)
    write_csv("data.csv", X)
    fit = ["fit", name, "data.csv", *size_of(name), "--random-state", 0, "--batch-rows", BATCH, "--method", method]
    told = json.loads(run(*fit, "--json", "--save", "m").stdout.splitlines()[-1])
    model = read_model("m").estimator  # which takes arrays
    score = model.score(X) / (1 if name == "gaussian-mixture" else len(X))
    assert told["log_likelihood"] == model.lower_bound_
    assert told["log_likelihood"] == pytest.approx(score, abs=1)  # a sum would be hundreds off
