import os
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jax
import matplotlib as mpl
import pytest

from tiers import slow_among

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
#: This one writes a page.
DEMO = "three_sites.py"
#: `make test` runs these.
QUICK = {"relative_entropy_balls.py"}
#: These compute for long, or start processes: they run as a user runs them, in a process of their own.
LONG = {
    *("cluster.py", "four_machines.py", "memories.py", "mode_coverage.py", "online_em.py", "shift_register.py"),
    *("source_stream.py", "spin_glass.py"),
}
#: This one needs data that is not installed everywhere, and says so.
CLOTHES = "fashion.py"


def check_pictures(script, folder, said):
    """Look at the pictures of an example, and at what it says of them."""
    png, svg = folder / script.replace(".py", ".png"), folder / script.replace(".py", ".svg")
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert str(png) in said.splitlines()[-1]


@pytest.mark.slow
def test_the_demo_prints_likelihoods_and_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [DEMO, str(tmp_path)])
    runpy.run_path(str(EXAMPLES / DEMO), run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    *sites, together, pooled = (float(line.split()[-1]) for line in said[1:6])
    assert together > max(sites)
    assert abs(together - pooled) < 0.05  # another local optimum may be the better one
    assert (tmp_path / "three_sites.html").read_text(encoding="utf-8").count("<svg") > 3


SHORT = [script for script in SCRIPTS if script not in {*LONG, DEMO, CLOTHES}]


@pytest.mark.parametrize("script", slow_among(SHORT, *set(SHORT) - QUICK))
def test_writes_its_picture_and_says_where(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path)])
    settings, bits = dict(mpl.rcParams), jax.config.jax_enable_x64
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    check_pictures(script, tmp_path, capsys.readouterr().out)
    assert (dict(mpl.rcParams), jax.config.jax_enable_x64) == (settings, bits)


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(LONG))
def test_a_long_one_writes_its_picture_and_says_where(script, tmp_path):
    settings = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "JAX_ENABLE_X64")}
    command = [sys.executable, str(EXAMPLES / script), str(tmp_path)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    check_pictures(script, tmp_path, done.stdout)


@pytest.mark.slow
def test_clothes_are_learned_where_they_are_installed(tmp_path, monkeypatch, capsys):
    example = runpy.run_path(str(EXAMPLES / CLOTHES))
    monkeypatch.setattr(sys, "argv", [CLOTHES, str(tmp_path)])
    if not example["FOLDER"].is_dir():
        with pytest.raises(SystemExit, match="0"):
            runpy.run_path(str(EXAMPLES / CLOTHES), run_name="__main__")
        assert "apt-get install dataset-fashion-mnist" in capsys.readouterr().out
        return
    X, test = example["read"]("train"), example["read"]("t10k")
    assert (X.shape, test.shape) == ((60_000, 784), (10_000, 784))
    globals_of_example = example["learn"].__globals__
    monkeypatch.setitem(globals_of_example, "STEPS", (8, 16))
    machine, found = example["learn"]("natural", X[:2_000], test[:20])
    assert machine.n_steps_ >= 16
    assert found.shape[1] == 4
    assert found[-1, 2] > -400  # 784 coins have −543 nats


def test_the_readme_lists_every_script():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    missing = [script for script in SCRIPTS if f"({script})" not in text]
    assert not missing
