"""Batch EM from the command line: stopped after an iteration, killed, gone on with."""

import os
import signal
import time

import numpy as np
import pytest

import kullback
from cli.helpers import held, rows_for, size_of, write_csv
from kullback.cli._batch_fit import SignalCallback

STEPS = {"gaussian-mixture": "--max-iter", "gaussian-hmm": "--n-iter", "linear-dynamical-system": "--max-iter"}


@pytest.mark.parametrize("name", STEPS)
def test_a_fit_that_was_stopped_and_resumed_is_the_one_that_was_not(name, run, monkeypatch):
    write_csv("data.csv", rows_for(name))
    fit = ["fit", name, "data.csv", *size_of(name), "--random-state", 0, "--method", "em", STEPS[name], 6, "--tol", 0]
    run(*fit, "--save", "whole.safetensors")
    fit += ["--checkpoint", "run.ckpt", "--checkpoint-every", 0, "--save", "parts.safetensors"]
    looked, steps = SignalCallback.step, []

    def stopped(self, snapshot, history):
        steps.append(len(history))
        self._stop.requested = len(history) in (1, 4)
        return looked(self, snapshot, history)

    monkeypatch.setattr(SignalCallback, "step", stopped)
    for iterations in (1, 4):
        said = run(*fit, "--resume", code=130).stderr
        assert "the same command with --resume goes on" in said
        assert len(kullback.load("parts.safetensors").lower_bounds_) == iterations
    assert "holds a fit that is not done" in run(*fit, code=2).stderr
    run(*fit, "--resume")
    assert steps[:5] == [1, 2, 3, 4, 5]  # none was made twice
    assert held("parts.safetensors") == held("whole.safetensors")
    written = os.stat("run.ckpt").st_mtime_ns
    run(*fit, "--resume")  # is done: nothing is computed again
    assert os.stat("run.ckpt").st_mtime_ns == written
    assert held("parts.safetensors") == held("whole.safetensors")


def test_a_checkpoint_is_of_one_start_and_of_one_method(run, refused):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    fit = ["fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--save", "m.safetensors", "--checkpoint", "c"]
    assert "--n-init is 2" in refused(*fit, "--method", "em", "--n-init", 2)
    run(*fit, "--method", "em", "--random-state", 0)
    assert "method was 'em' there" in refused(*fit, "--method", "online", "--random-state", 0, "--resume")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_climb_and_what_was_reached_is_kept(number, server, tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 2))
    write_csv(tmp_path / "data.csv", X)
    words = ["fit", "gaussian-mixture", "data.csv", "--n-components", 3, "--random-state", 0, "--method", "em"]
    words += ["--tol", 0, "--max-iter", 10_000_000, "--save", "model.safetensors"]
    words += ["--checkpoint", "run.ckpt", "--checkpoint-every", 0]
    child = server.start(tmp_path, *words)
    deadline = time.monotonic() + 120
    while not (tmp_path / "run.ckpt").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(child, number)
    code, _, said = server.wait()
    kept = kullback.load(tmp_path / "run.ckpt")
    assert len(kept.lower_bounds_) >= 1
    if number is signal.SIGKILL:
        assert code == -number
        assert not (tmp_path / "model.safetensors").exists()
    else:
        assert code == 128 + number
        assert "the model so far is in model.safetensors" in said
        np.testing.assert_array_equal(kullback.load(tmp_path / "model.safetensors").means_, kept.means_)
