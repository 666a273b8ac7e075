"""A fit that goes on from a saved model with new data, and how a fit is chosen."""

import json

import numpy as np
import pytest

import kullback
from cli.helpers import BATCH, held, rows_for, write_csv
from kullback.cli import _fit_method
from kullback.cli._column_roles import Roles
from kullback.cli._input import Input
from kullback.cli._model_file import read_model

FIT = ["--random-state", 0, "--batch-rows", BATCH]


def test_a_day_more_is_one_stream(run):
    X = rows_for("gaussian-mixture", 6 * BATCH)
    for day, rows in enumerate(np.split(X, 2)):
        write_csv(f"day{day}.csv", rows)
    run("fit", "gaussian-mixture", "day0.csv", "--n-components", 3, *FIT, "--save", "m")
    told = run("fit", "gaussian-mixture", "day1.csv", "--from", "m", "--batch-rows", BATCH, "--save", "m").stdout
    assert told.startswith("GaussianMixture of 192 rows, online EM, 1 pass, ")
    wanted = kullback.GaussianMixture(3, random_state=0)
    for batch in np.split(X, 6):
        wanted.partial_fit(batch)
    found, columns, *_ = read_model("m")
    assert np.array_equal(found.means_, wanted.means_)  # the rate has decayed on
    assert found.n_points_seen_ == 384
    assert found.n_batches_seen_ == 6
    assert columns["names"] == ["c0", "c1", "c2", "c3"]


@pytest.mark.slow
def test_batch_em_begins_with_the_model(run):
    X = rows_for("gaussian-mixture", 3 * BATCH)
    write_csv("data.csv", X)
    start = kullback.GaussianMixture(3, random_state=0, n_init=2).partial_fit(X[:BATCH])
    start.save("m")
    run("fit", "gaussian-mixture", "data.csv", "--from", "m", "--method", "em", "--tol", "1e-5", "--save", "em")
    found = kullback.load("em")
    wanted = start.set_params(warm_start=True, tol=1e-5).fit(X)
    assert found.means_ == pytest.approx(wanted.means_, rel=1e-9)
    assert found.converged_
    assert (found.n_init, found.tol) == (2, 1e-5)


@pytest.mark.slow
def test_words_are_those_of_the_model(run, refused, tmp_path):
    (tmp_path / "a.csv").write_text("color,x\n" + "red,1\nblue,2\n" * 32)
    (tmp_path / "b.csv").write_text("x,note,color\n" + "1,n,blue\n1.5,n,red\n" * 32)
    (tmp_path / "c.csv").write_text("color,x\nred,1\ngreen,2\n")
    fit = ["fit", "mixture", "a.csv", "--n-components", 2, "--family", "categorical,gaussian", *FIT]
    run(*fit, "--save", "m")
    on = ["fit", "mixture", "--from", "m", "--save", "on"]
    run(*on, "b.csv")
    assert read_model("on").columns == {"names": ["color", "x"], "codes": {"color": ["red", "blue"]}}
    assert kullback.load("on").n_points_seen_ == 128
    with open("b.csv") as rows:
        run(*on, "-", "--format", "csv", "--save", "pipe", input=rows.read())
    assert held("pipe") == held("on")
    assert "c.csv, line 3: column 'color' is 'green'" in refused(*on, "c.csv")
    (tmp_path / "d.csv").write_text("color\nred\n")
    assert "d.csv has no column 'x'" in refused(*on, "d.csv")


@pytest.mark.slow
def test_what_the_model_decides_cannot_be_decided_again(run, refused):
    X = rows_for("gaussian-mixture")
    write_csv("data.csv", X)
    run("fit", "gaussian-mixture", "data.csv", "--n-components", 3, *FIT, "--columns", "c0,c1", "--save", "m")
    on = ["fit", "gaussian-mixture", "data.csv", "--from", "m", "--save", "on"]
    run(*on, "--n-components", 3, "--rate", 0.1, "--columns", "c1,c0")
    assert kullback.load("on").rate == 0.1
    assert refused(*on, "--n-components", 4) == (
        "--n-components is 4, and m was fitted with 3: leave --n-components out, or fit anew without --from."
    )
    assert "--covariance-type is diag, and m was fitted with full" in refused(*on, "--covariance-type", "diag").replace(
        "'", ""
    )
    assert "--columns is c0,c2, and m was fitted to c0,c1" in refused(*on, "--columns", "c0,c2")
    sentence = refused("fit", "mixture", "data.csv", "--from", "m", "--save", "on")
    assert sentence == "m holds a GaussianMixture: go on with `kullback fit gaussian-mixture`."
    assert "There is no file none" in refused("fit", "mixture", "data.csv", "--from", "none", "--save", "on")
    assert "--continues is not for GaussianMixture" in refused(*on, "--continues")
    assert "is for --method em" in refused(*on, "--scheduler", "local:1")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian-mixture", "gaussian-hmm"])
@pytest.mark.parametrize("method", ["online", "em"])
def test_a_fit_from_a_model_resumes_bit_for_bit(run, monkeypatch, name, method):
    from kullback.cli import _checkpoint

    X = rows_for(name, 6 * BATCH)
    write_csv("a.csv", X[:BATCH])
    write_csv("b.csv", X[BATCH:])
    run("fit", name, "a.csv", "--n-components", 3, *FIT, "--save", "m")
    on = ["fit", name, "b.csv", "--from", "m", "--batch-rows", BATCH, "--method", method, "--tol", 0]
    run(*on, "--quiet", "--save", "whole")
    written = _checkpoint.Checkpoint.write
    left = [3]

    def write(self, *args):
        left[0] -= 1
        written(self, *args)
        if left[0] == 0:
            raise OSError(5, "killed", "here")

    monkeypatch.setattr(_checkpoint.Checkpoint, "write", write)
    kept = [*on, "--checkpoint", "c", "--checkpoint-every", 0, "--save", "m2", "--quiet"]
    run(*kept, code=2)
    monkeypatch.setattr(_checkpoint.Checkpoint, "write", written)
    run(*kept, "--resume")
    assert held("m2") == held("whole")


@pytest.mark.slow
def test_a_series_ends_with_its_file_unless_told(run):
    X = rows_for("gaussian-hmm", 4 * BATCH)
    for day, rows in enumerate(np.split(X, 2)):
        write_csv(f"day{day}.csv", rows)
    fit = ["fit", "gaussian-hmm", "day0.csv", "--n-components", 3, *FIT]
    on = ["fit", "gaussian-hmm", "day1.csv", "--batch-rows", BATCH, "--from"]
    run(*fit, "--continues", "--save", "open")
    assert hasattr(kullback.load("open"), "waiting_")
    run(*on, "open", "--continues", "--save", "one")
    pieces = kullback.GaussianHMM(3, random_state=0)
    for batch in np.split(X, 4):
        pieces.partial_fit(batch, continues=True)
    one = kullback.load("one")
    assert np.array_equal(one.transmat_, pieces.transmat_)
    assert one.n_sequences_seen_ == 1
    run(*on, "open", "--save", "two")  # the rows that wait are the end of the series before
    two = kullback.load("two")
    assert two.n_points_seen_ == 4 * BATCH
    assert two.n_sequences_seen_ == 2
    assert not hasattr(two, "waiting_")


def test_a_file_of_few_batches_is_small(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_fit_method, "BATCHES", 16)
    read = {"batch_rows": 10, "format": None, "header": True, "skip_bad": False, "max_bad": 0, "shuffle": 0}

    def chosen(rows, asked=_fit_method.Method.auto, online=False):
        np.save("data.npy", np.zeros((rows, 2)))
        write_csv("data.csv", np.zeros((rows, 2)))
        found = {
            str(_fit_method.choose_method(Input(name, 0, Roles(), None, **read), asked, online))
            for name in ("data.npy", "data.csv")  # the one says how long it is, the other must be read
        }
        assert len(found) == 1
        return found.pop()

    assert chosen(160) == "em"
    assert chosen(161) == "online"
    assert chosen(5, online=True) == "online"
    assert chosen(5, _fit_method.Method.online) == "online"
    assert chosen(500, _fit_method.Method.em) == "em"


@pytest.mark.slow
def test_a_small_file_is_fitted_until_it_converges(run, refused, monkeypatch):
    monkeypatch.setattr(_fit_method, "BATCHES", 16)
    X = np.concatenate([np.random.default_rng(0).normal(center, 1, (300, 1)) for center in (0, 3.5)])
    write_csv("data.csv", X)
    fit = ["fit", "gaussian-mixture", "data.csv", "--n-components", 2, "--random-state", 0, "--save", "m"]
    told = run(*fit).stdout
    assert told.startswith("GaussianMixture of 600 rows, batch EM, converged after ")
    assert sorted(kullback.load("m").means_[:, 0]) == pytest.approx([0, 3.5], abs=0.3)
    assert np.array_equal(kullback.load("m").means_, kullback.GaussianMixture(2, random_state=0).fit(X).means_)
    for asked in (["--passes", 2], ["--method", "online"], ["--batch-rows", 20], ["--shuffle", 9]):
        assert ", online EM, " in run(*fit, *asked).stdout, asked
    with open("data.csv") as rows:
        assert ", online EM, " in run(*fit[:2], "-", "--format", "csv", *fit[3:], input=rows.read()).stdout
    kept = [*fit, "--checkpoint", "c"]
    assert json.loads(run(*kept, "--json").stdout.splitlines()[-1])["method"] == "em"
    run(*kept, "--resume")
    write_csv(
        "data.csv", np.tile(X, (200, 1))
    )  # it is the method of the checkpoint that goes on, and sees another file
    assert "data.csv is not what was read before" in refused(*kept, "--resume")
    np.save("data.npy", X)  # how long it is stands in the file
    assert ", batch EM, " in run("fit", "gaussian-mixture", "data.npy", *fit[3:]).stdout


@pytest.mark.slow
def test_rows_count_as_often_as_they_weigh(run, refused, tmp_path):
    rng = np.random.default_rng(0)
    X, weight = rows_for("gaussian-mixture").round(3), rng.integers(0, 4, 2 * BATCH)
    write_csv("data.csv", np.column_stack([X, weight]), ["a", "b", "c", "d", "w"])
    fit = ["fit", "gaussian-mixture", "data.csv", "--n-components", 3, *FIT, "--weight-column", "w"]
    run(*fit, "--save", "online")
    wanted = kullback.GaussianMixture(3, random_state=0)
    for rows, weights in zip(np.split(X, 2), np.split(weight, 2), strict=True):
        wanted.partial_fit(rows, None, weights)
    found, columns, *_ = read_model("online")
    assert np.array_equal(found.means_, wanted.means_)
    assert found.n_points_seen_ == weight.sum()
    assert columns["names"] == ["a", "b", "c", "d"]
    run(*fit, "--method", "em", "--save", "em")
    wanted = kullback.GaussianMixture(3, random_state=0).fit(X, sample_weight=weight)
    assert np.array_equal(kullback.load("em").means_, wanted.means_)
    run("score", "em", "data.csv", "--quiet")
    kept = [*fit, "--checkpoint", "c", "--save", "kept"]
    run(*kept)
    run(*kept, "--resume")
    assert held("kept") == held("online")
    assert "--weight-column does not go with --scheduler" in refused(*fit, "--scheduler", "local:1", "--save", "m")
    (tmp_path / "data.csv").write_text("a,w\n1,1\n2,-1\n3,1\n")
    assert "data.csv, line 3: column 'w' is -1" in refused(*fit, "--save", "m")


@pytest.mark.slow
def test_a_sequence_has_one_weight(run, refused):
    X = rows_for("gaussian-hmm", 90).round(3)
    run_of, weight = np.repeat([1, 2, 3], 30), np.repeat([1.0, 0.5, 2], 30)
    write_csv("data.csv", np.column_stack([X, run_of, weight]), ["a", "b", "c", "d", "run", "w"])
    fit = ["fit", "gaussian-hmm", "data.csv", "--n-components", 2, "--random-state", 0, "--weight-column", "w"]
    run(*fit, "--sequence-column", "run", "--save", "m")
    wanted = kullback.GaussianHMM(2, random_state=0, n_iter=100).fit(X, [30, 30, 30], sample_weight=[1, 0.5, 2])
    assert np.array_equal(kullback.load("m").means_, wanted.means_)
    assert "needs --sequence-column" in refused(*fit, "--save", "m")
    online = [*fit, "--sequence-column", "run", "--method", "online", "--save", "m"]
    assert "--weight-column with GaussianHMM is for --method em" in refused(*online)
    weight[35] = 3
    write_csv("data.csv", np.column_stack([X, run_of, weight]), ["a", "b", "c", "d", "run", "w"])
    sentence = refused(*fit, "--sequence-column", "run", "--save", "m")
    assert sentence.startswith("rows 31 to 60 are one sequence, and have several weights")
