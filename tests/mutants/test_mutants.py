"""`make test` notices errors in families that are like others: each mutant fails the law that it breaks."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from changed_library import LIBRARY, changed_library
from contracts.families import LIKE
from mutants.mutants import MUTANTS

TESTS = Path(__file__).parents[1]

each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.family}, {mutant.law}")


@each_mutant
def test_what_is_changed_is_there(mutant):
    assert (LIBRARY / mutant.file).read_text(encoding="utf-8").count(mutant.here) == 1


def test_every_family_that_is_like_another_has_a_mutant():
    assert {name for name in LIKE if not name.startswith("Independent")} == {mutant.family for mutant in MUTANTS}


def messages(place, folder):
    """Return what the quick tests say of each family of the library that lies in a place; nothing where they pass."""
    test = TESTS / "contracts" / "test_every_family.py"
    options = ["-n", "0", "-m", "not slow", "-p", "no:cacheprovider", f"--junitxml={folder / 'found.xml'}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, test],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(TESTS)])},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    cases = ET.parse(folder / "found.xml").getroot().iter("testcase")
    failed = {case.get("name"): case.find("failure") for case in cases}
    return {
        name.partition("[")[2].rstrip("]"): failure.get("message")
        for name, failure in failed.items()
        if failure is not None
    }


@pytest.mark.slow
def test_each_mutant_fails_its_law(tmp_path):
    """All of them in one copy of the library, for they are in different files and fail different cases."""
    found = messages(changed_library([mutant[2:] for mutant in MUTANTS], tmp_path), tmp_path)
    broken = {family: set(re.split(r"\n|: ", message)) for family, message in found.items()}
    missed = [mutant for mutant in MUTANTS if mutant.law not in broken.get(mutant.family, ())]
    assert not missed, found
