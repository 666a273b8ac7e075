"""The command that made a model is in its file, and on its page."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import kullback
from cli.helpers import rows_for, write_csv
from kullback.cli._model_file import read_model
from report.reports import Page

FIT = ["kullback", "fit", "gaussian-mixture", "data.csv"]


def fit(run, save, *more, data="data.csv"):
    run("fit", "gaussian-mixture", data, "--random-state", 0, "--n-components", 2, "--save", save, *more)


def test_the_command_is_kept_without_where_results_go(run):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit(run, "one.safetensors")
    Path("folder").mkdir()
    fit(run, "folder/two", "--quiet", "--checkpoint", "c", data=str(Path("data.csv").absolute()))
    expected = [*FIT, "--n-components", "2", "--random-state", "0"]  # in the order of the help
    assert read_model("one.safetensors").arguments == expected
    assert Path("one.safetensors").read_bytes() == Path("folder/two").read_bytes()
    np.save("start.npy", np.zeros((2, 2)))
    fit(run, "three", "--columns", "c0,c1", "--means-init", "start.npy")
    words = [*FIT, "--columns", "c0,c1", "--n-components", "2", "--means-init", "2×2 numbers", "--random-state", "0"]
    assert read_model("three").arguments == words
    run("combine", "one.safetensors", "folder/two", "--save", "all", "--weights", "1,2")
    words = ["kullback", "combine", "one.safetensors", "two", "--weights", "1,2"]
    assert read_model("all").arguments == words
    kullback.load("one.safetensors").save("again")
    assert read_model("again").arguments == []


@pytest.mark.parametrize("wrong", ["kullback fit", [1], {"a": 1}, None])
def test_what_is_no_command_is_refused(run, refused, wrong):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit(run, "m")
    with safe_open("m", framework="numpy") as file:
        header = json.loads(file.metadata()["header"])
    header["command"]["arguments"] = wrong
    save_file(load_file("m"), "m", {"header": json.dumps(header)})
    assert "arguments must be the words of a command" in refused("inspect", "m")


@pytest.mark.slow
def test_the_page_names_files_and_the_command(run):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    for folder in ("north", "south"):
        Path(folder).mkdir()
        fit(run, f"{folder}/site.safetensors")
    run("combine", "north/site.safetensors", "south/site.safetensors", "--save", "all.safetensors")
    before = ["--before", "north/site.safetensors", "--before", "south/site.safetensors"]
    run("report", "all.safetensors", "--data", "data.csv", "--output", "page.html", *before)
    text = Path("page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.facts["Model file"] == "all.safetensors"
    assert page.facts["Made by"] == "kullback combine site.safetensors site.safetensors"
    assert page.facts["Data"] == "data.csv"
    assert page.facts["Model"] == "GaussianMixture"
    assert page.text["h1"] == ["all"]
    assert page.text["title"][0] == "all"
    assert {"north/site", "south/site", "Combination"} <= set(page.text["strong"])
