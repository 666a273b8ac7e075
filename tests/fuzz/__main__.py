"""`python -m fuzz`: run, replay, power, kills, tables."""

import argparse
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    """Read the command line, and do it."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="try many files")
    run.add_argument("--files", type=int, default=20_000)
    run.add_argument("--first", type=int, default=0, help="number of the first file; before file 0 come the cases")
    run.add_argument("--minutes", type=float, default=40)
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--workers", type=int, default=2)
    run.add_argument("--each", type=int, default=200, help="files of one worker")
    run.add_argument("--folder", type=Path, help="where the files that fail are kept")
    run.add_argument("--only", default="", help="formats, with commas; all of them if there is none")
    replay = commands.add_parser("replay", help="try one file again, in this process")
    replay.add_argument("seed", type=int)
    replay.add_argument("number", type=int)
    work = commands.add_parser("work", help="be a worker")
    for name in ("seed", "first", "count"):
        work.add_argument(name, type=int)
    work.add_argument("seeds", type=Path)
    work.add_argument("only", default="")
    kills = commands.add_parser("kills", help="kill fits and let them go on")
    kills.add_argument("--kills", type=int, default=6, help="of each fit")
    tables = commands.add_parser("tables", help="fit every estimator to adversarial tables")
    tables.add_argument("--number", type=int, default=2000)
    power = commands.add_parser("power", help="undo mends one by one, and see that the files find it")
    power.add_argument("names", nargs="*", help="the mends to undo; all of them if there is none")
    power.add_argument("--files", type=int, default=2000)
    power.add_argument("--workers", type=int, default=2)
    power.add_argument("--only", default="", help="formats, with commas, where it is known which ones fail")
    for each in (kills, tables, power):
        each.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    commands_by_name = {
        "run": _run,
        "replay": _replay,
        "work": _work,
        "kills": _kills,
        "tables": _tables,
        "power": _power,
    }
    return commands_by_name[asked.command](asked)


def _work(asked: argparse.Namespace) -> int:
    from fuzz.worker import work

    work(asked.seed, asked.first, asked.count, asked.seeds, asked.only)
    return 0


def _run(asked: argparse.Namespace) -> int:
    from fuzz import model_cases
    from fuzz.driver import Run, table
    from fuzz.worker import place_to_work

    folder = asked.folder or Path(tempfile.mkdtemp(prefix="fuzz-"))
    began, found, failed = time.monotonic(), [], []
    cases = len(model_cases.CASES) if asked.first == 0 else 0
    files, first = asked.files + cases, asked.first - cases
    run = Run(asked.seed, files, asked.minutes, asked.workers, folder.absolute(), asked.each, first, asked.only)
    for result in run.all_results():
        found.append(result)
        if result.fails:
            failed.append(result)
            said = " ".join(result.said.split())[:300]
            print(f"{result.outcome}: {result.number} ({result.origin}; {result.use}) {said}", flush=True)
        if len(found) % 1000 == 0:
            print(f"{len(found):,} files, {time.monotonic() - began:.0f} s, {len(failed):,} failures", flush=True)
    if failed:
        with place_to_work(folder.absolute() / "seeds") as files:
            for result in failed[:500]:
                file = files.file(asked.seed, result.number)
                (folder / f"{asked.seed}-{result.number}.{file.suffix}").write_bytes(file.data)
    print(table(found))
    print(f"{len(found):,} files of seed {asked.seed} in {time.monotonic() - began:.0f} s; {len(failed):,} failed.")
    if failed:
        print(f"They are in {folder}; `python -m fuzz replay {asked.seed} NUMBER` tries one again.")
    return 1 if failed or not found else 0


def _replay(asked: argparse.Namespace) -> int:
    import os

    from fuzz.driver import HURRY

    os.environ.setdefault("XLA_FLAGS", HURRY)
    from fuzz.uses import tried
    from fuzz.worker import place_to_work

    kept = Path(tempfile.mkdtemp(prefix="fuzz-"))
    with place_to_work(None) as files:
        file = files.file(asked.seed, asked.number)
        copy = kept / f"{asked.seed}-{asked.number}.{file.suffix}"
        copy.write_bytes(file.data)
        print(f"{file.origin}; {file.use}; {len(file.data):,} bytes, in {copy}", flush=True)
        path = Path(f"tried.{file.suffix}")
        path.write_bytes(file.data)
        outcome = tried(file, path)
    print(f"{outcome.name}: {outcome.said}")
    return int(outcome.fails)


def _kills(asked: argparse.Namespace) -> int:
    import random

    from cli.helpers import Server
    from fuzz import kills, model_seeds

    server, chance = Server(), random.Random(asked.seed)
    for name in model_seeds.CHECKPOINTS:
        with tempfile.TemporaryDirectory() as folder:
            hit = kills.chain(server, Path(folder), name, asked.kills, chance)
        print(
            f"{name}: killed {asked.kills} times, {hit} of them after a checkpoint; ended bit for bit the same.",
            flush=True,
        )
    server.close()
    return 0


def _tables(asked: argparse.Namespace) -> int:
    from estimators import adversarial

    return int(bool(adversarial.run(asked.number, asked.seed)))


def _power(asked: argparse.Namespace) -> int:
    from fuzz.power import show

    return show(asked.names, asked.seed, asked.files, asked.workers, asked.only)


if __name__ == "__main__":
    sys.exit(main())
