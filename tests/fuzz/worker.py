"""A process with little memory that tries files, one after the other, and says of each what came of it."""

import faulthandler
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Bytes of addresses that a worker may have: JAX with all that is compiled needs a third of it.
MEMORY = 5 << 30


@contextmanager
def place_to_work(seeds: Path | None) -> Iterator["object"]:
    """Go to a folder whose path has the length that all have, with the data of the models; yield what makes files."""
    from fuzz import files, model_seeds
    from kullback.estimators import _anomalies
    from kullback.sources import _text

    _anomalies.DRAWS = 64
    _text.BLOCK = 700  # so that a small file has many blocks
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as base:
        base = os.path.realpath(base)
        missing = len(model_seeds.ELSEWHERE) - len(base) - 1
        folder = Path(base, "-" * missing)
        folder.mkdir()
        os.chdir(folder)
        try:
            model_seeds.write_tables(folder)
            if seeds is None:
                seeds = Path(base, "seeds")
                seeds.mkdir()
            yield files.Files(seeds)
        finally:
            os.chdir(before)


def work(seed: int, first: int, count: int, seeds: Path, only: str) -> None:
    """Try those of `count` files from a number on that have one of the formats, and write a line of JSON for each."""
    answers = _own_output()
    from fuzz.files import format_of
    from fuzz.uses import tried

    with place_to_work(seeds) as files:
        print(json.dumps({"ready": True}), file=answers, flush=True)
        for number in range(first, first + count):
            if only and format_of(seed, number) not in only.split(","):
                continue
            file = files.file(seed, number)
            told = {"begins": number, "format": file.format, "origin": file.origin, "use": file.use}
            print(json.dumps(told), file=answers, flush=True)
            path = Path(f"tried.{file.suffix}")
            path.write_bytes(file.data)
            began = time.process_time()
            outcome = tried(file, path)
            told = {"number": number, "outcome": outcome.name, "said": outcome.said}
            print(json.dumps({**told, "seconds": time.process_time() - began}), file=answers, flush=True)


def _own_output():
    """Take standard output for answers alone, and limit what this process may have."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    faulthandler.enable()
    sys.stdin.close()
    return answers
