"""How new rows are to a network that learned a stream: it learns on from each, and its file stays as it is."""

import numpy as np
import pandas as pd
import pytest

import kullback
from cli.helpers import write_csv
from estimators.test_spiking_network import STREAM

FIT = ["--n-units", 6, "--n-chains", 4, "--random-state", 0, "--family", "categorical"]


def test_novelty_is_that_of_a_network_that_goes_on_learning(run):
    write_csv("stream.csv", STREAM[:300])
    write_csv("news.csv", STREAM[300:420])
    run("fit", "spiking-network", "stream.csv", *FIT, "--save", "m.safetensors")
    before = (run.folder / "m.safetensors").read_bytes()
    run("score", "m.safetensors", "news.csv", "--novelty", "--batch-rows", 50, "--output", "found.csv")
    network = kullback.load(run.folder / "m.safetensors")
    network.end_series()
    found = pd.read_csv(run.folder / "found.csv")["novelty"]
    expected = network.novelty(pd.DataFrame(STREAM[300:420], columns=["c0"]))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert (run.folder / "m.safetensors").read_bytes() == before


@pytest.mark.slow
def test_what_is_not_for_a_network_that_learns_streams_is_refused(run, refused):
    write_csv("stream.csv", STREAM[:300])
    save = ["--save", "m.safetensors"]
    assert "it learns online" in refused("fit", "spiking-network", "stream.csv", *FIT, *save, "--method", "em")
    weighted = [*FIT, *save, "--sequence-column", "c0", "--weight-column", "c0"]
    assert "--weight-column is not for SpikingNetwork" in refused("fit", "spiking-network", "stream.csv", *weighted)
    run("fit", "spiking-network", "stream.csv", *FIT, *save)
    assert "--anomaly does not go with --novelty" in refused(
        "score", "m.safetensors", "stream.csv", "--novelty", "--anomaly", 0.01
    )
    run("fit", "gaussian-mixture", "stream.csv", "--n-components", 1, "--save", "g.safetensors")
    assert "models that learn streams" in refused("score", "g.safetensors", "stream.csv", "--novelty")
