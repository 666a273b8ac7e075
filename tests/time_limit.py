"""Leaves out slow tests once the time of a run is over, and says how many: on a machine that is slow itself.

`END_BY`, in seconds as `date +%s` has them, is when. Without it everything runs.
"""

import os
import time

import pytest

REASON = "the time of this run is over"


class TimeLimit:
    """Skips tests that are marked as slow and would begin too late."""

    def __init__(self, end_by: float) -> None:
        self._end_by = end_by
        self._left_out = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what would begin too late."""
        if time.time() > self._end_by and item.get_closest_marker("slow") is not None:
            pytest.skip(REASON)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what was left out."""
        self._left_out += report.skipped and REASON in str(report.longrepr)

    def pytest_terminal_summary(self, terminalreporter) -> None:
        """Say how many were left out."""
        if self._left_out:
            terminalreporter.write_line(f"{self._left_out} slow tests were left out: {REASON}.", yellow=True)


def time_limit(config: pytest.Config) -> TimeLimit | None:
    """Return the limit that this run has; processes that tests start have none."""
    found = os.environ.pop("END_BY", "") if hasattr(config, "workerinput") else os.environ.get("END_BY", "")
    return TimeLimit(float(found)) if found else None
