"""What README and guides show runs as it stands: in a fresh process, in JAX's 32-bit mode, estimators in 64 bits."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = (
    "docs/tour.md",
    "docs/choosing.md",
    "docs/how_sure.md",
    "docs/frames.md",
    "docs/missing_values.md",
    "docs/completing.md",
    "docs/regression.md",
    "docs/helmholtz.md",
    "docs/boltzmann.md",
    "docs/streams.md",
)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def run_code(page: str, folder: Path, end: str) -> str:
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))
    plain = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{end}"], capture_output=True, text=True, check=False, cwd=folder, env=plain
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_the_code_of_the_readme_runs(tmp_path):
    shown = "print(together.means_.shape, together.predict_outlier([[0.0, 0.0], [9.0, -9.0]]))"
    assert run_code("README.md", tmp_path, shown) == "(3, 2) [False  True]"


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES)
def test_the_code_of_a_guide_runs(page, tmp_path):
    assert run_code(page, tmp_path, "print('ran')") == "ran"


@pytest.mark.parametrize("page", ["README.md", *GUIDES, "docs/comparison.md", "docs/speed.md", "docs/design.md"])
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text()
    missing = [link for link in LINK.findall(text) if not ((ROOT / page).parent / link).exists()]
    assert not missing


def test_the_readme_fits_on_one_screen():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 60
