"""kullback assess: what it prints is what the library says, and what cannot be assessed is one sentence."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import kullback
from cli.helpers import rows_for, write_csv
from kullback.cli._assess_text import assessment_lines, choice_lines
from kullback.cli._choose import parse_counts
from kullback.cli._model_file import write_model

#: Nothing that takes long.
QUICK = ("--draws", 0, "--refits", 0)


@pytest.fixture
def model(run):
    """Write rows, and a model of two of their columns."""
    X = rows_for("gaussian-mixture")[:, :2]
    write_csv("data.csv", X)
    write_csv("new.csv", X[:40] + 0.3)
    fitted = kullback.GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    write_model(fitted, Path("m.safetensors"), {"names": ["c0", "c1"], "codes": {}})
    return fitted, X


def test_it_prints_what_the_library_says(run, model, refused, monkeypatch):
    fitted, X = model
    facts = json.loads(run("assess", "m.safetensors", "data.csv", "--held-out", "new.csv", *QUICK, "--json").stdout)
    assert facts["loss"]["data"]["value"] == pytest.approx(-fitted.score(X))
    assert facts["loss"]["held_out"]["value"] == pytest.approx(-fitted.score(X[:40] + 0.3))
    lines = run("assess", "m.safetensors", "data.csv", "--held-out", "new.csv", *QUICK).stdout.splitlines()
    assert lines == list(assessment_lines(facts))
    assert any(line.startswith("  held out") and line.endswith("40 rows") for line in lines)
    monkeypatch.setitem(sys.modules, "blackjax", None)  # what needs no draws is printed, and where the rest is
    lines = run("assess", "m.safetensors", "data.csv", "--refits", 0).stdout.splitlines()
    assert any(line.startswith("  BIC, WBIC") for line in lines)
    assert lines[-1].endswith("draws from the posterior need it: pip install 'kullback[sampling]'.")
    # one sentence for what cannot be assessed
    write_csv("other.csv", X[:, :1])
    assert "'c1'" in refused("assess", "m.safetensors", "data.csv", "--held-out", "other.csv", *QUICK)
    write_csv("few.csv", X[:5])
    assert "5 rows and the model 9 parameters" in refused("assess", "m.safetensors", "few.csv", *QUICK)
    write_csv("one.csv", X[:1])
    assert "the data has 1 row:" in refused("assess", "m.safetensors", "one.csv", *QUICK)
    assert "needs MODEL and DATA" in refused("assess", "m.safetensors")
    assert "--refits is 1: it must be a whole number" in refused("assess", "m.safetensors", "data.csv", "--refits", 1)
    assert "--draws is 2: it must be a whole number" in refused("assess", "m.safetensors", "data.csv", "--draws", 2)
    assert "--n-components is for --choose" in refused("assess", "m.safetensors", "data.csv", "--n-components", "1:3")
    assert "--held-out needs --data" in refused("report", "m.safetensors", "--held-out", "new.csv")


def test_advice_is_of_options_that_the_command_has(run, model, refused):
    Path("text.csv").write_text("c0,c1\n0.5,1\nx,2\n")
    quick = ("--choose", "gaussian-mixture", "--draws", 0)
    assert refused("assess", "text.csv", *quick).endswith("line 3: column 'c0' is 'x', which is not a number.")
    assert "(--skip-bad leaves such rows out)" in refused("score", "m.safetensors", "text.csv")
    said = refused("assess", "data.csv", "--choose", "gaussian-hmm")
    assert "--choose is 'gaussian-hmm', which it cannot compare: it must be one of bernoulli-mixture" in said


def test_it_chooses_a_number_of_components(run, model, refused):
    choose = ("--choose", "gaussian-mixture", "--n-components")
    facts = json.loads(run("assess", "data.csv", *choose, "1:2", "--draws", 0, "--json").stdout)
    assert [each["n_components"] for each in facts["candidates"]] == [1, 2]
    assert facts["n_components"] == facts["chosen"]["held_out"] == facts["chosen"]["bic"] == 2
    lines = list(choice_lines(facts))
    assert lines[1].split() == ["components", "d", "held", "out", "BIC"]
    assert lines[3].startswith("*")
    assert "it holds rows out by itself" in refused("assess", "m.safetensors", "data.csv", *choose, "1:2")
    assert "did you mean gaussian-mixture" in refused("assess", "data.csv", "--choose", "gaussianmixture")
    assert "must be a range as 1:8" in refused("assess", "data.csv", *choose, "8:1")
    assert "--refits is for a model" in refused("assess", "data.csv", *choose, "1:2", "--refits", 3)


def test_counts_are_ranges_or_lists():
    assert parse_counts("2:2") == [2]
    for text in ("", "a", "1:", "1:2:3", "-1", "1.5"):
        with pytest.raises(ValueError, match="must be a range as 1:8, or numbers with commas"):
            parse_counts(text)


def test_every_line_of_an_assessment_is_drawn_from_its_facts():
    interval = {"value": 5.0, "standard_error": 0.1, "lower": 4.8, "upper": 5.2, "units": 40}
    losses = {"data": interval, "held_out": interval, "out_of_bag": None, "future": None}
    facts = {
        "kind": "GaussianMixture",
        "unit": "row",
        "rows": 40,
        "units": 40,
        "parameters": 11,
        "loss": {**losses, "gap": {"value": -0.5, "lower": -0.9, "upper": -0.1}},
        "coefficient": {"value": 3.25, "standard_error": 0.2, "anchored": 4.0},
        "criteria": {
            "bic": 5.5,
            "wbic": 5.25,
            "waic": {"value": 5.1, "standard_error": 0.1},
            "loo": {"value": 5.2, "standard_error": 0.1, "high_pareto_k": 0.025},
        },
        "prior": "Dirichlet(1)",
        "problem": "The chains have not moved.",
        "stability": {
            "refits": 50,
            "seen_within": 0.5,
            "least_seen": 0.8,
            "components": [
                {"component": 0, "weight": 0.4, "weight_error": 0.1, "relative_entropy": None, "seen": 0.5},
                {"component": 1, "weight": 0.6, "weight_error": 0.1, "relative_entropy": 0.01, "seen": 1.0},
            ],
            "unstable": [0],
        },
        "notes": ["There is more to say: max_iter."],
    }
    text = "\n".join(assessment_lines(facts))
    for part in (
        "data less held out: it has overfitted",
        "6.5 ± 0.4 at n = 40   anchored 8",
        "   5.5000    5.2500",
        "k̂ > 0.7 for 2.5 % of the rows",
        "median relative entropy ∞   seen in 50 %",
        "Seen in fewer than 80 % of the refits: 0.",
        "The chains have not moved.",
        "--max-iter",
    ):
        assert part in text, part


@pytest.mark.slow
def test_a_regressor_is_assessed_as_far_as_it_can_be(run):
    X = rows_for("regressor")
    write_csv("data.csv", X, ["a", "b", "y"])
    run("fit", "regressor", "data.csv", "--target", "y", "--save", "r.safetensors")
    facts = json.loads(run("assess", "r.safetensors", "data.csv", "--json").stdout)
    assert facts["parameters"] == 4
    assert np.isfinite(facts["loss"]["data"]["value"])
    assert len(facts["notes"]) == 2
