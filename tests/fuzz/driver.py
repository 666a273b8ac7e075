"""Starts workers, watches them, and counts what came of the files."""

import collections
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
#: Compiled functions run a few times each: XLA is asked to spend little on them.
HURRY = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
#: Seconds of computing that one file may take, what is compiled for it included: so many, or so many times those in
#: which a worker started, for machines differ in speed. Then seconds in all.
COMPUTING, STARTS, LONGEST = 12.0, 8.0, 300.0
FAILURES = ("crash", "hang", "traceback", "memory", "not finite", "message", "wrong", "unexpected")


class Result(NamedTuple):
    """What came of one file."""

    number: int
    format: str
    origin: str
    use: str
    outcome: str
    said: str
    seconds: float = 0.0

    @property
    def fails(self) -> bool:
        """Whether this should not have happened."""
        return self.outcome not in ("refused", "accepted")


class Worker:
    """A process that tries files, with a limit of time for each."""

    def __init__(self, words: list[Any], library: tuple[str, ...] = ()):
        paths = os.pathsep.join([*library, str(HERE.parent), *(path for path in sys.path if path)])
        quick = {"XLA_FLAGS": HURRY, "JAX_ENABLE_X64": "0", "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        # Arrow's own pool keeps the addresses of what a damaged file asked for: 2 GB of the limit, for the next files
        pool = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
        environment = {**os.environ, "PYTHONPATH": paths, **quick, **pool}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz", *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: collections.deque[str] = collections.deque(maxlen=400)
        listener = threading.Thread(target=self._listen, daemon=True)
        collector = threading.Thread(target=self._errors.extend, args=(self._process.stderr,), daemon=True)
        self._heard: tuple[tuple[threading.Thread, Any], ...] = (
            (listener, self._process.stdout),
            (collector, self._process.stderr),
        )
        for thread, _ in self._heard:
            thread.start()

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put(None)

    def answers(self) -> Iterator[dict[str, Any]]:
        """Yield what the worker says; at its end, how it ended, and `hang` if it took too long over something."""
        computed, began, allowed = self._computed(), time.monotonic(), LONGEST
        while True:
            try:
                line = self._lines.get(timeout=0.5)
            except queue.Empty:
                if self._computed() - computed > allowed or time.monotonic() - began > LONGEST:
                    self.end()
                    yield {"end": "hang"}
                    return
                continue
            if line is None:
                code = self._process.wait()
                yield {"end": code, "errors": "".join(self._errors)}
                return
            answer = json.loads(line)
            yield answer
            if "ready" in answer:
                allowed = max(COMPUTING, STARTS * (self._computed() - computed))
            if "begins" not in answer:
                computed, began = self._computed(), time.monotonic()

    def _computed(self) -> float:
        """Return the seconds of computing of the process."""
        try:
            told = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the process, and close what it was heard through."""
        self._process.kill()
        self._process.wait()
        for thread, pipe in self._heard:
            thread.join()
            pipe.close()


def results(seed: int, numbers: range, seeds: Path, only: str = "", library: tuple[str, ...] = ()) -> Iterator[Result]:
    """Try some files in one worker, and in another where that one came to an end, until all are tried."""
    first = numbers.start
    while first < numbers.stop:
        worker = Worker(["work", seed, first, len(range(first, numbers.stop)), seeds, only], library)
        begun: dict[str, Any] = {}
        try:
            for answer in worker.answers():
                if "begins" in answer:
                    begun = answer
                elif "number" in answer:
                    first = answer["number"] + 1
                    yield _result(begun, answer["outcome"], answer["said"], answer["seconds"])
                elif answer.get("end") == 0:
                    return
                elif "end" in answer:
                    if begun.get("begins", first - 1) < first:
                        raise RuntimeError(f"a worker did not come to file {first}: {answer}")
                    what = "hang" if answer["end"] == "hang" else "crash"
                    yield _result(begun, what, "" if what == "hang" else _crash(answer))
                    first = begun["begins"] + 1
        finally:
            worker.end()


def _crash(answer: dict[str, Any]) -> str:
    """Return how a process ended, and the functions it was in."""
    frames = [line.strip() for line in answer["errors"].splitlines() if "File " in line or "Fatal" in line]
    return f"exit code {answer['end']}: {'; '.join(frames[:4])}"


def _result(begun: dict[str, Any], outcome: str, said: str, seconds: float = 0.0) -> Result:
    return Result(begun["begins"], begun["format"], begun["origin"], begun["use"], outcome, said, seconds)


class Run(NamedTuple):
    """All that a run needs: the seed, how many files, in how many minutes, by how many workers, and where to.

    `each` is how many files a worker takes, `first` the number of the first file, `only` the formats that are wanted
    (all if it is empty), and `library` where another kullback than this one is, if another is to be tried.
    """

    seed: int
    files: int
    minutes: float
    workers: int
    folder: Path
    each: int = 200
    first: int = 0
    only: str = ""
    library: tuple[str, ...] = ()

    def all_results(self, stop: threading.Event | None = None) -> Iterator[Result]:
        """Yield what came of each file, as it comes."""
        end, stop = time.monotonic() + 60 * self.minutes, stop or threading.Event()
        seeds = self.folder / "seeds"
        seeds.mkdir(parents=True, exist_ok=True)
        last = self.first + self.files
        parts: queue.Queue[range] = queue.Queue()
        for first in range(self.first, last, self.each):
            parts.put(range(first, min(first + self.each, last)))
        found: queue.Queue[Result | BaseException | None] = queue.Queue()

        def run() -> None:
            try:
                while not stop.is_set():
                    for result in results(self.seed, parts.get_nowait(), seeds, self.only, self.library):
                        found.put(result)
                        if time.monotonic() > end or stop.is_set():
                            stop.set()
                            break
            except queue.Empty:
                pass
            except BaseException as error:
                found.put(error)
            found.put(None)

        threads = [threading.Thread(target=run, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        left = self.workers
        while left:
            result = found.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                left -= 1
            else:
                yield result
        for thread in threads:
            thread.join()


def table(found: list[Result]) -> str:
    """Return the counts of each format as a table."""
    columns = ("refused", "accepted", *FAILURES)
    lines = [f"{'':<11} {'files':>7} {'seconds':>8}" + "".join(f"{name:>11}" for name in columns)]
    for name in [*sorted({result.format for result in found}), "all"]:
        these = [result for result in found if name in (result.format, "all")]
        counts = collections.Counter(result.outcome for result in these)
        seconds = sum(result.seconds for result in these)
        numbers = "".join(f"{counts[column]:>11,}" for column in columns)
        lines.append(f"{name:<11} {len(these):>7,} {seconds:>8.1f}{numbers}")
    return "\n".join(lines)
