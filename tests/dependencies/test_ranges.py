"""The ranges of versions in pyproject.toml are true at both ends: kullback works with the oldest and the newest."""

import os
import pathlib
import subprocess
import sys
import venv

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def run(*command, **settings):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=3000, **settings)


@pytest.fixture(scope="module")
def uv(tmp_path_factory):
    """A tool that can ask for the oldest versions, in an environment of its own."""
    home = tmp_path_factory.mktemp("uv")
    venv.create(home, with_pip=True)
    done = run(home / "bin" / "python", "-m", "pip", "install", "--quiet", "uv")
    if done.returncode:
        pytest.skip(f"no package index can be reached: {done.stderr.strip()[-200:]}")
    return home / "bin" / "uv"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="paths are those of Unix")
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_it_works_at_both_ends_of_the_ranges(uv, tmp_path, resolution):
    home = tmp_path / "environment"
    made = run(uv, "venv", "--python", sys.executable, home)
    assert made.returncode == 0, made.stderr
    put = run(uv, "pip", "install", "--python", home, "--resolution", resolution, "-r", ROOT / "pyproject.toml")
    assert put.returncode == 0, put.stderr
    smoke = pathlib.Path(__file__).with_name("smoke.py")
    done = run(home / "bin" / "python", smoke, env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "XLA_FLAGS": ""})
    assert done.returncode == 0, done.stderr
