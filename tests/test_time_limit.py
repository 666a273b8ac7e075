"""A run whose time is over leaves out what is slow and nothing else, and says how many tests that were."""

import time
from types import SimpleNamespace

import pytest

from test_ledger import Terminal
from time_limit import REASON, TimeLimit, time_limit


def item(slow):
    return SimpleNamespace(get_closest_marker=lambda name: slow if name == "slow" else None)


def test_what_is_slow_and_late_is_left_out_and_counted():
    late, terminal = TimeLimit(time.time() - 1), Terminal()
    late.pytest_runtest_setup(item(slow=None))
    with pytest.raises(pytest.skip.Exception, match=REASON):
        late.pytest_runtest_setup(item(slow=True))
    for skipped, reason in ((True, ("file", 1, f"Skipped: {REASON}")), (True, "no screen"), (False, "")):
        late.pytest_runtest_logreport(SimpleNamespace(skipped=skipped, longrepr=reason))
    late.pytest_terminal_summary(terminal)
    assert terminal.lines == [f"1 slow tests were left out: {REASON}."]


def test_in_time_everything_runs():
    try:
        TimeLimit(time.time() + 100).pytest_runtest_setup(item(slow=True))
    except pytest.skip.Exception as skipped:  # which would skip this test, and not fail it
        pytest.fail(str(skipped))


def test_only_the_run_itself_has_a_limit(monkeypatch):
    worker = SimpleNamespace(workerinput={})
    monkeypatch.setenv("END_BY", "17")
    assert time_limit(worker) is not None
    assert time_limit(worker) is None  # and so for what it starts
