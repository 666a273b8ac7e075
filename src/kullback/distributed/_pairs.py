"""Learning targets from inputs that lie in the blocks of Dask collections: only messages travel."""

from typing import Any, NamedTuple

import dask
import numpy as np

from kullback.core import Batch
from kullback.distributed._parts import Part, parts_of, rows_that_count, select_rows, split_like
from kullback.distributed._rows import BlockMessage, below_each_other, merge_messages_of_blocks
from kullback.distributed._tree import broadcast, tree_reduce
from kullback.estimators import PairContext, Pairs, sample_rows
from kullback.learning import Clock, Learner, gather_in_turn
from kullback.runtime import as_numpy, in_float64


class DaskPairs:
    """Inputs and targets in Dask collections with the same blocks, as an estimator learns from them where they are.

    A start is made from rows that come here: all of them, in order, or 65,536 drawn at random where there are more.
    Sums are taken in the order of the blocks, so the number of workers makes no difference.
    """

    whole = True

    def __init__(self, X: Any, y: Any, sample_weight: Any, context: PairContext):
        self._parts = _with_targets(parts_of(X, sample_weight), X, y)
        look = dask.delayed(_survey_block, pure=False)
        found: _Survey | None = tree_reduce([part.submit(look) for part in self._parts], _merge_surveys)
        if found is None or not sum(found.rows):
            raise ValueError("X has no row that counts, with a target that is there: there is nothing to learn from.")
        self._survey = found
        self._sample = self._learn_columns(context)
        self._prepare = context.prepare

    @property
    def mass(self) -> float:
        """The total weight."""
        return self._survey.mass

    @property
    def targets(self) -> np.ndarray:
        """The targets that a start looks at."""
        return self._sample.targets

    @property
    def weight(self) -> np.ndarray | None:
        """The weights of the rows that a start looks at."""
        return self._sample.weight

    # --- as the loop asks for it ------------------------------------------------------------------------

    @property
    def sites(self) -> int:
        """The number of blocks."""
        return len(self._parts)

    def start(self) -> Batch:
        """Return some of the rows that a start looks at."""
        return self._sample.start()

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all blocks, put together in their order."""
        ask, common = dask.delayed(_block_message, pure=False), broadcast((self._prepare(), learner, model, state))
        found = [part.submit(ask, common, clock.at_site(at), memories[at], at) for at, part in enumerate(self._parts)]
        return tree_reduce(found, merge_messages_of_blocks).split(memories)

    def resident(self, model: Any) -> None:
        """Return nothing: it lies elsewhere."""

    # --- inside -----------------------------------------------------------------------------------------

    def _learn_columns(self, context: PairContext) -> Pairs:
        """Let the estimator learn its columns and targets from rows to start from, and return these."""
        counts = np.array(self._survey.rows)
        total, ends = int(counts.sum()), np.cumsum(counts)
        drawn = sample_rows(total)
        places = np.arange(total) if drawn is None else drawn
        pick = dask.delayed(_select, pure=False)
        here = np.split(places, np.searchsorted(places, ends[:-1]))
        tasks = [
            part.submit(pick, some - end + count)
            for part, some, end, count in zip(self._parts, here, ends, counts, strict=True)
        ]
        tables, targets, weights = zip(*dask.compute(*tasks), strict=True)
        weight = None if weights[0] is None else np.concatenate(weights)
        return context.learn(below_each_other(tables), np.concatenate(targets), weight, self._survey.targets)


class _PairPart(NamedTuple):
    """A block of rows with their targets."""

    part: Part
    targets: Any

    def submit(self, task: Any, *args: Any) -> Any:
        """Return a task of the block, to be done where it is."""
        return self.part.submit(task, *args, self.targets)


class _Survey(NamedTuple):
    """The rows of each block that count, their mass, and the different targets, or the highest of each column."""

    rows: tuple[int, ...]
    mass: float
    targets: np.ndarray


def _with_targets(parts: list[Part], X: Any, y: Any) -> list[_PairPart]:
    if hasattr(type(y), "to_delayed"):
        whole = y.rechunk({1: -1}) if hasattr(type(y), "rechunk") and y.ndim == 2 else y  # a row is whole
        targets = list(np.ravel(whole.to_delayed()))
        if len(targets) != len(parts):
            raise ValueError(f"y has {len(targets)} blocks: X has {len(parts)}, and each needs its targets.")
    else:
        targets = split_like(X, np.asarray(y), "y")
    return [_PairPart(part, target) for part, target in zip(parts, targets, strict=True)]


def _counted(targets: Any, table: Any, weight: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return the rows that count: those with a weight, and with a target that is there."""
    y = np.asarray(targets)
    if len(y) != len(table):
        raise ValueError(f"a block of y has {len(y)} rows, and that of X {len(table)}: they must be alike.")
    if y.dtype.kind == "f":
        there = ~np.isnan(_as_table(y)).all(axis=1)
        weight = weight if there.all() else np.where(there, 1.0 if weight is None else np.asarray(weight), 0.0)
    if weight is None:
        return table, y, None
    kept = np.asarray(weight) != 0
    table, weight = rows_that_count(table, weight)
    return table, y[kept], weight


def _as_table(y: np.ndarray) -> np.ndarray:
    return y[:, None] if y.ndim == 1 else y


def _survey_block(targets: Any, table: Any, weight: Any) -> _Survey:
    table, y, weight = _counted(targets, table, weight)
    mass = float(len(y) if weight is None else weight.sum())
    if y.ndim == 1 and y.dtype.kind != "f":
        return _Survey((len(y),), mass, np.unique(y))
    numbers = _as_table(y).astype(np.float64)
    if not len(numbers):
        return _Survey((0,), mass, np.zeros((0, numbers.shape[1])))
    return _Survey((len(y),), mass, np.max(numbers, axis=0, where=~np.isnan(numbers), initial=-np.inf)[None])


def _merge_surveys(one: _Survey, other: _Survey) -> _Survey:
    both = np.concatenate([one.targets, other.targets])
    merged = np.unique(both) if both.ndim == 1 else np.max(both, axis=0, keepdims=True) if len(both) else both
    return _Survey(one.rows + other.rows, one.mass + other.mass, merged)


def _select(places: np.ndarray, targets: Any, table: Any, weight: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    table, y, weight = _counted(targets, table, weight)
    return select_rows(table, places), y[places], None if weight is None else weight[places]


@in_float64
def _block_message(
    common: Any, clock: Clock, memory: Any, place: int, targets: Any, table: Any, weight: Any
) -> BlockMessage | None:
    """Return what one block says; None where no row counts."""
    prepare, learner, model, state = common
    table, y, weight = _counted(targets, table, weight)
    if not len(y):
        return None
    try:
        pairs: Pairs = prepare(table, y, weight)
    except ValueError as error:
        raise ValueError(f"In block {place} of X: {error}") from error
    batches = (batch for _, batch in pairs.batches())
    message, after = gather_in_turn(batches, learner, model, state, memory, clock)
    return BlockMessage(*as_numpy((message, {place: after})))
