"""Regressors and classifiers on the command line: what they predict, and what is refused."""

import csv
import json
import signal

import numpy as np
import pytest
from scipy import stats

import kullback
from cli.helpers import BATCH, held, rows_for, write_csv
from kullback import Classifier, Regressor
from kullback.cli import _checkpoint
from kullback.cli._model_file import read_model

pandas = pytest.importorskip("pandas")

SAVE = ["--save", "m.safetensors"]
BY_BATCH = ["--method", "batch"]


def frame(rows=4 * BATCH, seed=0):
    """Return counts, and words as classes, that depend on a number, a word and true or false."""
    rng = np.random.default_rng(seed)
    x, color, flag = rng.normal(size=rows), rng.choice(["red", "green", "blue"], rows), rng.random(rows) < 0.5
    count = rng.poisson(np.exp(0.5 + 0.4 * x + 0.7 * (color == "red") - 0.3 * flag))
    kind = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * x)), "yes", np.where(flag, "no", "maybe"))
    return pandas.DataFrame({"x": x, "color": color, "flag": flag, "count": count, "kind": kind})


INPUTS = ["x", "color", "flag"]
COUNTS = ["fit", "regressor", "d.csv", "--target", "count", "--columns", "x,color,flag", "--family", "poisson", *SAVE]
KINDS = ["fit", "classifier", "d.csv", "--target", "kind", "--columns", "x,color,flag", *SAVE]


def read_csv(text):
    return list(csv.DictReader(text.splitlines()))


def test_a_regressor_learns_words_as_categories(run):
    data = frame()
    data.to_csv("d.csv", index=False)
    told = run(*COUNTS, *BY_BATCH).stdout
    assert "Regressor of 256 rows, Fisher scoring, converged after" in told
    own = Regressor("poisson").fit(data[INPUTS], data["count"])  # by the order of words in the frame
    found = kullback.load("m.safetensors")
    assert found.categories_["color"] == list(dict.fromkeys(data["color"]))
    assert found.feature_names_in_.tolist() == INPUTS
    np.testing.assert_allclose(found.predict(data[INPUTS]), own.predict(data[INPUTS]), rtol=1e-7)

    rows = read_csv(run("predict", "m.safetensors", "d.csv", "--level", "0.8", "--keep", "count").stdout)
    assert list(rows[0]) == ["row", "count", "mean", "lower", "upper"]
    means = own.predict(data[INPUTS])
    np.testing.assert_allclose([float(row["mean"]) for row in rows], means, rtol=1e-7)
    np.testing.assert_array_equal([float(row["upper"]) for row in rows], stats.poisson.ppf(0.9, means))
    rows = read_csv(run("score", "m.safetensors", "d.csv", "--keep", "none").stdout)
    scores = [float(row["log_likelihood"]) for row in rows]
    np.testing.assert_allclose(scores, stats.poisson.logpmf(data["count"], means), rtol=1e-6)


@pytest.mark.slow
def test_targets_need_not_be_there_to_be_predicted(run, refused):
    data = frame()
    data.to_csv("d.csv", index=False)
    run(*COUNTS, *BY_BATCH)
    data[["flag", "color", "x"]].to_csv("new.csv", index=False)
    run("predict", "m.safetensors", "new.csv", "--output", "p.parquet", "--quantiles", "0.25", "--no-row-numbers")
    found = pandas.read_parquet("p.parquet")
    assert list(found) == ["flag", "color", "x", "mean", "lower", "upper", "quantile_0.25"]
    text = (run.folder / "new.csv").read_text()
    lines = run("predict", "m.safetensors", "-", "--format", "csv", "--json", "--quiet", input=text).stdout
    assert [json.loads(line)["mean"] for line in lines.splitlines()] == found["mean"].tolist()
    assert "no column 'count'" in refused("score", "m.safetensors", "new.csv")
    drawn = read_csv(run("sample", "m.safetensors", "--inputs", "new.csv", "-n", 40, "--random-state", 0).stdout)
    mean = np.mean([float(row["count"]) for row in drawn])
    assert len(drawn) == 40 * len(data)
    error = np.sqrt(found["mean"].mean() / len(drawn))
    assert abs(mean - found["mean"].mean()) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("more", [BY_BATCH, ["--method", "online", "--batch-rows", BATCH]])
def test_classes_are_words(run, more):
    data = frame()
    data.to_csv("d.csv", index=False)
    run(*KINDS, *more)
    assert kullback.load("m.safetensors").classes_.tolist() == ["maybe", "no", "yes"]
    rows = read_csv(run("predict", "m.safetensors", "d.csv", "--keep", "kind").stdout)
    assert list(rows[0]) == ["row", "kind", "class", "probability_maybe", "probability_no", "probability_yes"]
    assert np.mean([row["class"] == row["kind"] for row in rows]) > 0.6
    chosen = [float(row[f"probability_{row['kind']}"]) for row in rows]
    scored = read_csv(run("score", "m.safetensors", "d.csv", "--keep", "none").stdout)
    np.testing.assert_allclose([float(row["log_likelihood"]) for row in scored], np.log(chosen), rtol=1e-9)
    drawn = read_csv(run("sample", "m.safetensors", "--inputs", "d.csv", "-n", 2, "--random-state", 0).stdout)
    assert {row["kind"] for row in drawn} == {"maybe", "no", "yes"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("classes", "names"), [([True, False], ["false", "true"]), ([7, 3], ["3", "7"]), ([1.0, 0.0], ["0", "1"])]
)
def test_classes_are_truths_or_whole_numbers(run, classes, names):
    data = frame(2 * BATCH)
    data["kind"] = np.where(data["x"] + data["flag"] > 0.5, *classes).astype(type(classes[0]))
    data.to_csv("d.csv", index=False)
    run(*KINDS, "--method", "online", "--batch-rows", BATCH)
    row = read_csv(run("predict", "m.safetensors", "d.csv", "--keep", "none").stdout)[0]
    assert list(row)[2:] == [f"probability_{name}" for name in names]
    assert row["class"] in names
    assert "log_likelihood" in run("score", "m.safetensors", "d.csv").stdout


@pytest.mark.slow
def test_all_classes_are_known_before_the_first_batch(run, refused):
    data = frame(3 * BATCH)
    data.loc[data.index < 2 * BATCH, "kind"] = np.where(data["x"][: 2 * BATCH] > 0, "yes", "no")
    assert "maybe" in set(data["kind"])
    data.to_csv("d.csv", index=False)
    online = ["--method", "online", "--batch-rows", BATCH]
    run(*KINDS, *online)
    assert kullback.load("m.safetensors").classes_.tolist() == ["maybe", "no", "yes"]
    pipe = [*KINDS[:2], "-", *KINDS[3:], "--format", "csv", *online]
    told = refused(*pipe, input=(run.folder / "d.csv").read_text())
    assert "'maybe', which the fit does not know" in told
    assert "column 'kind'" in told


@pytest.mark.slow
def test_a_stream_does_not_take_a_new_word_for_a_known_one(run, refused):
    data = frame(2 * BATCH)
    data.loc[data.index < BATCH, "color"] = np.where(data["x"][:BATCH] > 0, "red", "green")
    data.loc[2 * BATCH - 1, "color"] = "blue"
    told = refused(
        *[*COUNTS[:2], "-", *COUNTS[3:]], "--format", "csv", "--batch-rows", BATCH, input=data.to_csv(index=False)
    )
    assert "column 'color' has the category 'blue', which was not in the rows that the fit began with" in told


@pytest.mark.slow
def test_weights_and_missing_targets(run):
    data = frame()
    weight = np.random.default_rng(1).integers(0, 3, len(data))
    repeated = data.loc[data.index.repeat(weight)]
    data["count"] = data["count"].astype(float)
    data.loc[len(data)] = [0.0, "red", True, np.nan, "yes"]
    data["weight"] = [*weight, 1]
    data.to_csv("d.csv", index=False)
    run(*COUNTS, *BY_BATCH, "--weight-column", "weight")
    one = kullback.load("m.safetensors")
    repeated.to_csv("d.csv", index=False)
    run(*COUNTS, *BY_BATCH)
    two = kullback.load("m.safetensors")
    found = one.predict(repeated[INPUTS])
    np.testing.assert_allclose(found, two.predict(repeated[INPUTS]), rtol=1e-6)
    data.to_csv("d.csv", index=False)
    told = run("score", "m.safetensors", "d.csv", "--output", "s.csv")
    assert "1 row without a target" in told.stderr


@pytest.mark.slow
def test_several_targets_of_different_kinds(run):
    X = rows_for("regressor")
    y = np.random.default_rng(0).poisson(np.exp(0.2 * X[:, 0]))
    write_csv("d.csv", np.column_stack([X, y]), ["a", "b", "y", "n"])
    run("fit", "regressor", "d.csv", "--target", "n,y", "--family", "poisson,gaussian", *BY_BATCH, *SAVE)
    own = Regressor(["poisson", "gaussian"]).fit(X[:, :2], np.column_stack([y, X[:, 2]]))
    rows = read_csv(run("predict", "m.safetensors", "d.csv", "--keep", "none").stdout)
    assert list(rows[0])[1:] == ["n_mean", "n_lower", "n_upper", "y_mean", "y_lower", "y_upper"]
    found = [[float(row["n_mean"]), float(row["y_mean"])] for row in rows]
    np.testing.assert_allclose(found, own.predict(X[:, :2]), rtol=1e-6)


@pytest.mark.slow
def test_columns_without_names(run):
    X = rows_for("regressor")
    np.savetxt("d.csv", X[:, [2, 0, 1]], delimiter=",")
    np.savetxt("new.csv", X[:, :2], delimiter=",")
    run("fit", "regressor", "d.csv", "--no-header", "--target", 0, *BY_BATCH, *SAVE)
    own = Regressor().fit(X[:, :2], X[:, 2])
    for data in ("d.csv", "new.csv"):
        rows = read_csv(run("predict", "m.safetensors", data, "--no-header", "--keep", "none").stdout)
        np.testing.assert_allclose([float(row["mean"]) for row in rows], own.predict(X[:, :2]), rtol=1e-6)


@pytest.mark.slow
def test_inspect_prints_targets_and_coefficients(run):
    data = frame()
    data.to_csv("d.csv", index=False)
    run(*COUNTS, *BY_BATCH)
    told = json.loads(run("inspect", "m.safetensors", "--json").stdout)
    assert told["targets"] == ["count"]
    words = kullback.load("m.safetensors").categories_["color"]
    table = told["coefficients"]
    assert table["columns"] == ["(intercept)", "x", f"color={words[1]}", f"color={words[2]}", "flag"]
    own = Regressor("poisson").fit(data[INPUTS], data["count"])
    np.testing.assert_allclose(np.ravel(table["values"]), np.ravel(own.free_coefficients_), atol=1e-6)
    lines = run("inspect", "m.safetensors").stdout
    assert "targets                  count" in lines
    assert "(intercept)" in lines


@pytest.mark.slow
def test_sites_are_combined_in_the_same_units(run, refused):
    rng = np.random.default_rng(0)
    sites = []
    for place, (rows, mean) in enumerate([(3000, 0), (300, 4), (1500, -2)]):
        X = np.column_stack([rng.normal(mean, 1 + place, rows), rng.normal(100, 10, rows)])
        sites.append(np.column_stack([X, 2 + 0.5 * X[:, 0] - 0.1 * X[:, 1] + rng.normal(size=rows)]))
        write_csv(f"{place}.csv", sites[-1], ["a", "b", "y"])
        run("fit", "regressor", f"{place}.csv", "--target", "y", *BY_BATCH, "--save", f"{place}.safetensors")
    run("combine", *(f"{place}.safetensors" for place in range(3)), *SAVE)
    found, whole = kullback.load("m.safetensors"), np.concatenate(sites)
    pooled = Regressor().fit(whole[:, :2], whole[:, 2])
    design = np.column_stack([np.ones(len(whole)), whole[:, :2]])
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))  # σ is 1
    assert (np.abs(found.free_coefficients_[0] - pooled.free_coefficients_[0]) < 0.2 * errors).all()
    assert found.n_points_seen_ == 4800
    assert run("predict", "m.safetensors", "0.csv").stdout.count("\n") == 3001
    run("fit", "regressor", "0.csv", "--target", "b", *BY_BATCH, "--save", "other.safetensors")
    assert "have different columns" in refused("combine", "0.safetensors", "other.safetensors", *SAVE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_a_batch_fit_stops_and_goes_on_bit_for_bit(run, monkeypatch, name):
    write_csv("d.csv", rows_for(name), ["a", "b", "y"])
    command = ["fit", name, "d.csv", "--target", "y", "--random-state", 0, *BY_BATCH]
    command += ["--family", "gaussian", "--dispersion", "linear"] if name == "regressor" else []
    run(*command, "--save", "whole.safetensors")
    written, places = _checkpoint.Checkpoint.write, []

    def write(self, *args):
        written(self, *args)
        places.append(args[-1])
        if len(places) == 2:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(_checkpoint.Checkpoint, "write", write)
    command += ["--checkpoint", "run.ckpt", "--checkpoint-every", 0, "--save", "parts.safetensors"]
    stopped = run(*command, code=143)
    assert "the model so far is in parts.safetensors" in stopped.stderr
    part = read_model("parts.safetensors").estimator
    assert part.lower_bound_ <= read_model("whole.safetensors").estimator.lower_bound_
    run(*command, "--resume")
    assert held("parts.safetensors") == held("whole.safetensors")


def test_a_signal_ends_trees_without_a_model(run, monkeypatch):
    write_csv("d.csv", rows_for("regressor"), ["a", "b", "y"])
    monkeypatch.setattr(Regressor, "fit", lambda *args, **more: signal.raise_signal(signal.SIGINT))
    command = ["fit", "regressor", "d.csv", "--target", "y", "--model", "trees", *SAVE]
    assert "stopped before there was a model" in run(*command, code=130).stderr
    assert not (run.folder / "m.safetensors").exists()


@pytest.mark.slow
def test_trees_are_fitted_to_files(run):
    data = frame()
    data.to_csv("d.csv", index=False)
    told = run(*COUNTS, "--model", "trees", "--max-iter", 5).stdout
    assert "boosted trees, " in told
    assert run("predict", "m.safetensors", "d.csv").stdout.count("\n") == len(data) + 1


@pytest.mark.slow
def test_a_model_goes_on_with_new_rows(run, refused):
    for place in range(2):
        frame(2 * BATCH, place).to_csv(f"{place}.csv", index=False)
    online = ["--method", "online", "--batch-rows", BATCH]
    fit = ["fit", "classifier", "0.csv", "--target", "kind", "--columns", "x,color,flag", *SAVE]
    run(*fit, *online)
    run("fit", "classifier", "1.csv", "--from", "m.safetensors", "--batch-rows", BATCH, "--save", "n.safetensors")
    known, found = (kullback.load(f"{name}.safetensors") for name in "mn")
    second = frame(2 * BATCH, 1)
    for start in (0, BATCH):
        rows = second.iloc[start : start + BATCH]
        known.partial_fit(rows[INPUTS], rows["kind"])
    np.testing.assert_array_equal(found.coefficients_, known.coefficients_)
    go_on = ["fit", "classifier", "1.csv", "--from", "m.safetensors", "--save", "n.safetensors"]
    assert "--from with classifier is for --method online" in refused(*go_on, *BY_BATCH)
    assert "was fitted with ('kind',)" in refused(*go_on, "--target", "flag")


def test_what_is_asked_wrongly_is_refused(run, refused):
    data = frame()
    data.to_csv("d.csv", index=False)
    fit, more = ["fit", "regressor", "d.csv"], [*SAVE, *BY_BATCH]
    assert refused(*fit, *more) == "regressor needs --target NAME: the column to predict from the others."
    assert "has no column 'size': it has 'x', 'color'" in refused(*fit, "--target", "size", *more)
    assert "a target cannot be an input too" in refused(*fit, "--target", "x", "--columns", "x,flag", *more)
    assert "'kind' holds words, and a regressor predicts numbers" in refused(*fit, "--target", "kind", *more)
    assert "names a column twice" in refused(*fit, "--target", "x,x", *more)
    assert "--method em is for models with hidden variables" in refused(*fit, "--target", "x", *SAVE, "--method", "em")
    assert "--scheduler is for --model linear" in refused(
        *fit, "--target", "x", "--model", "trees", "--scheduler", "local:1", *more
    )
    assert "--model trees learns from all rows" in refused(
        *fit, "--target", "x", "--model", "trees", "--method", "online", *SAVE
    )
    told = refused("fit", "classifier", "d.csv", "--target", "x", "--columns", "flag", *more)
    assert told.startswith("d.csv, row 1: column 'x' is 0.125")
    assert "a classifier predicts one column" in refused("fit", "classifier", "d.csv", "--target", "x,kind", *more)
    mixture = ["fit", "mixture", "d.csv", *SAVE]
    assert "--target is for regressor and classifier" in refused(*mixture, "--target", "x")
    assert "--method batch is for regressor, classifier and networks" in refused(*mixture, "--method", "batch")


@pytest.mark.slow
@pytest.mark.parametrize("more", [BY_BATCH, ["--method", "online", "--batch-rows", BATCH]])
def test_rows_are_named_that_cannot_be_learned_from(run, refused, more):
    data = frame(2 * BATCH)
    data["count"] = data["count"].astype(float)
    data.loc[3, "count"] = np.nan  # it is left out, and rows are counted nevertheless
    data.loc[100, "count"] = -1
    data.to_csv("d.csv", index=False)
    assert refused(*COUNTS, *more).startswith("d.csv, row 101: column 'count' is -1: for family 'poisson' it must be")
    data.loc[100, ["count", "x"]] = [1, np.nan]
    data.to_csv("d.csv", index=False)
    told = refused(*COUNTS, *more)
    assert told.startswith("d.csv, row 101: column 'x' is missing. Pass --missing indicator")
    run(*COUNTS, *BY_BATCH, "--missing", "indicator")
    data["x"], data["count"] = 1.5, 2.5
    data.to_csv("d.csv", index=False)
    gaussian = [word if word != "poisson" else "gaussian" for word in COUNTS]
    assert "column 'count' is 2.5 in all rows" in refused(*gaussian, *more)
    data["kind"] = "yes"
    data.to_csv("d.csv", index=False)
    assert "one class only" in refused(*KINDS, *more)
    assert not (run.folder / "nothing.safetensors").exists()


@pytest.mark.slow
def test_questions_of_other_models_are_refused(run, refused):
    data = frame()
    data.to_csv("d.csv", index=False)
    run(*KINDS, *BY_BATCH)
    model = "m.safetensors"
    assert "impute is for models that draw" in refused("impute", model, "d.csv")
    assert "decode is for models of series" in refused("decode", model, "d.csv")
    assert "forecast is for models of series" in refused("forecast", model, "d.csv")
    assert "add --inputs DATA" in refused("sample", model)
    assert "--level is for regressors" in refused("predict", model, "d.csv", "--level", "0.5")
    assert "--anomaly is for models of rows" in refused("score", model, "d.csv", "--anomaly", "0.5")
    data.loc[5, "kind"] = "never"
    data.to_csv("d.csv", index=False)
    assert "'never', which is none of the known categories" in refused("score", model, "d.csv")
    kullback.GaussianMixture(1).fit(rows_for("gaussian-mixture")).save("g.safetensors")
    assert "predict is for regressors and classifiers" in refused("predict", "g.safetensors", "d.csv")
    assert "--inputs is for regressors" in refused("sample", "g.safetensors", "--inputs", "d.csv")
    Classifier().fit(data[["x"]], data["kind"]).save("own.safetensors")
    assert "does not know which column its target is" in refused("score", "own.safetensors", "d.csv")
    assert "class" in run("predict", "own.safetensors", "d.csv").stdout
