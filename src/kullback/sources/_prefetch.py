"""A thread that fetches what comes next while the last is still in use."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Prefetch(Generic[T]):
    """Hand out what an iterator gives, `depth` items of it fetched before they are asked for; 0 is without a thread.

    What raises there raises here, after all that came before it. The thread lives while this is iterated over: stopping
    early ends it, and what it has fetched is what the next iteration begins with. An iterator says None when it has
    nothing yet: such moments are when its thread can end.
    """

    def __init__(self, flow: Iterator[T | None], depth: int):
        self._flow, self._depth = flow, depth
        self._fetched: deque[T] = deque()
        self._end: BaseException | None = None
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[T]:
        if self._depth == 0:
            return self._directly()
        return self._threaded()

    def _directly(self) -> Iterator[T]:
        self._raise_if_failed()
        try:
            for item in self._flow:
                if item is not None:
                    yield item
            self._end = StopIteration()
        except Exception as error:
            self._end = error
            raise

    def _threaded(self) -> Iterator[T]:
        stop = threading.Event()
        thread = threading.Thread(target=self._fetch, args=(stop,), name="kullback-reader", daemon=True)
        thread.start()
        try:
            while True:
                with self._changed:
                    while not self._fetched and self._end is None:
                        self._changed.wait(0.5)  # with a limit, so that an interrupt is heard everywhere
                    if not self._fetched:
                        break
                    item = self._fetched.popleft()
                    self._changed.notify_all()
                yield item
        finally:
            with self._changed:
                stop.set()
                self._changed.notify_all()
            thread.join(10)  # an iterator that never answers is left behind
        self._raise_if_failed()

    def _raise_if_failed(self) -> None:
        if self._end is not None and not isinstance(self._end, StopIteration):
            raise self._end

    def _fetch(self, stop: threading.Event) -> None:
        """Fetch until the end, or until told to stop."""
        end: BaseException = StopIteration()
        try:
            while self._room(stop):
                item = next(self._flow)
                if item is not None:
                    with self._changed:
                        self._fetched.append(item)
                        self._changed.notify_all()
            return
        except BaseException as error:
            end = error
        with self._changed:
            self._end = end
            self._changed.notify_all()

    def _room(self, stop: threading.Event) -> bool:
        """Wait until something may be fetched; False when told to stop."""
        with self._changed:
            while len(self._fetched) >= self._depth and not stop.is_set():
                self._changed.wait(0.5)
            return not stop.is_set() and self._end is None
