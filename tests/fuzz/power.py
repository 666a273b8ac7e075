"""Mends that are undone one by one, to see that the files find what they mend."""

import tempfile
import threading
from pathlib import Path

from changed_library import changed_library
from fuzz import model_cases
from fuzz.driver import Result, Run, results
from fuzz.undone import UNDONE


def show(names: list[str], seed: int, files: int, workers: int, only: str) -> int:
    """Say for each mend which file is the first to fail without it; return how many are not noticed."""
    missed = 0
    for name in names or UNDONE:
        with tempfile.TemporaryDirectory() as folder:
            library = changed_library(UNDONE[name], Path(folder))
            run = Run(seed, files, 60.0, workers, Path(folder), only=only, library=(str(library),))
            tried, found = first_failure(run)
            if found is None:  # what no chance has made may be among the cases
                cases = len(model_cases.CASES)
                _, found = first_failure(run._replace(first=-cases, files=cases, only=""))
        missed += found is None
        print(f"{name}: {_said(found, tried)}", flush=True)
    return missed


def first_failure(run: Run) -> tuple[int, Result | None]:
    """Return how many files were tried, and the first that fails with this library and does not with the mended one."""
    stop, tried, found = threading.Event(), 0, None
    for result in run.all_results(stop):
        tried += found is None
        if result.fails and found is None:
            (mended,) = results(run.seed, range(result.number, result.number + 1), run.folder / "seeds")
            if not mended.fails:
                found = result
                stop.set()
    return tried, found


def _said(found: Result | None, tried: int) -> str:
    if found is None:
        return f"NOT FOUND in {tried:,} files"
    where = f"case {model_cases.NAMES[-1 - found.number]!r}" if found.number < 0 else f"file {found.number}"
    return (
        f"{where} after {tried:,}: {found.outcome} ({found.origin}; {found.use}) {' '.join(found.said.split())[:100]}"
    )
