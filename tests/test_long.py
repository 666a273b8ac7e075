"""The list of tests that take long names tests that are there: a new name would make them run again, silently."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LINES = (HERE / "long.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("path", sorted({line.partition("::")[0] for line in LINES if line}))
def test_every_line_is_a_test(path):
    text = (HERE.parent / path).read_text(encoding="utf-8")
    names = {re.split(r"[\[:]", line.partition("::")[2])[0] for line in LINES if line.startswith(f"{path}::")}
    assert names <= set(re.findall(r"def (test_\w+)\(", text)) | set(
        re.findall(r"^class (Test\w+)", text, re.MULTILINE)
    )
