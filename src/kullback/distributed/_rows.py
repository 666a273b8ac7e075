"""Learning from the blocks of a Dask collection: one sum of messages for each step, and only they travel."""

import dataclasses
import sys
from collections.abc import Iterable
from typing import Any

import dask
import numpy as np

from kullback.core import Batch, Standardization
from kullback.distributed._parts import parts_of, rows_that_count, select_rows
from kullback.distributed._survey import Survey, merge_surveys, survey_block
from kullback.distributed._tree import broadcast, tree_reduce
from kullback.estimators import Preparation, ProviderContext, Rows, sample_rows
from kullback.families import Gaussian
from kullback.learning import AT_ONCE, EM, Clock, Learner, gather_in_turn, merge
from kullback.runtime import as_numpy, in_float64


class DaskRows:
    """The rows of a Dask array or frame, as an estimator learns from them where they are.

    A block is read again in each iteration unless it was persisted: the memory of a worker, or the time to read, is for
    the caller to choose. Sums are taken in the order of the blocks, so the number of workers makes no difference, and
    blocks that were lost with a worker are made again from their graph.

    A start is made from rows that come here: all of them, in order, or 65,536 drawn at random where there are more,
    the same that are drawn from a table here. A fit that goes on (`warm_start`) needs none. Factor models start
    from the moments of all rows.
    """

    def __init__(self, data: Any, sample_weight: Any, context: ProviderContext, first: bool):
        self._parts, self._prepare = parts_of(data, sample_weight), context.prepare
        look = dask.delayed(survey_block, pure=False)
        self._survey: Survey = tree_reduce([part.submit(look) for part in self._parts], merge_surveys)
        if self._survey.mass <= 0:
            raise ValueError("X has no row that counts: there is nothing to learn from.")
        if not np.isfinite(self._survey.mass):
            raise ValueError("sample_weight is so large that its sum is not finite: divide it by a large number.")
        if not first:
            self._prepare().columns.check_width(len(self._survey.seen))
        self._standardization, self._radius = self._survey.standardization, self._survey.radius
        self._sample: Rows | None = self._learn_columns(context) if first else None

    @property
    def mass(self) -> float:
        """The total weight."""
        return self._survey.mass

    @property
    def to_start_from(self) -> Rows:
        """The rows that a start looks at: all, or some of them."""
        assert self._sample is not None, "a fit that goes on looks at none"
        return self._sample

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of all rows; what is missing counts as the mean of its column."""
        if self._sample is not None and not self._sample.in_part:
            return self._sample.moments()
        center, scale = np.asarray(self._standardization.center), np.asarray(self._standardization.scale)
        around = Gaussian(center, np.diag(np.square(scale)))
        task = Task(self._prepare(), EM(), around, None, AT_ONCE, None, center)
        statistics, _ = self._gather(task, (None,) * self.sites)
        return np.asarray(statistics.mean), np.asarray(statistics.spread)

    # --- as the loop asks for it ------------------------------------------------------------------------

    whole = True

    @property
    def sites(self) -> int:
        """The number of blocks: each has a memory of its own."""
        return len(self._parts)

    def start(self) -> Batch | None:
        """Return some of the rows that a start looks at, if there is one."""
        return None if self._sample is None else self._sample.start()

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all blocks, put together in their order."""
        return self._gather(Task(self._prepare(), learner, model, state, clock, self._scaling_for(model)), memories)

    def resident(self, model: Any) -> None:
        """Return nothing: it lies elsewhere."""

    # --- inside -----------------------------------------------------------------------------------------

    def _scaling_for(self, model: Any) -> Standardization | None:
        members = model.featured
        if members is None or not members.has_quick_kernel or not np.isfinite(self._radius):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            accurate = members.quick_kernel_is_accurate(self._standardization, self._radius)
        return self._standardization if accurate else None

    def _gather(self, task: "Task", memories: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        ask, common = dask.delayed(_block_message, pure=False), broadcast(task)
        found = [part.submit(ask, common, place, memories[place]) for place, part in enumerate(self._parts)]
        return tree_reduce(found, merge_messages_of_blocks).split(memories)

    def _learn_columns(self, context: ProviderContext) -> Rows:
        """Let the estimator learn its columns from rows to start from: names, categories. Return them."""
        counts = np.array(self._survey.rows)
        total, ends = int(counts.sum()), np.cumsum(counts)
        places = sample_rows(total)
        pick = dask.delayed(_select_rows_that_count, pure=False)
        parts = np.split(*_at_ends(np.arange(total) if places is None else places, ends))
        tasks = [
            part.submit(pick, here - end + count)
            for part, here, end, count in zip(self._parts, parts, ends, counts, strict=True)
        ]
        tables, weights = zip(*dask.compute(*tasks), strict=True)
        weight = None if weights[0] is None else np.concatenate(weights)
        try:
            rows = context.learn(below_each_other(tables), weight, self._survey.high)
        except ValueError as error:
            if places is None:
                raise
            raise ValueError(f"In {len(places):,} rows that were drawn from X: {error}") from error
        return Rows(rows.X, rows.weight, rows.point_variance, in_part=places is not None)


@dataclasses.dataclass
class Task:
    """What every block is asked: the message of its rows to a learner. `fill` takes the place of what is missing."""

    preparation: Preparation
    learner: Learner[Any, Any, Any, Any]
    model: Any
    state: Any
    clock: Clock
    scaling: Standardization | None = None
    fill: np.ndarray | None = None

    @in_float64
    def gather(self, place: int, batches: Iterable[Batch], memory: Any) -> "BlockMessage":
        """Return what the batches of a block say, and its memory after them, with NumPy arrays."""
        clock = self.clock.at_site(place)
        message, after = gather_in_turn(batches, self.learner, self.model, self.state, memory, clock)
        return BlockMessage(*as_numpy((message, {place: after})))


@dataclasses.dataclass
class BlockMessage:
    """What some blocks say, and the memory of each, by its place."""

    message: Any
    memories: dict[int, Any]

    def split(self, before: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Return the message, and the memories of all blocks; one that had no rows has what it had before."""
        return self.message, tuple(self.memories.get(place, memory) for place, memory in enumerate(before))


def _block_message(task: Task, place: int, memory: Any, table: Any, weight: Any) -> BlockMessage | None:
    """Return what one block says; None where no row counts."""
    table, weight = rows_that_count(table, weight)
    if len(table) == 0:
        return None
    try:
        rows = task.preparation.rows(table, weight)
    except ValueError as error:
        raise ValueError(f"In block {place} of X: {error}") from error
    if task.fill is not None and rows.missing:
        rows = Rows(np.where(np.isnan(rows.X), task.fill, rows.X), rows.weight, rows.point_variance)
    batches = (batch for _, batch in rows.batches_with_places(None if rows.missing else task.scaling))
    return task.gather(place, batches, memory)


@in_float64
def merge_messages_of_blocks(one: BlockMessage, other: BlockMessage) -> BlockMessage:
    """Return what both say together, with NumPy arrays."""
    return BlockMessage(as_numpy(merge(one.message, other.message)), one.memories | other.memories)


def _select_rows_that_count(places: np.ndarray, table: Any, weight: Any) -> tuple[Any, np.ndarray | None]:
    """Return some of the rows that count."""
    table, weight = rows_that_count(table, weight)
    return select_rows(table, places), None if weight is None else weight[places]


def _at_ends(places: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of rows, and where to split them into those of each block."""
    return places, np.searchsorted(places, ends[:-1])


def below_each_other(tables: tuple[Any, ...]) -> Any:
    """Return arrays, or frames, as one."""
    if not hasattr(tables[0], "iloc"):
        return np.concatenate(tables)
    return sys.modules[type(tables[0]).__module__.partition(".")[0]].concat(list(tables))
