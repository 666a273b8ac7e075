"""The ledger adds up rooms, and a run with a process that had too much memory fails."""

from types import SimpleNamespace

import pytest

from ledger import MOST_MEGABYTES, Ledger


class Terminal:
    """Keeps what is printed."""

    def __init__(self):
        self.lines = []

    def section(self, title):
        self.lines.append(title)

    def write_line(self, line, **_):
        self.lines.append(line)


def run(peak):
    """Return how a run ends in which one worker had so much memory, and what is printed."""
    ledger, terminal = Ledger(), Terminal()
    for when, seconds in (("setup", 0.5), ("call", 2.0), ("teardown", 0.5)):
        for test in ("tests/search/test_cma.py::test_a", "tests/search/test_cma.py::test_b", "src/kullback/a.py::a"):
            ledger.pytest_runtest_logreport(SimpleNamespace(nodeid=test, when=when, duration=seconds))
    ledger.pytest_testnodedown(
        SimpleNamespace(workeroutput={"peak_memory": peak}, gateway=SimpleNamespace(id="gw0")), None
    )
    session = SimpleNamespace(config=SimpleNamespace(), exitstatus=pytest.ExitCode.OK)
    ledger.pytest_sessionfinish(session)
    ledger.pytest_terminal_summary(terminal)
    return session.exitstatus, terminal.lines


def test_rooms_are_added_up():
    code, lines = run(peak=1234)
    assert code == pytest.ExitCode.OK
    rows = [line.split() for line in lines[1:5]]
    assert rows == [
        ["room", "tests", "seconds"],
        ["search", "2", "6.0"],
        ["docstrings", "1", "3.0"],
        ["total", "3", "9.0"],
    ]
    assert "gw0 1234" in lines[5]


def test_too_much_memory_fails_the_run():
    code, lines = run(peak=MOST_MEGABYTES + 1)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "more memory" in lines[-1]
