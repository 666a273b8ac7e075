"""A stream that goes on for hours ends with the memory it had after its first minute; hours are batches here."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kullback
from cli.helpers import BATCH, SIZE
from tiers import slow

#: Batches that are needed to begin with, and those of each half after them.
FIRST, HALF = 500, 900
#: One arena and one allocator: several come to their size by jumps of some megabytes, whenever a thread first uses one.
STEADY = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def resident(process):
    """Return the megabytes of memory that a process has, over a moment."""
    sizes = []
    for _ in range(5):
        time.sleep(0.05)
        sizes.append(int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    return np.median(sizes) / 1e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", [slow("gaussian-hmm"), slow("gaussian-mixture")])
def test_memory_stays_as_it_is(name, tmp_path):
    words = ["fit", name, "-", "--format", "csv", "--n-components", SIZE, "--random-state", 0, "--batch-rows", BATCH]
    words += ["--rate", 0.01, "--checkpoint", "run.ckpt", "--save", "live.safetensors", "--quiet"]
    X = np.random.default_rng(0).normal(np.repeat([[-2.0], [2.0]], BATCH // 2, axis=0), 1.0, (BATCH, 4))
    text = "".join(",".join(f"{entry:.6f}" for entry in row) + "\n" for row in X).encode()
    # a process of its own: one that was forked takes over the memory of its parent bit by bit
    command = [sys.executable, "-m", "kullback", *map(str, words)]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, env=os.environ | STEADY) as process:
        process.stdin.write(b"a,b,c,d\n")
        sizes = []
        for batch in range(FIRST + 2 * HALF):
            process.stdin.write(text)  # waits while the pipe is full: the command is some 64 kB behind
            if batch % 100 == 99 and batch > FIRST:
                sizes.append(resident(process.pid))
        process.stdin.close()
        assert process.wait() == 0
    assert kullback.load(tmp_path / "live.safetensors").n_points_seen_ == (FIRST + 2 * HALF) * BATCH
    # memory that is free for a while comes and goes, so the least of each half counts: what leaks never goes
    first, second = min(sizes[: len(sizes) // 2]), min(sizes[len(sizes) // 2 :])
    assert second - first < 4, sizes  # a leak of 5 kB in each batch would be seen
