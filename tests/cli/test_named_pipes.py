"""The command reads named pipes as it reads standard input."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from cli.helpers import held, rows_for, write_csv


def fit(*more):
    return ["fit", "gaussian-mixture", "pipe.csv", "--n-components", 3, "--random-state", 0, "--batch-rows", 64, *more]


def text_of(rows):
    return "a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_named_pipe_with_all_that_has_come(server, tmp_path, number):
    os.mkfifo(tmp_path / "pipe.csv")
    process = server.start(tmp_path, *fit("--checkpoint", "run.ckpt", "--save", "live.safetensors"))
    rows = rows_for("gaussian-mixture", 150)
    with open(tmp_path / "pipe.csv", "w") as pipe:
        pipe.write(text_of(rows))
        pipe.flush()
        while not (tmp_path / "run.ckpt").exists():  # after each batch, as from standard input
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(process, number)
        code, _, err = server.wait()
    assert code in (130, 128 + number), err
    assert "stopped after 150 rows" in err
    assert held(tmp_path / "live.safetensors")["n_points_seen_"] == 150


@pytest.mark.slow
def test_a_signal_ends_the_wait_for_a_writer(server, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    process = server.start(tmp_path, *fit("--save", "live.safetensors"))
    time.sleep(0.5)
    os.kill(process, signal.SIGINT)
    code, _, err = server.wait()
    assert code in (130, -signal.SIGINT), err  # after the handlers are in place, or before
    assert "Traceback" not in err


def test_what_does_not_go_with_a_stream(run, refused):
    os.mkfifo("pipe.csv")
    assert "a stream can be read only once" in refused(*fit("--save", "m.safetensors", "--passes", 2))
    with_cluster = refused(*fit("--save", "m.safetensors", "--scheduler", "local:2"))
    assert "--scheduler does not go with a stream" in with_cluster


def test_a_stream_whose_name_does_not_say_its_format_needs_the_option(refused):
    found = refused("fit", "gaussian-mixture", "-", "--save", "m.safetensors", input="a,b\n1,2\n")
    assert "--format is missing: standard input can only be read as csv" in found


def test_a_named_pipe_can_be_fitted_and_scored(run):
    write_csv("rows.csv", rows_for("gaussian-mixture"))
    os.mkfifo("pipe.csv")
    words = fit("--save", "m.safetensors", "--checkpoint", "run.ckpt")
    for command in (words, ["score", "m.safetensors", "pipe.csv", "--output", "s.csv"]):
        writer = threading.Thread(target=Path("pipe.csv").write_bytes, args=(Path("rows.csv").read_bytes(),))
        writer.start()
        run(*command)
        writer.join()
    assert len(Path("s.csv").read_text().splitlines()) == 129
