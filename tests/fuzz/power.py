"""Mends that are undone one by one, to see that the files find what they mend."""

import shutil
import tempfile
import threading
from pathlib import Path

import kullback
from fuzz.driver import Run
from fuzz.undone import UNDONE


def show(names: list[str], seed: int, files: int, workers: int) -> int:
    """Say for each mend which file is the first to fail without it; return how many are not noticed."""
    missed = 0
    for name in names or UNDONE:
        found = first_failure(name, seed, files, workers)
        missed += found is None
        print(f"{name}: {'NOT FOUND' if found is None else found}", flush=True)
    return missed


def first_failure(name: str, seed: int, files: int, workers: int) -> str | None:
    """Return what fails when a mend is undone, of so many files; None if nothing does."""
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "library")
        shutil.copytree(Path(kullback.__file__).parent, library / "kullback")
        undo(name, library / "kullback")
        run = Run(seed, files, 60.0, workers, Path(folder), library=(str(library),))
        failed = []
        for tried, result in enumerate(run.all_results(stop), 1):
            if result.fails and not failed:
                failed.append(f"file {result.number} ({tried} tried): {result.outcome} ({result.origin}; {result.use})")
                failed.append(" ".join(result.said.split())[:160])
                stop.set()
    return " ".join(failed) or None


def undo(name: str, library: Path) -> None:
    """Write the lines of a mend as they were."""
    for file, mended, before in UNDONE[name]:
        path = library / file
        text = path.read_text(encoding="utf-8")
        if mended not in text:
            raise LookupError(f"{file} has no {mended!r}: bring the list of mends up to date.")
        path.write_text(text.replace(mended, before), encoding="utf-8")
