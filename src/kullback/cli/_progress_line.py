"""How far a fit has come: a line that moves on a terminal, plain lines in a pipe, or JSON."""

import math
import sys
import time
from collections.abc import Callable

from kullback.cli._activity import clear_activity
from kullback.cli._messages import write_json

#: Seconds between lines.
_TERMINAL, _PIPE = 0.2, 5.0


class ProgressLine:
    """Rows, rows per second, log-likelihood of the last batch and what it has gained, and the time that is left.

    The time needs the number of rows of the data, or a guess from its bytes.
    """

    def __init__(self, quiet: bool, as_json: bool):
        self._quiet, self._json = quiet, as_json
        self._before: int | None = None
        self._first: float | None = None
        self._terminal = sys.stderr.isatty() and not as_json
        self._began = self._last = time.monotonic()

    def step(self, rows: int, log_likelihood: float, expected: Callable[[], int | None]) -> None:
        """Say what one more batch has reached, if it is time to, of as many rows as are expected in all."""
        now = time.monotonic()
        if self._before is None:  # compiling takes its time, and a run that goes on has not seen what was before
            self._before, self._began, self._last = rows, now, now
        if self._first is None and math.isfinite(log_likelihood):
            self._first = log_likelihood
        if self._quiet or now - self._last < (_TERMINAL if self._terminal else _PIPE):
            return
        self._last = now
        clear_activity()
        speed = (rows - self._before) / max(now - self._began, 1e-9)
        total = expected()
        left = max(total - rows, 0) / speed if total and speed > 0 else None
        if self._json:
            line = {"rows": rows, "rows_per_second": round(speed), "log_likelihood": log_likelihood}
            write_json({**line, "seconds_left": None if left is None else round(left)})
            return
        gain = "" if self._first is None else f" ({log_likelihood - self._first:+.4f} since the first batch)"
        text = f"{rows:,} rows, {speed:,.0f} rows/s, {log_likelihood:.4f} nats per row{gain}"
        text += "" if left is None else f", {_clock(left)} left"
        print(f"\r\x1b[K{text}" if self._terminal else text, end="" if self._terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def end(self) -> None:
        """Clear the line that moves."""
        clear_activity()
        if self._terminal and not self._quiet:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
