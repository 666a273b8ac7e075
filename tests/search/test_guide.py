"""The guide: each block of code runs, and finds what it says."""

import re
from pathlib import Path

import numpy as np

from kullback.search import METHODS
from kullback.search._stopping import SENTENCES

GUIDE = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")


def test_the_code_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, seen = {}, []
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(block, found)
        seen.append(found["result"])
    first, sparse, mixed, _, _, resumed, _, ring = seen
    assert first.message == "The target was reached."
    assert sparse.success
    np.testing.assert_allclose(mixed.x, [3, 0, 0.3], atol=0.05)
    assert resumed.nfev > 800
    assert ring.fun == -12
    assert (tmp_path / "run.png").exists()


def test_the_tables_name_every_method_and_every_rule():
    assert set(re.findall(r'^\| `"([a-z-]+)"` \|.*\|.*\|', GUIDE, re.MULTILINE)) >= {"auto", *METHODS}
    assert {name for name in SENTENCES if f'| `"{name}"` |' not in GUIDE} == set()
