"""Nothing is lost: a fit that is killed at any moment ends where one ends that was left alone."""

import os
import random
import signal
import time

import numpy as np
import pytest

from cli.helpers import BATCH, each_command, held, names_for, rows_for, size_of, write_csv
from kullback.cli import _checkpoint


def now(path):
    """Say which file is there: a checkpoint that was renamed to this place is another."""
    try:
        return os.stat(path).st_ino, os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None


@pytest.mark.slow
def test_a_fit_that_is_killed_20_times_ends_as_if_nothing_had_happened(server, tmp_path):
    rng, chance = np.random.default_rng(0), random.Random(1)
    X = np.concatenate([rng.normal(m, 1, (4000, 2)) for m in (-4, 0, 4)])
    write_csv(tmp_path / "data.csv", rng.permutation(X).round(3))
    command = ["fit", "gaussian-mixture", "data.csv", "--covariance-type", "diag", "--n-components", 3]
    command += ["--random-state", 0, "--batch-rows", 8, "--quiet"]
    server.start(tmp_path, *command, "--save", "whole.safetensors")
    assert server.wait()[0] == 0

    kept, moved, longest = tmp_path / "run.ckpt", 0, 0.0
    parts = [*command, "--save", "parts.safetensors", "--checkpoint", "run.ckpt", "--resume"]
    for turn in range(20):
        before, began = now(kept), time.monotonic()
        process = server.start(tmp_path, *parts, "--checkpoint-every", 0)
        if turn % 2:  # while it starts, or soon after
            time.sleep(chance.uniform(0, longest))
        else:  # while it learns
            while now(kept) == before:
                time.sleep(0.001)
            longest = max(longest, time.monotonic() - began)
            time.sleep(chance.uniform(0, 0.05))
        os.kill(process, signal.SIGKILL)
        assert server.wait()[0] == -signal.SIGKILL
        moved += now(kept) != before
    assert moved >= 10
    assert not (tmp_path / "parts.safetensors").exists()

    server.start(tmp_path, *parts)  # with fewer checkpoints, which is quicker and changes nothing
    assert server.wait()[0] == 0
    assert held(tmp_path / "parts.safetensors") == held(tmp_path / "whole.safetensors")
    assert not list(tmp_path.glob(".*"))  # what the kills have left is swept away


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_pipe_with_all_that_has_come(server, tmp_path, number):
    os.mkfifo(tmp_path / "pipe")
    command = ["fit", "gaussian-mixture", "-", "--format", "csv", "--n-components", 2]
    command += ["--random-state", 0, "--batch-rows", 64]
    process = server.start(
        tmp_path, *command, "--checkpoint", "run.ckpt", "--save", "live.safetensors", stdin=tmp_path / "pipe"
    )
    rows = rows_for("gaussian-mixture", 150)
    with open(tmp_path / "pipe", "w") as pipe:
        pipe.write("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
        pipe.flush()
        while not (tmp_path / "run.ckpt").exists():
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(process, number)
        code, _, err = server.wait()
    assert code == 128 + number, err
    assert "stopped after 150 rows" in err
    assert "--resume" in err
    assert held(tmp_path / "live.safetensors")["n_points_seen_"] == 150
    if number == signal.SIGTERM:
        return

    # the same command goes on with what comes now, and says so
    with open(tmp_path / "more.csv", "w") as more:
        more.write("a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in rows[:100]) + "\n")
    server.start(
        tmp_path, *command, "--checkpoint", "run.ckpt", "--save", "live.safetensors", "--resume", stdin="more.csv"
    )
    code, _, err = server.wait()
    assert code == 0, err
    assert "at most one batch is learned twice" in err
    assert held(tmp_path / "live.safetensors")["n_points_seen_"] == 250


@pytest.mark.parametrize("name", each_command(slow=("GaussianMixture", "GaussianHMM", "LinearDynamicalSystem")))
def test_every_kind_goes_on_bit_for_bit(run, monkeypatch, name):
    passes = 2 if name in ("gaussian-hmm", "categorical-mixture", "probabilistic-pca") else 1  # one of each sort
    write_csv("data.csv", rows_for(name, 3 * BATCH), names_for(name))
    more = {"categorical-mixture": ["--n-categories", 4], "categorical-hmm": ["--n-features", 4]}.get(name, [])
    command = ["fit", name, "data.csv", *size_of(name), *more, "--random-state", 0, "--batch-rows", BATCH]
    command += ["--passes", passes, *(["--shuffle", 100] if name in ("gaussian-mixture", "probabilistic-pca") else [])]
    run(*command, "--save", "whole.safetensors")

    written, places = _checkpoint.Checkpoint.write, []

    def write(self, *args):
        written(self, *args)
        places.append(args[-1])
        if len(places) == 2 * passes:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(_checkpoint.Checkpoint, "write", write)
    command += ["--save", "parts.safetensors", "--checkpoint", "run.ckpt", "--checkpoint-every", 0]
    stopped = run(*command, code=143)
    assert "stopped after" in stopped.stderr
    assert held("parts.safetensors") != held("whole.safetensors")
    run(*command, "--resume")
    assert held("parts.safetensors") == held("whole.safetensors")
    assert places[-1].done

    # once more: there is nothing left to do
    run(*command, "--resume")
    assert held("parts.safetensors") == held("whole.safetensors")


def test_checkpoints_of_other_commands_are_refused(run, refused):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    write_csv("other.csv", rows_for("gaussian-mixture", seed=1))
    command = ["--save", "m.safetensors", "--random-state", 0, "--checkpoint", "run.ckpt"]
    run("fit", "gaussian-mixture", "data.csv", "--n-components", 3, *command)
    same = ["fit", "gaussian-mixture", "data.csv", "--n-components"]
    assert "--n-components was 3 there and is 2 here" in refused(*same, 2, *command, "--resume")
    other = ["fit", "gaussian-mixture", "other.csv", "--n-components", 3]
    assert "data was" in refused(*other, *command, "--resume")
    assert "kind was 'GaussianMixture'" in refused("fit", "mixture", "data.csv", *command, "--resume")
    assert "another command" in refused(*same, 3, *command, "--resume", "--batch-rows", 7)
    same_model = ["--checkpoint", "m.safetensors", "--resume"]
    assert "no checkpoint" in refused(*same, 3, "--save", "n.safetensors", *same_model)


def test_a_fit_that_is_not_done_is_not_written_over(run, refused, monkeypatch):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    command = [
        "fit",
        "gaussian-mixture",
        "data.csv",
        "--save",
        "m.safetensors",
        "--batch-rows",
        BATCH,
        "--n-components",
        3,
    ]
    command += ["--checkpoint", "run.ckpt", "--checkpoint-every", 0]
    written = _checkpoint.Checkpoint.write

    def write(self, *args):
        written(self, *args)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_checkpoint.Checkpoint, "write", write)
    run(*command, code=130)
    monkeypatch.undo()
    monkeypatch.chdir(run.folder)
    assert "add --resume" in refused(*command)
    run(*command, "--resume")
    run(*command)  # it is done: another may begin


def test_a_damaged_checkpoint_is_refused(run, refused, tmp_path):
    write_csv("data.csv", rows_for("gaussian-mixture"))
    (tmp_path / "run.ckpt").write_bytes(b"half")
    command = ["fit", "gaussian-mixture", "data.csv", "--save", "m.safetensors", "--checkpoint", "run.ckpt", "--resume"]
    assert "run.ckpt is not a saved model" in refused(*command)
