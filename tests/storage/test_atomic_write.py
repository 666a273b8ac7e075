"""Files that are whole or not there: what is left behind, and whose it is."""

import errno
import os
import re
import subprocess
import sys
import time

import pytest

from kullback.storage import _atomic_write, _file_lock, atomic_write, remove_leftovers

HEX = "0123456789abcdef" * 2

#: Locks what it writes, says so, and waits.
WRITER = """
import os, sys, time
from pathlib import Path
from kullback.storage import _atomic_write
def replace(old, new):
    print(old, flush=True)
    sys.stdin.readline()
    rename(old, new)
rename, os.replace = os.replace, replace
_atomic_write.atomic_write(Path(sys.argv[1]), b"whole")
"""


def test_a_full_disk_is_said_with_the_path(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=re.escape(f"No space left on device: '{tmp_path / 'x'}'")) as error:
        atomic_write(tmp_path / "x", b"content")
    assert error.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_an_error_names_the_goal_and_not_the_temporary(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as error:
        atomic_write(tmp_path / "folder", b"content")
    assert error.value.filename == str(tmp_path / "folder")
    with pytest.raises(FileNotFoundError) as error:
        atomic_write(tmp_path / "none" / "x", b"content")
    assert error.value.filename == str(tmp_path / "none" / "x")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_sweep_leaves_the_temporary_of_a_living_writer(tmp_path):
    goal = tmp_path / "x[1].ckpt"
    (tmp_path / f".x[1].ckpt.{HEX}").write_bytes(b"of one that was killed")
    (tmp_path / ".x[1].ckpt.more").write_bytes(b"of someone else")
    command = [sys.executable, "-c", WRITER, str(goal)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        temporary = writer.stdout.readline().strip()
        remove_leftovers(goal)
        assert sorted(os.listdir(tmp_path)) == sorted([".x[1].ckpt.more", os.path.basename(temporary)])
        writer.communicate("go on\n")
    assert goal.read_bytes() == b"whole"

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        temporary = writer.stdout.readline().strip()
        writer.kill()
    assert os.path.exists(temporary)
    remove_leftovers(goal)
    assert not os.path.exists(temporary)


def test_without_locks_only_old_ones_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(_file_lock, "fcntl", None)
    left = tmp_path / f".x.{HEX}"
    left.write_bytes(b"")
    remove_leftovers(tmp_path / "x")
    assert left.exists()
    os.utime(left, (time.time() - 7200,) * 2)
    remove_leftovers(tmp_path / "x")
    assert not left.exists()


def test_a_temporary_that_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, times = _atomic_write.lock_file, []

    def swept(file):
        times.append(1)
        if len(times) == 1:
            os.unlink(file.name)
        return lock(file)

    monkeypatch.setattr(_atomic_write, "lock_file", swept)
    atomic_write(tmp_path / "x", b"content")
    assert len(times) == 2
    assert os.listdir(tmp_path) == ["x"]
