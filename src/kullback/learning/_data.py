"""Data as the loop asks for it: the next batches of a stream, or one message of everything."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import jax
import numpy as np

from kullback.core import Batch, TimeIndex, copy_with, replace
from kullback.learning._learner import Clock, Learner, MemoryT, MessageT, ModelT, StateT, TreeT
from kullback.learning._rules import check_at_least_one
from kullback.learning._step import gather, merge

_finished: Any = jax.block_until_ready  # it has no types


#: Rows of a table that a learner may look at before it begins, and numbers in them: all of 50,000 images would take as
#: long to bring together as a hundred steps.
_START_ROWS, _START_NUMBERS = 2**16, 2**23


class Chunk(NamedTuple):
    """Some steps of a stream. The leaves of `batches` have the axes (steps, batches of a step, rows, …).

    `position` is where the next one begins, as JSON can hold it. `epoch_ends` says that the data is over with this one,
    and begins anew where there is more to come.
    """

    batches: Batch
    active: np.ndarray
    position: object
    epoch_ends: bool


class Resident(NamedTuple):
    """All of the data as one batch: steps towards it go in one compiled loop.

    Where the batch has a standardization, `radius` is how far the data reaches from its center, in units of its scale.
    """

    batch: Batch
    radius: float = 0.0


class Source(Protocol):
    """What the loop asks of all data."""

    @property
    def whole(self) -> bool:
        """Whether it is `Data`, of which a step takes everything, and not `Batches`."""

    @property
    def sites(self) -> int:
        """How many streams or sites have a memory of their own."""

    def start(self) -> Batch | None:
        """Return some of the data, for a learner to begin from, or None where it cannot be looked at before."""


class Data(Source, Protocol):
    """Data of which each step takes everything, as one message."""

    def gather(
        self,
        learner: Learner[ModelT, StateT, MemoryT, MessageT],
        model: ModelT,
        state: StateT,
        memories: tuple[MemoryT, ...],
        clock: Clock,
    ) -> tuple[MessageT, tuple[MemoryT, ...]]:
        """Return one message of everything, and the memories after it."""

    def resident(self, model: Any) -> Resident | None:
        """Return everything as one batch, prepared for this model; None where it is several, or lies elsewhere."""


class Batches(Source, Protocol):
    """Data of which each step takes a batch."""

    def steps(self, position: Any, most: int) -> Chunk | None:
        """Return the next steps from a position on, at most so many and none of another epoch; None at the end."""


def gather_in_turn(
    batches: Iterable[Batch],
    learner: Learner[ModelT, StateT, MemoryT, MessageT],
    model: ModelT,
    state: StateT,
    memory: MemoryT,
    clock: Clock,
) -> tuple[MessageT, MemoryT]:
    """Return one message of several batches, with the memory of one of them, and what their stream remembers."""
    message: Any = None
    for number, batch in enumerate(batches):
        found, memory = gather(model, batch, learner, state, memory, clock.at_batch(number))
        # computing runs ahead of the loop: without waiting, the batches of a long table would pile up
        message = _finished(found if message is None else merge(message, found))
    return message, memory


class AllAtOnce:
    """Batches that are one step together: the data of batch EM."""

    whole, sites = True, 1

    def __init__(self, batches: Batch | Iterable[Batch]):
        self._batches = [batches] if isinstance(batches, Batch) else batches
        self._only = batches if isinstance(batches, Batch) and batches.standardization is None else None

    def start(self) -> Batch | None:
        """Return the first batch."""
        return next(iter(self._batches))

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all batches."""
        message, memory = gather_in_turn(self._batches, learner, model, state, memories[0], clock.at_site(0))
        return message, (memory,)

    def resident(self, model: Any) -> Resident | None:
        """Return the batch if there is one only; which kernel another standardization allows nobody knows here."""
        return None if self._only is None else Resident(self._only)


class Stream:
    """Batches that come one after the other, a step each, and can be opened at any position.

    `open_at(position)` returns an iterator of batches, each with the position behind it; None is the beginning. A
    stream that is gone through `passes` times begins anew at each; the first row of each pass begins a sequence.
    Neighbors of one shape become one chunk.
    """

    whole, sites = False, 1

    def __init__(self, open_at: Callable[[Any], Iterator[tuple[Batch, object]]], passes: int = 1):
        check_at_least_one("passes", passes)
        self._open, self._passes = open_at, passes
        self._at: dict[str, object] | None = None
        self._coming: Iterator[tuple[Batch, object]] | None = None
        self._next: tuple[Batch, object] | None = None

    @classmethod
    def of(cls, batches: Iterable[Batch], passes: int = 1) -> "Stream":
        """Return the stream of an iterable of batches; a position is the number of batches before it."""

        def open_at(position: int | None) -> Iterator[tuple[Batch, int]]:
            for number, batch in enumerate(batches):
                if number >= (position or 0):
                    yield batch, number + 1

        return cls(open_at, passes)

    def start(self) -> Batch | None:
        """Return nothing: what is taken from a stream does not come again."""
        return None

    def steps(self, position: Any, most: int) -> Chunk | None:
        """Return the next batches of one shape."""
        here = {"pass": 0, "at": None} if position is None else position
        if not isinstance(here, dict) or set(here) != {"pass", "at"} or not _is_count(here["pass"]):
            raise ValueError(f"position is {position!r}: it is none of a stream.")
        if here["pass"] >= self._passes:
            return None
        if self._coming is None or self._at != here:
            self._coming = self._open(here["at"])
            self._next = next(self._coming, None)
        found: list[Batch] = []
        after = here["at"]
        while self._next is not None and len(found) < most:
            batch, place = self._next
            batch = _mark_start(batch) if after is None else batch
            if found and not _same_shapes(found[0], batch):
                break
            found.append(batch)
            after, self._next = place, next(self._coming, None)
        if not found:
            return None
        ends = self._next is None
        self._at = {"pass": here["pass"] + ends, "at": None if ends else after}
        if ends:
            self._coming = None
        return Chunk(stack([[batch] for batch in found]), np.ones(len(found), bool), self._at, ends)


class Minibatches:
    """Rows of a table in batches of a size, drawn anew for every epoch without replacement.

    `prepare(rows)` makes a batch of some rows, by their numbers. The last batch of an epoch is filled up with rows of
    weight 0. The order depends on the seed and the epoch only, so that a position is a pair of numbers.
    """

    whole, sites = False, 1

    def __init__(
        self, prepare: Callable[[np.ndarray], Batch], rows: int, batch_rows: int, seed: int = 0, shuffle: bool = True
    ):
        if rows < 1:
            raise ValueError("there are no rows to draw batches from.")
        check_at_least_one("batch_rows", batch_rows)
        self._prepare, self._rows, self._seed, self._shuffle = prepare, rows, seed, shuffle
        self._size = min(batch_rows, rows)
        self._order: tuple[int, np.ndarray] | None = None

    def start(self) -> Batch | None:
        """Return rows from all over the table: all, unless they are very many or very wide."""
        one = self._prepare(np.arange(1))
        width = np.size(one.values) + (0 if one.inputs is None else np.size(one.inputs))
        count = min(self._rows, _START_ROWS, max(1, _START_NUMBERS // max(1, width)))
        return self._prepare(np.arange(count) * self._rows // count)

    def steps(self, position: object, most: int) -> Chunk | None:
        """Return the next batches of an epoch."""
        epoch, first = (0, 0) if position is None else self._read(position)
        order, last = self._of_epoch(epoch), min(first + most * self._size, self._rows)
        ends, steps = last == self._rows, -(-(last - first) // self._size)
        after = [epoch + 1, 0] if ends else [epoch, last]
        return Chunk(self._stacked(order[first:last], steps), np.ones(steps, bool), after, ends)

    def _read(self, position: object) -> tuple[int, int]:
        """Return the epoch and the row of a position, which may come from a file; raise unless it is one of these."""
        match position:
            case [epoch, row] if _is_count(epoch) and _is_count(row) and row < self._rows and not row % self._size:
                return epoch, row
        raise ValueError(f"position is {position!r}: it is none of batches of {self._size} of {self._rows} rows.")

    def _of_epoch(self, epoch: int) -> np.ndarray:
        if self._order is None or self._order[0] != epoch:
            order = np.arange(self._rows)
            if self._shuffle:
                np.random.default_rng([self._seed, epoch]).shuffle(order)
            self._order = epoch, order
        return self._order[1]

    def _stacked(self, rows: np.ndarray, steps: int) -> Batch:
        """Return the batches of so many steps as one; the last of them is filled up with rows of weight 0."""
        count, total = len(rows), steps * self._size
        first = rows[(steps - 1) * self._size :][:1]
        batch = self._prepare(np.concatenate([rows, np.repeat(first, total - count)]))
        weight = np.where(np.arange(total) < count, batch.weight, 0)

        def cut(leaf: Any) -> Any:
            return leaf.reshape(steps, 1, self._size, *leaf.shape[1:])

        def repeat(tree: TreeT) -> TreeT:
            return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (steps, 1, *np.shape(leaf))), tree)

        by_rows = {"values": batch.values, "observed": batch.observed, "inputs": batch.inputs, "weight": weight}
        one = {"point_variance": batch.point_variance, "standardization": batch.standardization}
        return copy_with(batch, **jax.tree.map(cut, by_rows), **repeat(one))


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def stack(batches: Sequence[Sequence[Batch]]) -> Batch:
    """Return batches, those of each step in a list, as one with axes for the steps and for the batches of a step."""
    stacked: Batch = jax.tree.map(
        lambda *leaves: np.stack(leaves).reshape(len(batches), len(batches[0]), *np.shape(leaves[0])),
        *[batch for several in batches for batch in several],
    )
    return stacked


def _same_shapes(one: Batch, other: Batch) -> bool:
    """Whether two batches have the same shapes, and so the same compiled function."""
    one_tree: Any = jax.tree.structure(one)
    if one_tree != jax.tree.structure(other):
        return False
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all((np.shape(a), a.dtype) == (np.shape(b), b.dtype) for a, b in pairs)


def _mark_start(batch: Batch) -> Batch:
    """Return a batch whose first row begins a sequence, where rows follow each other at all."""
    if batch.time is None or bool(batch.time.starts[0]):
        return batch
    first = np.array(batch.time.starts)
    first[0] = True
    return replace(batch, time=TimeIndex(first, batch.time.lookahead))
