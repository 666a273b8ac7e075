"""Batches drawn at random from a reservoir: for data that comes sorted."""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kullback.sources._batches import Batch, Mark, grow


class ShuffleMark(NamedTuple):
    """A place in a shuffled flow: `rows` were handed out and `read` were read, all there are if it has `ended`.

    Of these `left` are in the reservoir; the oldest of them is the row number `first`, or came after it. That row comes
    next at the mark `before`, which is None where the flow begins. `latest` is the mark of the last one read.
    """

    rows: int
    read: int
    ended: bool
    left: int
    first: int
    before: Mark | None
    latest: Any


class Reservoir:
    """Rows, each with its number. Which of them are drawn depends on numbers alone, not on what is in the rows.

    Hence a state can be found again without reading: the draws are repeated with the numbers, and only the rows that
    are in the reservoir then, the oldest of which came about n·log n rows before, are read anew.
    """

    def __init__(self, size: int, rows: int, seed: int):
        self.size, self.capacity = size, max(-(-rows // size), 1) * size
        self.numbers = np.empty(0, np.int64)
        self._random = np.random.default_rng(seed)

    def exchange(self, numbers: np.ndarray) -> np.ndarray:
        """Return the places of rows that are drawn, and put others there."""
        places = self._random.choice(self.capacity, len(numbers), replace=False)
        self.numbers[places] = numbers
        return places

    def end(self, numbers: np.ndarray) -> np.ndarray:
        """Put the last rows behind the others, and return the order in which all that are there leave."""
        order = self._random.permutation(len(self.numbers) + len(numbers))
        self.numbers = np.concatenate([self.numbers, numbers])[order]
        return order

    def check(self, position: dict[str, Any]) -> None:
        """Raise unless a reservoir of this size can have come to a position."""
        read, left, offset = position["read"], position["left"], position["before"]["done"] - position["first"]
        held = min(self.capacity, read // self.size * self.size)
        most = held + read % self.size if position["ended"] else held
        drawn = position["ended"] or (read % self.size == 0 and left == held)
        if not drawn or left > most or offset < 0 or position["done"] + left != read + offset:
            names = ("done", "read", "left", "first")
            raise ValueError(f"The position is damaged: {', '.join(names)} are {[position[name] for name in names]}.")

    def replay(self, read: int, ended: bool) -> None:
        """Come to the state after so many rows."""
        whole = read // self.size * self.size if ended else read
        self.numbers = np.arange(min(self.capacity, whole))
        for start in range(self.capacity, whole, self.size):
            self.exchange(np.arange(start, start + self.size))
        if ended:
            self.end(np.arange(whole, read))


def shuffle_batches(
    flow: Iterator[Batch | None], reservoir: Reservoir, done: int, after: dict[str, Any] | None
) -> Iterator[Batch | None]:
    """Yield batches in another order, after `done` rows.

    Where `after` is a position of a shuffled flow, this goes on from it, and `flow` begins at what came `before`.
    """
    state = _Shuffle(reservoir, done, after)
    for batch in flow:
        yield None if batch is None else state.take(batch.values, batch.mark)
    yield from state.drain()


class _Shuffle:
    """The rows of a reservoir, and the marks from which they can be read again."""

    def __init__(self, reservoir: Reservoir, done: int, after: dict[str, Any] | None):
        self.reservoir, self.done, self.after = reservoir, done, after
        self.read = 0 if after is None else after["first"]
        self.known = 0 if after is None else after["read"]  # rows before this one are already in, or gone
        if after is not None:
            reservoir.replay(after["read"], after["ended"])
            if (reservoir.numbers[len(reservoir.numbers) - after["left"] :] < after["first"]).any():
                raise ValueError(
                    f"The position is damaged: rows before {after['first']:,} still wait in the reservoir."
                )
        self.marks: deque[tuple[int, Mark | None]] = deque()
        self.values, self.rest, self.latest = np.empty((0, 0)), np.empty((0, 0)), None

    def take(self, values: np.ndarray, mark: Any) -> Batch | None:
        """Take a batch in; return one that is drawn, if there are enough to draw from."""
        before, self.latest = self.latest, mark
        count, store = len(values), self.reservoir
        if not self.values.size:
            room = max(len(store.numbers), min(count, store.capacity), 1)  # it grows as rows come: they may be wide
            self.values, self.rest = np.empty((room, values.shape[1])), values[:0]
        if count == 0:
            return None
        self.marks.append((self.read, before))
        numbers = np.arange(self.read, self.read + count)
        self.read += count
        if self.read > self.known and self.after is not None and self.after["ended"]:
            raise ValueError(f"The data had ended after row {self.known:,}, and has more rows now: begin anew.")
        if self.read <= self.known:
            here = np.flatnonzero((store.numbers >= numbers[0]) & (store.numbers <= numbers[-1]))
            self.values[here] = values[store.numbers[here] - numbers[0]]
        elif count < store.size:
            self.rest = values
        elif len(store.numbers) < store.capacity:
            self.values = grow(self.values, len(store.numbers), count, store.capacity)
            self.values[len(store.numbers) : len(store.numbers) + count] = values
            store.numbers = np.concatenate([store.numbers, numbers])
        else:
            places = store.exchange(numbers)
            drawn = self.values[places]
            self.values[places] = values
            return self._hand_out(drawn, store.numbers, False)
        return None

    def drain(self) -> Iterator[Batch]:
        """Hand out what is left, in random order."""
        if self.read < self.known:
            raise ValueError(f"The data ends after row {self.read:,}, and {self.known:,} were read before.")
        store, start = self.reservoir, 0
        if self.after is not None and self.after["ended"]:
            pool = self.values[: len(store.numbers)]
            start = len(pool) - self.after["left"]
        else:
            order = store.end(np.arange(self.read - len(self.rest), self.read))
            pool = np.concatenate([self.values[: len(order) - len(self.rest)], self.rest])[order]
        for place in range(start, len(pool), store.size):
            after = place + store.size
            yield self._hand_out(pool[place:after], store.numbers[after:], True)
        if start == len(pool) and self.latest is not None:
            yield self._hand_out(pool[:0], store.numbers[:0], True)

    def _hand_out(self, values: np.ndarray, left: np.ndarray, ended: bool) -> Batch:
        oldest = int(left.min()) if len(left) else self.read
        while len(self.marks) > 1 and self.marks[1][0] <= oldest:
            self.marks.popleft()
        first, before = self.marks[0] if self.marks else (self.read, None)
        self.done += len(values)
        return Batch(values, ShuffleMark(self.done, self.read, ended, len(left), first, before, self.latest))
