"""What a run took: seconds and tests of each room, and the largest memory of each process; printed after the tests.

Seconds are those of all workers together. A run with a process above `MOST_MEGABYTES` fails.
"""

import resource
import sys
from collections import Counter

import pytest

MOST_MEGABYTES = 2000
_UNIT = 1 if sys.platform == "darwin" else 1024


def _peak(who: int) -> int:
    return round(resource.getrusage(who).ru_maxrss * _UNIT / 1e6)


def peak_memory() -> int:
    """Return the megabytes that this process, or the largest of those it has started, had at most."""
    return max(_peak(resource.RUSAGE_SELF), _peak(resource.RUSAGE_CHILDREN))


def room(nodeid: str) -> str:
    """Return the folder of the tests, or of the library, that a test is in.

    >>> room("tests/search/test_cma.py::test_a_valley"), room("src/kullback/search/_cma.py::kullback.search._cma")
    ('search', 'docstrings')
    """
    top, *folders = nodeid.partition("::")[0].split("/")[:-1]
    return "docstrings" if top == "src" else folders[0] if folders else top


class Ledger:
    """Adds up what a run takes, and prints it."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._tests: Counter[str] = Counter()
        self._peaks: dict[str, int] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one part of a test: its setup, its call or its teardown."""
        name = room(report.nodeid)
        self._seconds[name] += report.duration
        self._tests[name] += report.when == "setup"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error) -> None:
        """Take down the memory of a worker that ends."""
        peak = getattr(node, "workeroutput", {}).get("peak_memory")
        if peak is not None:
            self._peaks[node.gateway.id] = peak

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the memory of a worker to the process that prints, or fail where a process had too much."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["peak_memory"] = peak_memory()
            return
        self._peaks["main"] = _peak(resource.RUSAGE_SELF)
        if max(self._peaks.values()) > MOST_MEGABYTES and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        """Print the ledger."""
        if not self._tests:
            return
        write = terminalreporter.write_line
        terminalreporter.section("ledger")
        write(f"{'room':16}{'tests':>8}{'seconds':>10}")
        for name, seconds in self._seconds.most_common():
            write(f"{name:16}{self._tests[name]:8}{seconds:10.1f}")
        write(f"{'total':16}{self._tests.total():8}{self._seconds.total():10.1f}")
        peaks = ", ".join(f"{name} {peak}" for name, peak in sorted(self._peaks.items()))
        write(f"largest memory of each process, in MB (at most {MOST_MEGABYTES}): {peaks}")
        if max(self._peaks.values(), default=0) > MOST_MEGABYTES:
            terminalreporter.write_line("A process had more memory than a test process may have.", red=True)
