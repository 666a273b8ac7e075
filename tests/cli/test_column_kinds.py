"""Columns of words, of true and false, and of numbers: which models take them."""

import json

import numpy as np
import pytest

import kullback
from cli.helpers import BATCH, COMMANDS, WITH_TARGETS
from tiers import slow

RNG = np.random.default_rng(0)
#: To these, words are categories.
OF_WORDS = {"categorical-mixture", "categorical-hmm", "mixture", "hmm", "spiking-network", "variational-autoencoder"}


def write_plant(path, rows=300):
    """Write readings of a plant with two modes, at 20 and 35 degrees; one word comes late and is rare."""
    runs = RNG.random(rows) < 0.6
    temperature = np.where(runs, RNG.normal(20, 1, rows), RNG.normal(35, 1.5, rows))
    status = np.where(runs, "run", "idle").astype(object)
    status[-3] = "warm"
    alarm = RNG.random(rows) < np.where(runs, 0.1, 0.8)
    lines = [f"{t:.3f},{s},{str(a).lower()}" for t, s, a in zip(temperature, status, alarm, strict=True)]
    path.write_text("\n".join(["temperature,status,alarm", *lines]) + "\n")
    return runs


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - OF_WORDS - set(WITH_TARGETS)))
def test_models_of_numbers_refuse_words_and_say_what_to_do(refused, tmp_path, name):
    (tmp_path / "data.csv").write_text("a,kind,b,where\n" + "1,x,2,here\n2,y,1,there\n" * 20)
    sentence = refused("fit", name, "data.csv", "--save", "m.safetensors")
    assert sentence.startswith(f"columns 'kind', 'where' hold words, and {name} learns from numbers: ")
    assert "--columns a,b" in sentence
    assert ("use hmm" if "hmm" in name or "linear" in name else "use mixture") in sentence
    assert not (tmp_path / "m.safetensors").exists()


@pytest.mark.parametrize("more", [["--method", "em"], []])
def test_a_column_of_words_is_named_however_it_is_read(refused, tmp_path, more):
    text = "a,kind\n" + "1,x\n2,y\n" * 20
    (tmp_path / "data.csv").write_text(text)
    fit = ["--save", "m.safetensors", *more]
    for words, given in ((["data.csv"], None), (["-", "--format", "csv"], text)):
        assert "column 'kind' holds words" in refused("fit", "gaussian-mixture", *words, *fit, input=given)
    (tmp_path / "bare.csv").write_text("1,x\n2,y\n" * 20)
    assert "column '1' holds words" in refused("fit", "gaussian-mixture", "bare.csv", "--no-header", *fit)


def test_inputs_are_numbers(refused, tmp_path):
    (tmp_path / "data.csv").write_text("a,load\n" + "1,x\n2,y\n" * 20)
    fit = ["fit", "linear-dynamical-system", "data.csv", "--input-columns", "load", "--save", "m.safetensors"]
    assert "column 'load' holds words, and inputs are numbers" in refused(*fit)


def test_what_a_column_holds_chooses_its_family(run, tmp_path):
    write_plant(tmp_path / "plant.csv")
    fit = ["fit", "mixture", "plant.csv", "--n-components", 2, "--random-state", 0, "--batch-rows", BATCH]
    run(*fit, "--save", "m.safetensors")
    found = kullback.load("m.safetensors")
    assert found.family == ["gaussian", "categorical", "bernoulli"]
    assert np.sort(found.mean_0_.ravel()) == pytest.approx([20, 35], abs=1)
    assert found.n_categories_.tolist() == [0, 3, 0]
    assert "gaussian, categorical, bernoulli" in run("inspect", "m.safetensors").stdout


@pytest.mark.slow
def test_batch_em_chooses_families_too(run, tmp_path):
    runs = write_plant(tmp_path / "plant.csv")
    fit = ["fit", "mixture", "plant.csv", "--n-components", 2, "--random-state", 0, "--method", "em"]
    run(*fit, "--save", "m.safetensors")
    found = kullback.load("m.safetensors")
    assert found.family == ["gaussian", "categorical", "bernoulli"]
    assert np.sort(found.mean_0_.ravel()) == pytest.approx([20, 35], abs=1)
    scores = run(
        "score", "m.safetensors", "plant.csv", "--quiet", "--keep", "none", "--no-row-numbers"
    ).stdout.splitlines()[1:]
    component = np.array([int(line.split(",")[1]) for line in scores])
    assert np.mean((component == component[0]) == (runs == runs[0])) > 0.99
    drawn = run("sample", "m.safetensors", "-n", 50, "--random-state", 0).stdout.splitlines()
    assert {line.split(",")[1] for line in drawn[1:]} <= {"run", "idle", "warm"}


@pytest.mark.slow
def test_a_chain_chooses_families_too_and_goes_on(run, tmp_path):
    write_plant(tmp_path / "plant.csv", 5 * BATCH)
    fit = ["fit", "hmm", "plant.csv", "--n-components", 2, "--random-state", 0, "--batch-rows", BATCH, "--passes", 2]
    run(*fit, "--save", "m.safetensors", "--checkpoint", "run.ckpt", "--checkpoint-every", 0)
    run(*fit, "--save", "n.safetensors", "--checkpoint", "run.ckpt", "--resume")
    found = kullback.load("n.safetensors")
    assert found.family == ["gaussian", "categorical", "bernoulli"]
    assert np.sort(found.mean_0_.ravel()) == pytest.approx([20, 35], abs=2)
    run("combine", "m.safetensors", "n.safetensors", "--save", "both.safetensors")
    told = json.loads(run("inspect", "both.safetensors", "--json").stdout)
    assert told["parameters"]["family"] == found.family
    assert set(told["words"]["status"]) == {"run", "idle", "warm"}


def test_an_explicit_family_of_numbers_refuses_words(refused, tmp_path):
    write_plant(tmp_path / "plant.csv")
    fit = ["fit", "mixture", "plant.csv", "--save", "m.safetensors", "--family"]
    assert refused(*fit, "gaussian") == (
        "column 'status' holds words, and family gaussian is for numbers: use categorical or auto there."
    )
    assert "column 'status' holds words, and family poisson" in refused(*fit, "gaussian,poisson,bernoulli")
    assert "--family has 2 names" in refused(*fit, "gaussian,categorical")


@pytest.mark.slow
def test_true_and_false_are_ones_and_zeros_for_models_of_numbers(run, tmp_path):
    write_plant(tmp_path / "plant.csv")
    fit = ["--columns", "temperature,alarm", "--batch-rows", BATCH, "--random-state", 0, "--save", "m.safetensors"]
    run("fit", "gaussian-mixture", "plant.csv", *fit)
    assert kullback.load("m.safetensors").means_[0, 1] == pytest.approx(0.4, abs=0.15)


@pytest.mark.parametrize("kind", [kullback.Mixture, slow(kullback.HMM)])
def test_arrays_choose_by_their_type(kind):
    import pandas as pd

    side = RNG.random(200) < 0.5
    bits = RNG.random(200) < np.where(side, 0.1, 0.9)
    frame = pd.DataFrame({"x": np.where(side, 0.0, 9.0) + RNG.normal(size=200), "bit": bits})
    limit = {"max_iter": 5} if kind is kullback.Mixture else {"n_iter": 2}
    mixed = kind(2, family="auto", random_state=0, tol=1e9, **limit).fit(frame)
    named = kind(2, family=["gaussian", "bernoulli"], random_state=0, tol=1e9, **limit).fit(frame)
    assert mixed.family_ == named.family_ == ["gaussian", "bernoulli"]
    assert mixed.score(frame) == named.score(frame)
    with pytest.raises(ValueError, match="no family_ was chosen yet"):
        kind(2, family="auto")._families


@pytest.mark.slow
def test_families_that_were_chosen_are_kept(tmp_path):
    bits = RNG.random((100, 2)) < 0.5
    found = kullback.Mixture(2, family="auto", random_state=0, tol=1e9).fit(bits)
    assert found.family_ == "bernoulli"
    found.save(tmp_path / "m")
    again = kullback.load(tmp_path / "m")
    assert again.family == "auto"
    assert again.score(bits) == found.score(bits)
    assert kullback.combine([found, again]).family_ == "bernoulli"
    assert kullback.Mixture.from_model(found.to_model(), family="auto").score(bits) == found.score(bits)
