"""A fit that is killed by SIGKILL, whenever that is, goes on from its checkpoint and ends at the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kullback.storage import remove_leftovers
from learning import proof_models as proof
from tiers import slow

TESTS = Path(__file__).parents[1]
PASSES, ROWS = 6, 2048

#: Forks children that train: importing takes seconds, and JAX may be forked before it has started.
_SERVER = """
import os, sys, traceback, warnings
warnings.simplefilter("ignore")
from pathlib import Path
from learning.proof_data import train
import pyarrow.csv, safetensors.numpy
print("ready", flush=True)
for line in sys.stdin:
    kind, folder, name, passes = line.split()
    child = os.fork()
    if child == 0:
        try:
            train(kind, Path(folder), name, int(passes))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def server():
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.stdout.readline() == "ready\n"
    yield process
    process.communicate(timeout=60)


def start(server, kind, folder, name):
    print(kind, folder, name, PASSES, file=server.stdin, flush=True)
    return int(server.stdout.readline())


def ended(server):
    """Return the exit code, which is negative for a signal."""
    return int(server.stdout.readline())


def version(path):
    """Say which file is there: a checkpoint that was renamed to this place is another."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


@pytest.mark.parametrize("kind", ["hmm", slow("vae"), slow("machine")])
def test_a_fit_that_is_killed_three_times_ends_at_the_same_bits(kind, server, tmp_path):
    rows = {"hmm": proof.hmm_rows, "vae": proof.two_clusters, "machine": proof.rbm_rows}[kind](ROWS)
    names = ",".join("abcdef"[: rows.shape[1]])
    np.savetxt(tmp_path / "rows.csv", rows, fmt="%.17g", delimiter=",", header=names, comments="")
    start(server, kind, tmp_path, "whole")
    assert ended(server) == 0
    chance, checkpoint = random.Random(kind), tmp_path / "parts.checkpoint"
    for _ in range(3):
        before = version(checkpoint)
        process = start(server, kind, tmp_path, "parts")
        while version(checkpoint) == before:  # until it learns
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.1))
        os.kill(process, signal.SIGKILL)
        assert ended(server) == -signal.SIGKILL, "it had come to its end: there is too little to learn"
    start(server, kind, tmp_path, "parts")
    assert ended(server) == 0
    assert (tmp_path / "parts.end").read_bytes() == (tmp_path / "whole.end").read_bytes()
    remove_leftovers(checkpoint)  # what a writer has left that was killed in the middle
    assert not [path.name for path in tmp_path.glob(".*")]
