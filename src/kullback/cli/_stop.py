"""SIGINT and SIGTERM: finish the batch, save, leave."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, Self, TypeVar

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Stopped(BaseException):
    """Wakes whoever waits for data."""


class Stop:
    """Whether someone asked for an end. While it is entered, a signal does not break off what is being learned.

    A file is not read any further: what was read and not learned is read again by a run that resumes. A stream
    ends there and then, by `end`, and what has come of it is still handed out, for it cannot be read again.
    """

    def __init__(self, end: Callable[[], bool] | None = None) -> None:
        self.requested = False
        self._signal = signal.SIGINT
        self._end, self._waits = end, False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in _SIGNALS}
        return self

    def __exit__(self, *error: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.requested, self._signal = True, signal.Signals(number)
        if self._end is not None and self._end():
            return
        if self._waits:
            self._waits = False
            raise _Stopped

    @property
    def code(self) -> int:
        """The exit code of a command that has ended here: 0, or 128 and the number of the signal."""
        return 128 + self._signal if self.requested else 0

    def wait_for(self, what: Callable[[], T]) -> T | None:
        """Return what there is to wait for; None if a signal came before it."""
        try:
            self._waits = True
            found = what()
            self._waits = False
            return found
        except _Stopped:
            return None
        finally:
            self._waits = False

    def until(self, batches: Iterable[T]) -> Iterator[T]:
        """Hand out batches until someone asks for an end, or there are no more."""
        iterator = iter(batches)
        while self._end is not None or not self.requested:
            batch = self.wait_for(lambda: next(iterator, None))
            if batch is None:
                return
            yield batch
