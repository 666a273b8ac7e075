"""Compiled functions on disk: the same numbers, whatever became of the files; and nobody else's code."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import kullback
kullback.enable_compilation_cache(sys.argv[1])
import jax.monitoring, numpy as np
hits = []
jax.monitoring.register_event_listener(lambda event, **more: hits.append(event.endswith("cache_hits")))
X = np.random.default_rng(0).normal(size=(60, 2)) + 4 * np.arange(60)[:, None] // 30
mixture = kullback.GaussianMixture(2, random_state=0, max_iter=3, tol=0).fit(X)
print(sum(hits), mixture.means_.tobytes().hex(), flush=True)
if len(sys.argv) > 2:
    import os
    os._exit(1)
"""


def run(folder, *more, code=SCRIPT):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(folder), *more], capture_output=True, text=True
    )


def fit(folder, *more):
    done = run(folder, *more)
    assert done.returncode == (1 if more else 0), done.stderr
    hits, numbers = done.stdout.split()
    return int(hits), numbers


def test_a_folder_that_others_may_write_to_is_refused(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    done = run(shared, code="import sys, kullback; kullback.enable_compilation_cache(sys.argv[1])")
    assert done.returncode == 1
    assert "others may write to it" in done.stderr
    assert list(shared.iterdir()) == []


@pytest.mark.slow
def test_damaged_entries_change_nothing(tmp_path):
    first, numbers = fit(tmp_path / "cache")
    again, same = fit(tmp_path / "cache")
    assert (first, again > 0) == (0, True)
    assert same == numbers
    entries = list((tmp_path / "cache").glob("*/*-cache"))
    assert len(entries) >= again
    for number, entry in enumerate(entries):
        data = bytearray(entry.read_bytes())
        data[len(data) // 2] ^= 255
        entry.write_bytes(data if number % 2 else data[: len(data) // 2])
    damaged, same = fit(tmp_path / "cache")
    assert damaged == 0
    assert same == numbers
    assert fit(tmp_path / "cache") == (again, numbers)


@pytest.mark.slow
def test_where_a_process_has_died_the_folder_rests(tmp_path):
    _, numbers = fit(tmp_path / "cache", "dies")
    (marker,) = (tmp_path / "cache").glob("*/running-*")
    done = run(tmp_path / "cache")
    assert done.returncode == 1
    assert "rests for a week" in done.stderr
    assert not marker.exists()
    (resting,) = (tmp_path / "cache").glob("*/resting")
    assert list(resting.parent.glob("*-cache")) == []
    os.utime(resting, (0, 0))
    assert fit(tmp_path / "cache") == (0, numbers)
    assert fit(tmp_path / "cache")[0] > 0
