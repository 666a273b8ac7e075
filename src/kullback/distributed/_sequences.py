"""Exact EM over sequences that lie in the blocks of a Dask collection: each sequence whole, in one of them."""

import functools
from typing import Any, NamedTuple

import dask
import numpy as np

from kullback.core import Batch
from kullback.distributed._parts import Part, parts_of, select_rows
from kullback.distributed._rows import BlockMessage, Task, below_each_other, merge_messages_of_blocks
from kullback.distributed._tree import broadcast, tree_reduce
from kullback.estimators import Pieces, ProviderContext, Sequences, check_lengths, is_long, sample_pieces
from kullback.learning import Clock, Learner


class DaskSequences:
    """Sequences of a Dask array or frame, as an estimator of sequences learns from them where they are.

    The blocks of an array are cut anew where a sequence would lie in two of them; those of a frame must hold whole
    sequences. One sequence is one block: what comes later says something of what came before, so it cannot be shared
    out and be exact.

    A start is made from sequences that come here: all of them, in order, or 65,536 rows of sequences drawn at random
    where there are more, the same that are drawn from a table here. A fit that starts from parameters that are set
    needs none.
    """

    def __init__(self, data: Any, lengths: Any, sample_weight: Any, inputs: Any, context: ProviderContext):
        self._prepare = context.prepare
        parts = parts_of(data if lengths is None else _cut(data, lengths))
        look = dask.delayed(_block_summary, pure=False)
        seen: _Summary = tree_reduce([part.submit(look) for part in parts], _merge_summaries)
        rows = np.array(seen.rows)
        self._all, self._weight = _check_blocks(lengths, rows), _sequence_weights(sample_weight, lengths)
        if len(self._weight) != len(self._all):
            raise ValueError(
                f"sample_weight has shape {self._weight.shape}: there are {len(self._all)} sequences, and each has "
                "one weight."
            )
        self._parts = [
            _Holding(part, some, self._weight[first : first + len(some)], known)
            for part, (first, some), known in zip(parts, _in_blocks(self._all, rows), _split(inputs, rows), strict=True)
        ]
        context.learn(seen.extremes, None, seen.extremes)
        self.to_start_from: Any = _LazySequences(seen, self._fetch, is_long(int(self._all[self._weight > 0].sum())))
        self.absent = self.to_start_from.absent

    def __len__(self) -> int:
        return int(self._all.sum())

    @property
    def mass(self) -> float:
        """The weight of all rows."""
        return float(self._weight @ self._all)

    @property
    def n_begun(self) -> float:
        """The weight of all sequences."""
        return float(self._weight.sum())

    def hand_over(self) -> None:
        """Do nothing: rows stay where they are."""

    # --- as the loop asks for it ------------------------------------------------------------------------

    whole = True

    @property
    def sites(self) -> int:
        """The number of blocks: each has a memory of its own."""
        return len(self._parts)

    def start(self) -> Batch | None:
        """Return the sequences that a start looks at."""
        return self.to_start_from.batch()

    def gather(
        self, learner: Learner[Any, Any, Any, Any], model: Any, state: Any, memories: tuple[Any, ...], clock: Clock
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return one message of all blocks, put together in their order."""
        ask = dask.delayed(_block_message, pure=False)
        common = broadcast(Task(self._prepare(), learner, model, state, clock))
        found = [
            some.submit(ask, common, place, memories[place])
            for place, some in enumerate(self._parts)
            if some.weight.any()
        ]
        return tree_reduce(found, merge_messages_of_blocks).split(memories)

    def resident(self, model: Any) -> None:
        """Return nothing: it lies elsewhere."""

    # --- inside -----------------------------------------------------------------------------------------

    def _fetch(self) -> Sequences:
        """Return the sequences that a start is made from."""
        pieces = sample_pieces(self._all, self._weight)
        if pieces is None:
            pieces = Pieces(np.cumsum(self._all) - self._all, self._all, np.arange(len(self._all)))
        chosen, pick = [], dask.delayed(_select_steps, pure=False)
        begin = 0
        for some in self._parts:
            end = begin + int(some.lengths.sum())
            here = pieces.chosen(np.flatnonzero((pieces.begins >= begin) & (pieces.begins < end)))
            if len(here.sizes):
                chosen.append(some.part.submit(pick, here.rows - begin, some.inputs))
            begin = end
        tables, inputs = zip(*dask.compute(*chosen), strict=True)
        known = None if inputs[0] is None else np.concatenate(inputs)
        weight = self._weight[pieces.sequences]
        weights = None if (weight == 1).all() else weight
        return self._prepare().sequences(below_each_other(tables), pieces.sizes, weights, known)


class _Holding(NamedTuple):
    """A block, its sequences and how often each counts, and its inputs."""

    part: Part
    lengths: np.ndarray
    weight: np.ndarray
    inputs: Any

    def submit(self, task: Any, *args: Any) -> Any:
        return self.part.submit(task, *args, self.lengths, self.weight, self.inputs)


class _Summary(NamedTuple):
    """What a first look tells: rows of each block, columns that are missing, rows with the highest entries."""

    rows: tuple[int, ...]
    absent: Any
    extremes: Any


class _LazySequences:
    """Sequences that are fetched when a start looks at their rows; `in_part` says whether they are some of more."""

    def __init__(self, seen: _Summary, fetch: Any, in_part: bool):
        self.absent: Any = seen.absent
        self.extremes = np.asarray(seen.extremes, dtype=np.float64)
        self.in_part = in_part
        self._fetched = functools.cache(fetch)

    def __len__(self) -> int:
        return len(self._fetched())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fetched(), name)


def _cut(data: Any, lengths: Any) -> Any:
    """Return an array with blocks that end where a sequence ends; a frame, or an array of unknown sizes, as it is."""
    if not hasattr(data, "rechunk") or np.isnan(np.array(data.chunks[0], dtype=float)).any():
        return data
    ends = np.cumsum(check_lengths(lengths, data.shape[0]))
    cuts = np.unique(ends[np.searchsorted(ends, np.cumsum(data.chunks[0]))])
    sizes = tuple(np.diff(cuts, prepend=0).tolist())
    return data if sizes == data.chunks[0] else data.rechunk({0: sizes})


def _check_blocks(lengths: Any, rows: np.ndarray) -> np.ndarray:
    if lengths is None and (rows > 0).sum() > 1:
        raise ValueError(
            f"lengths is None and X has {len(rows)} blocks: one sequence must be one block, so give the lengths of "
            "several, or learn from blocks as series of their own with kullback.distributed.fit_and_combine."
        )
    return check_lengths(lengths, int(rows.sum()))


def _sequence_weights(sample_weight: Any, lengths: Any) -> np.ndarray:
    weight = np.ones(1 if lengths is None else len(lengths)) if sample_weight is None else np.asarray(sample_weight)
    weight = np.atleast_1d(weight.astype(np.float64))
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise ValueError("sample_weight must be finite, not negative, and not all zero.")
    return weight


def _in_blocks(lengths: np.ndarray, rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return, for each block, which is its first sequence and how long its sequences are."""
    ends, found, first = np.cumsum(lengths), [], 0
    for place, end in enumerate(np.cumsum(rows)):
        last = int(np.searchsorted(ends, end, side="right"))
        if (ends[last - 1] if last else 0) != end:
            raise ValueError(
                f"block {place} of X ends inside sequence {last}: each block must hold whole sequences, so cut X anew."
            )
        found.append((first, lengths[first:last]))
        first = last
    return found


def _split(inputs: Any, rows: np.ndarray) -> list[Any]:
    """Return the inputs of each block, delayed if they are a Dask collection."""
    if inputs is None:
        return [None] * len(rows)
    if hasattr(inputs, "rechunk") and not np.isnan(np.array(inputs.chunks[0], dtype=float)).any():
        _check_inputs(inputs.shape[0], rows)
        inputs = inputs.rechunk({0: tuple(rows.tolist())})
    if hasattr(inputs, "to_delayed"):
        parts = list(np.ravel(inputs.to_delayed()))
        if len(parts) != len(rows):
            raise ValueError(f"inputs has {len(parts)} blocks: X has {len(rows)}, and each needs its inputs.")
        return parts
    table = np.asarray(inputs, dtype=np.float64)
    _check_inputs(len(table), rows)
    return np.split(table, np.cumsum(rows[:-1]))


def _check_inputs(known: int, rows: np.ndarray) -> None:
    if known != rows.sum():
        raise ValueError(f"inputs has {known} rows: X has {rows.sum()}, and each needs its inputs.")


# --- on the workers -------------------------------------------------------------------------------------


def _block_summary(table: Any, weight: Any) -> _Summary:
    """Look at one block."""
    if not len(table):
        return _Summary((0,), None, None)
    return _highest(_Summary((len(table),), None, table))


def _merge_summaries(one: _Summary, other: _Summary) -> _Summary:
    some = [seen for seen in (one, other) if seen.extremes is not None]
    rows = one.rows + other.rows
    if len(some) < 2:
        return (some[0] if some else one)._replace(rows=rows)
    widths = [np.shape(seen.extremes)[1] for seen in some]
    if widths[0] != widths[1]:
        raise ValueError(f"X has blocks of {widths[0]} and of {widths[1]} columns: all must have the same columns.")
    found = _highest(_Summary(rows, None, below_each_other(tuple(seen.extremes for seen in some))))
    return found._replace(absent=one.absent & other.absent)


def _highest(seen: _Summary) -> _Summary:
    """Return of all rows only those with the highest entry of a column, or with the largest total."""
    table = np.asarray(seen.extremes, dtype=np.float64)
    low = np.where(np.isnan(table), -np.inf, table)
    places = np.unique([*low.argmax(axis=0), np.nansum(table, axis=1).argmax()])
    return _Summary(seen.rows, np.isnan(table).all(axis=0), select_rows(seen.extremes, places))


def _block_message(
    task: Task, place: int, memory: Any, lengths: np.ndarray, weight: np.ndarray, inputs: Any, table: Any, _: Any
) -> BlockMessage:
    """Return what the sequences of one block say."""
    try:
        data = task.preparation.sequences(table, lengths, weight, None if inputs is None else np.asarray(inputs))
    except ValueError as error:
        raise ValueError(f"In block {place} of X: {error}") from error
    return task.gather(place, [data.batch(task.model)], memory)


def _select_steps(places: np.ndarray, inputs: Any, table: Any, _: Any) -> tuple[Any, np.ndarray | None]:
    """Return some rows and their inputs."""
    return select_rows(table, places), None if inputs is None else np.asarray(inputs)[places]
