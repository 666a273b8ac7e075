"""One model for files and frames: what the command has fitted takes frames, and what Python has fitted takes files."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import kullback
from cli.helpers import BATCH
from kullback.cli._model_file import read_model

RNG = np.random.default_rng(0)


def write_plant(path, rows=2 * BATCH):
    """Write a file whose columns hold numbers, words, and true and false; some entries are missing."""
    runs = RNG.random(rows) < 0.6
    words = np.where(runs, "run", RNG.choice(["idle", "warm"], rows))
    frame = pd.DataFrame({
        "temperature": np.where(runs, RNG.normal(20, 1, rows), RNG.normal(35, 1.5, rows)).round(3),
        "status": words,
        "alarm": RNG.random(rows) < np.where(runs, 0.1, 0.8),
    })  # fmt: skip
    gaps = frame.astype({"alarm": "boolean"}).mask(RNG.random((rows, 3)) < 0.05)
    gaps.to_csv(path, index=False)
    return pd.read_csv(path)


def scores(run, *command):
    return [float(row["log_likelihood"]) for row in csv.DictReader(run(*command).stdout.splitlines())]


def test_a_model_of_the_command_takes_frames(run, tmp_path):
    frame = write_plant(tmp_path / "plant.csv")
    fit = ["fit", "mixture", "plant.csv", "--n-components", 2, "--random-state", 0, "--batch-rows", BATCH]
    run(*fit, "--save", "m.safetensors")
    found = kullback.load("m.safetensors")
    assert list(found.feature_names_in_) == ["temperature", "status", "alarm"]
    assert sorted(found.categories_["status"]) == ["idle", "run", "warm"]
    asked = scores(run, "score", "m.safetensors", "plant.csv", "--quiet")
    np.testing.assert_allclose(found.score_samples(frame), asked, rtol=0, atol=1e-12)
    polars = pytest.importorskip("polars").read_csv(tmp_path / "plant.csv")
    np.testing.assert_allclose(found.score_samples(polars), asked, rtol=0, atol=1e-12)
    header = json.loads(run("inspect", "m.safetensors", "--json").stdout)
    assert header["words"] == found.categories_


@pytest.mark.slow
def test_a_model_of_python_takes_files(run, refused, tmp_path):
    frame = write_plant(tmp_path / "plant.csv")
    listed = frame.assign(status=frame["status"].astype(pd.CategoricalDtype(["warm", "run", "never", "idle"])))
    found = kullback.Mixture(2, family="auto", random_state=0, tol=1e9).fit(listed)
    found.save("m.safetensors")
    asked = scores(run, "score", "m.safetensors", "plant.csv", "--quiet")
    np.testing.assert_allclose(asked, found.score_samples(frame), rtol=0, atol=1e-12)
    turned = frame[["alarm", "status", "temperature"]]
    turned.to_parquet("turned.parquet")
    np.testing.assert_array_equal(scores(run, "score", "m.safetensors", "turned.parquet", "--quiet"), asked)
    drawn = list(csv.DictReader(run("sample", "m.safetensors", "-n", 20, "--random-state", 0).stdout.splitlines()))
    assert {row["status"] for row in drawn} <= {"warm", "run", "idle"}
    (tmp_path / "new.csv").write_text("temperature,status,alarm\n20,off,true\n")
    assert "'off', which is none of the known categories" in refused("score", "m.safetensors", "new.csv")


@pytest.mark.slow
def test_symbols_go_both_ways(run, tmp_path):
    words = RNG.choice(["up", "down"], 2 * BATCH)
    (tmp_path / "walk.csv").write_text("step\n" + "\n".join(words) + "\n")
    run("fit", "categorical-hmm", "walk.csv", "--n-components", 1, "--random-state", 0, "--save", "c.safetensors")
    found = kullback.load("c.safetensors")
    frame = pd.DataFrame({"step": words})
    total = sum(scores(run, "score", "c.safetensors", "walk.csv", "--quiet"))
    assert found.score(frame) == pytest.approx(total, rel=1e-12)
    alone = kullback.CategoricalHMM(1, random_state=0, n_iter=2).fit(frame)
    alone.save("p.safetensors")
    assert sum(scores(run, "score", "p.safetensors", "walk.csv", "--quiet")) == pytest.approx(alone.score(frame))


@pytest.mark.slow
def test_places_stand_for_names_in_files_without_a_header(run, tmp_path):
    table = [[float(x), str(word)] for x, word in zip(RNG.normal(size=60), RNG.choice(["a", "b"], 60), strict=True)]
    (tmp_path / "bare.csv").write_text("".join(f"{x!r},{word}\n" for x, word in table))
    found = kullback.Mixture(1, family="auto", random_state=0).fit(table)
    found.save("m.safetensors")
    asked = scores(run, "score", "m.safetensors", "bare.csv", "--no-header", "--quiet")
    np.testing.assert_allclose(asked, found.score_samples(table), rtol=0, atol=1e-12)
    assert read_model("m.safetensors").columns == {"names": None, "codes": {"1": found.categories_["1"]}}


def test_true_and_false_are_no_categories(refused, tmp_path):
    write_plant(tmp_path / "plant.csv")
    fit = ["fit", "categorical-mixture", "plant.csv", "--columns", "status,alarm", "--save", "m.safetensors"]
    sentence = "column 'alarm' holds true and false, and categories are words or numbers: use mixture or hmm with"
    assert refused(*fit) == f"{sentence} --family auto."
