"""Columns that tell sequences apart, and columns that are inputs: compared with the library, which is told by hand."""

import json

import numpy as np
import pytest

import kullback
from cli.helpers import BATCH, held
from kullback.cli import _online_fit
from kullback.cli._model_file import read_model

LENGTHS = [30, 50, 20, 60, 40]
RNG = np.random.default_rng(0)
WORDS = np.repeat([f"run {place}" for place in range(len(LENGTHS))], LENGTHS)
INPUTS = RNG.normal(size=(200, 1))
SERIES = np.concatenate([np.cumsum(RNG.normal(0, 0.3, (many, 1)), axis=0) for many in LENGTHS]) + INPUTS
SERIES = np.hstack([SERIES, -SERIES]) + RNG.normal(0, 0.3, (200, 2))


@pytest.fixture
def data(tmp_path):
    lines = [f"{a!r},{w},{u!r},{b!r}" for (a, b), w, (u,) in zip(SERIES.tolist(), WORDS, INPUTS.tolist(), strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["a,run,u,b", *lines]) + "\n")
    (tmp_path / "ahead.csv").write_text("u\n0.5\n-0.5\n")
    return tmp_path


FIT = ["--sequence-column", "run", "--save", "m.safetensors", "--random-state", 0]
HMM = ["fit", "gaussian-hmm", "data.csv", "--n-components", 2, "--columns", "a,b", *FIT]
SYSTEM = ["fit", "linear-dynamical-system", "data.csv", "--n-latents", 1, "--input-columns", "u", *FIT]


def test_batch_em_learns_from_sequences_and_inputs(run, data):
    run(*SYSTEM, "--method", "em", "--max-iter", 5)
    found, columns, *_ = read_model("m.safetensors")
    alone = kullback.LinearDynamicalSystem(1, max_iter=5, random_state=0).fit(SERIES, LENGTHS, INPUTS)
    for name in alone._attributes(alone.to_model()):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name), err_msg=name)
    assert columns == {"names": ["a", "b"], "codes": {}, "sequence": "run", "inputs": ["u"]}
    told = [json.loads(line) for line in run("score", "m.safetensors", "data.csv", "--json").stdout.splitlines()]
    assert np.isclose(sum(row["log_likelihood"] for row in told), alone.score(SERIES, LENGTHS, INPUTS))
    states = run("decode", "m.safetensors", "data.csv", "--json").stdout.splitlines()
    np.testing.assert_allclose(
        [json.loads(line)["state_0"] for line in states], alone.smooth(SERIES, LENGTHS, INPUTS)[0][:, 0]
    )
    ahead = run("forecast", "m.safetensors", "data.csv", "--steps", 2, "--future", "ahead.csv", "--json").stdout
    expected = alone.forecast(SERIES[-40:], 2, INPUTS[-40:], [[0.5], [-0.5]]).mean
    np.testing.assert_allclose([json.loads(line)["a"] for line in ahead.splitlines()], expected[:, 0])
    run("report", "m.safetensors", "--data", "data.csv")
    assert "5 sequences" in (data / "report.html").read_text()


def test_a_stream_of_sequences_goes_from_batch_to_batch(run, data):
    """Batches of one row more than a sequence has, of all rows, and whole ones by the library's own hand."""
    run(*HMM, "--batch-rows", 200, "--lag", 5)
    found = kullback.load("m.safetensors")
    alone = kullback.GaussianHMM(2, random_state=0, lag=5)
    alone.partial_fit(SERIES, LENGTHS, continues=True)
    alone.end_series()
    np.testing.assert_array_equal(found.means_, alone.means_)
    assert found.n_sequences_seen_ == alone.n_sequences_seen_ == 5
    # where a batch ends with its sequence, the next one begins: 80 rows are two sequences, then 80, then 40
    run(*HMM, "--batch-rows", 80, "--lag", 0, "--rate", 0.5)
    found = kullback.load("m.safetensors")
    alone = kullback.GaussianHMM(2, random_state=0, lag=0, rate=0.5)
    for rows, lengths in ((slice(0, 80), [30, 50]), (slice(80, 160), [20, 60]), (slice(160, 200), [40])):
        alone.partial_fit(SERIES[rows], lengths)
    np.testing.assert_allclose(found.means_, alone.means_, rtol=1e-12)
    np.testing.assert_allclose(found.transmat_, alone.transmat_, rtol=1e-12)
    assert found.n_sequences_seen_ == 5


def test_a_checkpoint_knows_which_sequence_was_last(run, data, monkeypatch):
    fit = [*HMM, "--batch-rows", BATCH, "--passes", 2]
    run(*fit)
    whole = held("m.safetensors")
    fit += ["--checkpoint", "c", "--checkpoint-every", 0]
    learn, calls = _online_fit._learn, []

    def dies(*args):
        calls.append(args)
        if len(calls) in (2, 4, 7):
            raise OSError("the machine went down")
        return learn(*args)

    monkeypatch.setattr(_online_fit, "_learn", dies)
    for _ in range(3):
        run(*fit, "--resume", code=2)
    run(*fit, "--resume")
    assert held("m.safetensors") == whole


def test_what_does_not_go_together_is_refused(run, refused, data):
    save = ["--save", "m.safetensors"]
    mixture = ["fit", "gaussian-mixture", "data.csv", *save]
    assert "--sequence-column is not for GaussianMixture" in refused(*mixture, "--sequence-column", "run")
    assert "--input-columns is not for GaussianHMM" in refused(
        "fit", "gaussian-hmm", "data.csv", *save, "--input-columns", "u"
    )
    assert "column 'u' cannot be a value" in refused(*SYSTEM, "--columns", "a,u")
    assert "has no column 'walk'" in refused(*SYSTEM[:-6], "--sequence-column", "walk", *FIT[2:])
    assert "--scheduler does not go with --input-columns" in refused(*SYSTEM, "--scheduler", "local:1")
    run(*SYSTEM)
    assert "future_inputs is missing" in refused("forecast", "m.safetensors", "data.csv")
    (data / "short.csv").write_text("a,b\n1,2\n")
    assert "no column 'u'" in refused("score", "m.safetensors", "short.csv")
    run(*HMM)
    ahead = ["--future", "ahead.csv"]
    assert "fitted without --input-columns" in refused("forecast", "m.safetensors", "data.csv", *ahead)
