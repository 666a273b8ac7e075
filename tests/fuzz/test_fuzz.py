"""Damaged files of every kind are refused by a sentence or answered with numbers: a short form of `make fuzz`."""

import random

import pytest

from changed_library import LIBRARY
from cli.helpers import Server
from fuzz import model_cases, model_seeds
from fuzz.driver import Run
from fuzz.kills import chain
from fuzz.undone import UNDONE
from tiers import slow

CASES = len(model_cases.CASES)


@pytest.mark.parametrize(("first", "last"), [(-CASES, 100), slow(100, 300)])
def test_damaged_files_are_refused_or_answered(tmp_path, first, last):
    total = last - first
    run = Run(seed=0, files=total, minutes=30, workers=2, folder=tmp_path, each=total // 2 + 1, first=first)
    found = list(run.all_results())
    assert len(found) == total
    assert {result.format for result in found} >= {
        "csv",
        "jsonl",
        "arrow",
        "parquet",
        "npy",
        "npz",
        "model",
        "checkpoint",
    }
    assert [result for result in found if result.fails] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", model_seeds.CHECKPOINTS)
def test_a_fit_that_is_killed_goes_on_bit_for_bit(tmp_path, name):
    server = Server()
    try:
        assert chain(server, tmp_path, name, 4, random.Random(name)) > 0
    finally:
        server.close()


@pytest.mark.parametrize("name", UNDONE)
def test_what_shows_the_power_of_the_files_knows_the_library(name):
    for file, mended, _ in UNDONE[name]:
        assert mended in (LIBRARY / file).read_text(encoding="utf-8")
