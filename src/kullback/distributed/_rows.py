"""Learning from the blocks of a Dask collection: one sum of messages for each step, and only they travel."""

import copy
import dataclasses
import sys
from collections.abc import Iterable
from typing import Any

import dask
import numpy as np

from kullback.core import MOST_CATEGORIES, Batch, Standardization
from kullback.distributed._parts import counted, parts_of, rows_of
from kullback.distributed._survey import Survey, merge_surveys, surveyed
from kullback.distributed._tree import reduced, shared
from kullback.estimators._drawn import drawn_rows
from kullback.estimators._rows import Rows
from kullback.estimators._support import with_support
from kullback.families import Gaussian
from kullback.learning import AT_ONCE, EM, Clock, Learner, gather_in_turn, merge
from kullback.runtime import as_numpy, computing


class DaskRows:
    """The rows of a Dask array or frame, as an estimator learns from them where they are.

    A block is read again in each iteration unless it was persisted: the memory of a worker, or the time to read, is for
    the caller to choose. Sums are taken in the order of the blocks, so the number of workers makes no difference, and
    blocks that were lost with a worker are made again from their graph.

    A start is made from rows that come here: all of them, in order, or 65,536 drawn at random where there are more,
    the same that are drawn from a table here. A fit that goes on (`warm_start`) needs none. Factor models start
    from the moments of all rows.
    """

    def __init__(self, estimator: Any, data: Any, sample_weight: Any, first: bool):
        self._estimator, self._parts = estimator, parts_of(data, sample_weight)
        look = dask.delayed(surveyed, pure=False)
        self._survey: Survey = reduced([part.asked(look) for part in self._parts], merge_surveys)
        if self._survey.mass <= 0:
            raise ValueError("X has no row that counts: there is nothing to learn from.")
        if not np.isfinite(self._survey.mass):
            raise ValueError("sample_weight is so large that its sum is not finite: divide it by a large number.")
        self._sample: Rows | None = None
        if first:
            self._sample = self._learn_shape()
        self._frame, self._reach = self._survey.frame, self._survey.reach

    @property
    def mass(self) -> float:
        """The total weight."""
        return self._survey.mass

    def start_model(self, random: np.random.RandomState) -> Any:
        """Return the model to begin with. Call it in 64 bits."""
        assert self._sample is not None
        if len(self._sample) == self._count:
            return self._estimator._start(self._sample, random)
        if self._estimator._starts_from_all:
            return self._estimator._start(_with_moments(*self._moments()), random)
        return with_support(self._estimator._start(self._sample, random))

    # --- as the loop asks for it ------------------------------------------------------------------------

    whole = True

    @property
    def sites(self) -> int:
        """The number of blocks: each has a memory of its own."""
        return len(self._parts)

    def start(self) -> Batch | None:
        """Return some of the rows that a start looks at, if there is one."""
        return None if self._sample is None else self._sample.start()

    def steps(self, position: Any, most: int) -> None:
        """Return nothing: each step takes everything."""

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all blocks, put together in their order."""
        task = Task(copy.copy(self._estimator), learner, model, state, clock, self._frame_for(model))
        return self._gathered(task, memories)

    # --- inside -----------------------------------------------------------------------------------------

    def _frame_for(self, model: Any) -> Standardization | None:
        members = model.featured
        if members is None or not members.feature_kernel_is_faster or not np.isfinite(self._reach):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return self._frame if members.feature_kernel_is_accurate(self._frame, self._reach) else None

    def _gathered(self, task: "Task", memories: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        ask, asked = dask.delayed(_block_message, pure=False), shared(task)
        found = [part.asked(ask, asked, place, memories[place]) for place, part in enumerate(self._parts)]
        return reduced(found, merge_found).split(memories)

    @property
    def _count(self) -> int:
        return sum(self._survey.rows)

    def _learn_shape(self) -> Rows:
        """Let the estimator see rows to start from: columns, their names, categories. Return them."""
        table, weight = self._drawn()
        try:
            rows = self._estimator._rows(table, weight, first=True, least=2)
        except ValueError as error:
            if len(table) == self._count:
                raise
            raise ValueError(f"In {len(table):,} rows that were drawn from X: {error}") from error
        known = getattr(self._estimator, "n_categories_", None)
        if known is not None and self._estimator._known_categories is None:  # the rarest may not be in the sample
            many = (known > 0) & (self._survey.high >= MOST_CATEGORIES)
            if many.any():
                raise ValueError(
                    f"Column {np.argmax(many)} of X holds {self._survey.high[np.argmax(many)]:.6g}: categories are "
                    f"0, 1, 2, … and not more than {MOST_CATEGORIES:,}; number them so, or use another family."
                )
            highest = np.where(np.isfinite(self._survey.high), self._survey.high, 0).astype(np.int64) + 1
            self._estimator.n_categories_ = np.where(known > 0, np.maximum(known, highest), known)
        return rows

    def _drawn(self) -> tuple[Any, np.ndarray | None]:
        """Return the rows that a start looks at, and their weights."""
        counts = np.array(self._survey.rows)
        ends, places = np.cumsum(counts), drawn_rows(self._count)
        parts = _split(np.arange(self._count) if places is None else places, ends)
        pick = dask.delayed(_picked, pure=False)
        asked = [
            part.asked(pick, here - end + count)
            for part, here, end, count in zip(self._parts, parts, ends, counts, strict=True)
        ]
        tables, weights = zip(*dask.compute(*asked), strict=True)
        return below_each_other(tables), None if weights[0] is None else np.concatenate(weights)

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of all rows; what is missing counts as the mean of its column."""
        center, scale = np.asarray(self._frame.center), np.asarray(self._frame.scale)
        around = Gaussian(center, np.diag(np.square(scale)))
        task = Task(copy.copy(self._estimator), EM(), around, None, AT_ONCE, None, center)
        statistics, _ = self._gathered(task, (None,) * self.sites)
        return np.asarray(statistics.mean), np.asarray(statistics.spread)


@dataclasses.dataclass
class Task:
    """What every block is asked: what its rows say to a learner. `fill` takes the place of what is missing."""

    estimator: Any
    learner: Learner[Any, Any, Any, Any]
    model: Any
    state: Any
    clock: Clock
    frame: Standardization | None = None
    fill: np.ndarray | None = None

    def gather(self, place: int, batches: Iterable[Batch], memory: Any) -> "Found":
        """Return what the batches of a block say, and its memory after them, with NumPy arrays."""
        with computing():
            clock = self.clock.at_site(place)
            message, after = gather_in_turn(batches, self.learner, self.model, self.state, memory, clock)
            return Found(*as_numpy((message, {place: after})))


@dataclasses.dataclass
class Found:
    """What some blocks say, and the memory of each, by its place."""

    message: Any
    memories: dict[int, Any]

    def split(self, before: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Return the message, and the memories of all blocks; one that had no rows has what it had before."""
        return self.message, tuple(self.memories.get(place, memory) for place, memory in enumerate(before))


def _block_message(task: Task, place: int, memory: Any, table: Any, weight: Any) -> Found | None:
    """Return what one block says; None where no row counts."""
    table, weight = counted(table, weight)
    if len(table) == 0:
        return None
    try:
        rows = task.estimator._rows(table, weight, first=False, least=0)
    except ValueError as error:
        raise ValueError(f"In block {place} of X: {error}") from error
    if task.fill is not None and rows.missing:
        rows = Rows(np.where(np.isnan(rows.X), task.fill, rows.X), rows.weight, rows.point_variance)
    batches = (batch for _, batch in rows.placed(None if rows.missing else task.frame))
    return task.gather(place, batches, memory)


def merge_found(one: Found, other: Found) -> Found:
    """Return what both say together, with NumPy arrays."""
    with computing():
        return Found(as_numpy(merge(one.message, other.message)), one.memories | other.memories)


def _picked(places: np.ndarray, table: Any, weight: Any) -> tuple[Any, np.ndarray | None]:
    """Return some of the rows that count."""
    table, weight = counted(table, weight)
    return rows_of(table, places), None if weight is None else weight[places]


def _split(drawn: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    return np.split(drawn, np.searchsorted(drawn, ends[:-1]))


def below_each_other(tables: tuple[Any, ...]) -> Any:
    """Return arrays, or frames, as one."""
    if not hasattr(tables[0], "iloc"):
        return np.concatenate(tables)
    return sys.modules[type(tables[0]).__module__.partition(".")[0]].concat(list(tables))


def _with_moments(mean: np.ndarray, covariance: np.ndarray) -> Rows:
    """Return the smallest table that has this mean and this covariance: two points on each axis."""
    lengths, axes = np.linalg.eigh(covariance)
    away = axes * np.sqrt(len(mean) * np.maximum(lengths, 0))
    return Rows(mean + np.concatenate([away.T, -away.T]))
