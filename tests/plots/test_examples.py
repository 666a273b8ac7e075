import runpy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jax
import matplotlib as mpl
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
#: These compute for longer than a test should take. `combine`, clusters and online EM have tests of their own.
SLOW = {"cluster.py", "four_machines.py", "online_em.py", "spin_glass.py"}


#: This one writes a page.
DEMO = "three_sites.py"


@pytest.mark.slow
def test_the_demo_prints_likelihoods_and_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [DEMO, str(tmp_path)])
    runpy.run_path(str(EXAMPLES / DEMO), run_name="__main__")
    said = capsys.readouterr().out.splitlines()
    *sites, together, pooled = (float(line.split()[-1]) for line in said[1:6])
    assert together > max(sites)
    assert abs(together - pooled) < 0.05  # another local optimum may be the better one
    assert (tmp_path / "three_sites.html").read_text(encoding="utf-8").count("<svg") > 3


@pytest.mark.parametrize("script", [script for script in SCRIPTS if script not in {*SLOW, DEMO}])
def test_writes_its_picture_and_says_where(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, str(tmp_path)])
    settings, bits = dict(mpl.rcParams), jax.config.jax_enable_x64
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    png, svg = tmp_path / script.replace(".py", ".png"), tmp_path / script.replace(".py", ".svg")
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert str(png) in capsys.readouterr().out.splitlines()[-1]
    assert (dict(mpl.rcParams), jax.config.jax_enable_x64) == (settings, bits)


def test_the_readme_lists_every_script():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    missing = [script for script in SCRIPTS if f"({script})" not in text]
    assert not missing
