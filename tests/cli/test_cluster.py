"""Fitting on workers: they read the data, and what is learned is what one machine learns."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import kullback
from cli.helpers import BATCH, rows_for, write_csv
from kullback.cli import _cluster

pytest.importorskip("distributed")

from kullback.cli._model_file import read_model
from kullback.distributed import local_cluster


@pytest.fixture(scope="module")
def address():
    with local_cluster(2) as cluster:
        yield cluster.scheduler_address


def assert_same(one, other):
    (one, columns, *_), (other, others, *_) = read_model(one), read_model(other)
    for name in one._attributes(one.to_model()):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-9, atol=1e-9, err_msg=name)
    assert columns == others
    assert one.n_points_seen_ == other.n_points_seen_


def write_words(path):
    """Write rows with a column of words and some bad rows."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal(4 * (k % 2)):.6f},{'xy'[k % 2]}" for k in range(300)]
    rows[70:70], rows[200:200] = ["1,2,3"], ["?,x"]
    path.write_text("\n".join(["a,b", *rows]) + "\n")


def test_batch_em_is_that_of_one_machine(run, address, tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "_ROWS", 64)
    write_words(tmp_path / "data.csv")
    fit = ["fit", "mixture", "data.csv", "--family", "gaussian,categorical", "--n-components", 2, "--random-state", 0]
    fit += ["--method", "em", "--max-iter", 5, "--tol", 0, "--skip-bad", "--batch-rows", BATCH]
    run(*fit, "--save", "one.safetensors")
    told = run(*fit, "--scheduler", address, "--save", "two.safetensors").stdout
    assert "Mixture of 300 rows, 2 bad rows left out" in told
    assert_same("one.safetensors", "two.safetensors")


@pytest.mark.slow
def test_workers_learn_online_from_a_common_start(run, address):
    write_csv("data.csv", rows_for("gaussian-mixture", 40 * BATCH))
    fit = ["fit", "gaussian-mixture", "data.csv", "--n-components", 2, "--random-state", 0, "--batch-rows", BATCH]
    run(*fit, "--save", "one.safetensors")
    run(*fit, "--scheduler", address, "--synchronize-every", 4, "--passes", 2, "--save", "two.safetensors")
    one, two = (read_model(f"{name}.safetensors").estimator for name in ("one", "two"))
    X = rows_for("gaussian-mixture", 40 * BATCH)
    assert two.n_points_seen_ == 2 * len(X)
    best = kullback.GaussianMixture(2, random_state=0).fit(X).score(X)
    assert best - two.score(X) < max(0.01, 1.5 * (best - one.score(X)))


@pytest.mark.slow
def test_a_series_is_one_block_and_a_checkpoint_can_be_gone_on_with(run, address, monkeypatch):
    write_csv("data.csv", rows_for("gaussian-hmm"))
    fit = ["fit", "gaussian-hmm", "data.csv", "--n-components", 2, "--random-state", 0, "--method", "em", "--n-iter", 4]
    fit += ["--tol", 0]
    run(*fit, "--save", "one.safetensors")
    fit += ["--scheduler", address, "--checkpoint", "c", "--checkpoint-every", 0, "--save", "two.safetensors"]
    looked = kullback.cli._batch_fit.SignalCallback.step

    def stopped(self, snapshot, history):
        self._stop.requested = len(history) == 2
        return looked(self, snapshot, history)

    monkeypatch.setattr("kullback.cli._batch_fit.SignalCallback.step", stopped)
    run(*fit, code=130)
    run(*fit, "--resume")
    assert_same("one.safetensors", "two.safetensors")


@pytest.mark.slow
def test_workers_can_be_started_here_beside_another_cluster(run):
    write_csv("data.csv", rows_for("poisson-mixture"))
    fit = ["fit", "poisson-mixture", "data.csv", "--n-components", 2, "--random-state", 0, "--method", "em"]
    run(*fit, "--save", "one.safetensors")
    with socket.socket() as other:
        with contextlib.suppress(OSError):  # somebody has it already: just as well
            other.bind(("127.0.0.1", 8787))  # where the dashboard of a cluster is
            other.listen()
        told = run(*fit, "--scheduler", "local:1", "--save", "two.safetensors")
    assert told.stderr == ""
    assert_same("one.safetensors", "two.safetensors")


@pytest.mark.slow
def test_sequences_that_lie_in_two_blocks_are_put_together(run, address, tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "_ROWS", 64)
    X = rows_for("gaussian-hmm", 200)
    lines = [",".join([f"run {place // 30}", *map(repr, row.tolist())]) for place, row in enumerate(X)]
    (tmp_path / "data.csv").write_text("\n".join(["run,a,b,c,d", *lines]) + "\n")
    fit = ["fit", "gaussian-hmm", "data.csv", "--n-components", 2, "--random-state", 0, "--method", "em", "--n-iter", 4]
    fit += ["--tol", 0, "--sequence-column", "run", "--batch-rows", BATCH]
    run(*fit, "--save", "one.safetensors")
    run(*fit, "--scheduler", address, "--save", "two.safetensors")
    assert_same("one.safetensors", "two.safetensors")


@pytest.mark.slow
def test_an_interrupt_from_the_keyboard_reaches_all_processes_and_the_work_is_saved(tmp_path):
    write_csv(tmp_path / "data.csv", rows_for("gaussian-mixture"))
    words = ["fit", "gaussian-mixture", "data.csv", "--n-components", 2, "--random-state", 0, "--method", "em"]
    words += ["--tol", 0, "--max-iter", 10_000_000, "--scheduler", "local:1", "--save", "model.safetensors"]
    words += ["--checkpoint", "run.ckpt", "--checkpoint-every", 0]
    command = [sys.executable, "-m", "kullback", *map(str, words)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    while not (tmp_path / "run.ckpt").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the model so far is in model.safetensors" in said
    assert kullback.load(tmp_path / "model.safetensors").n_iter_ >= 1


@pytest.mark.slow
def test_a_long_file_on_workers_goes_the_way_of_one_machine(run, address):
    rng = np.random.default_rng(0)
    np.save("data.npy", rng.normal(rng.normal(0, 1, (5, 3))[rng.integers(5, size=200_000)], 1.0))
    fit = ["fit", "gaussian-mixture", "data.npy", "--n-components", 5, "--random-state", 1, "--method", "em"]
    fit += ["--max-iter", 40, "--tol", 0]
    run(*fit, "--save", "one.safetensors")
    run(*fit, "--scheduler", address, "--save", "two.safetensors")
    one, two = (np.array(kullback.load(f"{name}.safetensors").lower_bounds_) for name in ("one", "two"))
    np.testing.assert_allclose(two[:20], one[:20], rtol=0, atol=1e-9)
    np.testing.assert_allclose(two[-1], one[-1], rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_targets_are_learned_as_on_one_machine(run, refused, address, tmp_path, monkeypatch, name):
    monkeypatch.setattr(_cluster, "_ROWS", 64)
    rng = np.random.default_rng(0)
    x, word = rng.normal(size=300), rng.choice(["here", "there"], 300)
    y = rng.poisson(np.exp(0.5 * x + (word == "here")))
    target = y.astype(str) if name == "regressor" else np.where(y > 1, "many", "few")
    lines = [f"{a},{b},{c}" for a, b, c in zip(x, word, target, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["x,word,y", *lines]) + "\n")
    fit = ["fit", name, "data.csv", "--target", "y", "--method", "batch", "--random-state", 0, "--batch-rows", BATCH]
    fit += ["--family", "poisson"] if name == "regressor" else []
    run(*fit, "--save", "one.safetensors")
    run(*fit, "--scheduler", address, "--save", "two.safetensors")
    assert_same("one.safetensors", "two.safetensors")
    online = ["--method", "online", "--scheduler", address, "--save", "m.safetensors"]
    assert "is for --method batch" in refused("fit", name, "data.csv", "--target", "y", *online)
