"""Learning batch by batch, from a source that can be opened at any place."""

import functools
import inspect
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_kinds import make_room, suit
from kullback.cli._input import Input
from kullback.cli._place import Place
from kullback.cli._progress import Progress
from kullback.cli._roles import Piece
from kullback.cli._say import silent_notes
from kullback.cli._stop import Stop
from kullback.estimators._stream import enough_to_start


def is_of_sequences(kind: Any) -> bool:
    """Whether rows follow each other in time."""
    return "continues" in inspect.signature(kind.partial_fit).parameters


class Outcome(NamedTuple):
    """How far a fit has come, how many bad rows were left out, and the exit code, which tells of a signal."""

    place: Place
    bad_rows: int
    code: int = 0


def fit_online(
    estimator: Any, data: Input, passes: int, place: Place, kept: Checkpoint | None, progress: Progress
) -> Outcome:
    """Learn batch by batch from a place on, until the end or until a signal comes, and keep checkpoints."""
    here, bad_rows = place, 0
    with Stop(data.end if data.piped else None) as stop:
        for here, source in _learned(estimator, data, passes, place, stop):
            if source is not None:
                bad_rows = source.bad_rows
            if kept is not None and kept.due and started(estimator):
                kept.write(estimator, here)
            expected = functools.partial(_expected, data, source, passes)
            progress.step(here.rows, getattr(estimator, "lower_bound_", -np.inf), expected)
        progress.end()
        if kept is not None and started(estimator):
            kept.write(estimator, here)
    return Outcome(here, bad_rows, stop.code)


def _learned(estimator: Any, data: Input, passes: int, place: Place, stop: Stop) -> Iterator[tuple[Place, Any]]:
    """Learn from a place on; yield the place after each batch, and the source.

    The place is read after the batch was learned: one that was handed out and not learned is not behind it.
    """
    series, rows, last = is_of_sequences(type(estimator)), place.rows, place.sequence
    source: Any = None
    data.check(place.data)
    whole = place.data
    for turn in range(place.turn, passes):
        source = _opened(estimator, data, turn, stop)
        if source is None:
            return
        if turn == place.turn and place.position is not None:
            source.resume(place.position)
        for table in _tables(estimator, stop, source, series):
            piece = data.piece(source, table)
            try:
                _learn(estimator, piece, series, last)
            except ValueError as error:
                raise ValueError(f"rows {rows + 1} to {rows + len(table)}: {error}") from None
            rows += len(table)
            last = None if piece.sequence is None else float(piece.sequence[-1])
            estimator.source_ = data.told_of(source, table.shape[1])
            yield Place(turn, source.position, rows, sequence=last, data=whole), source
        if stop.asked:
            return
        whole = source.fingerprint
        if series:
            last = None
            estimator._end_series()
    if not started(estimator):
        raise ValueError(f"there are too few rows to fit {type(estimator).__name__} to: {rows}.")
    yield Place(passes, None, rows, True, data=whole), source


def _opened(estimator: Any, data: Input, turn: int, stop: Stop) -> Any:
    """Open the data for a pass, once the words of its columns are known; None if someone asked for an end before.

    Words of a file are looked for before the first pass: a model of categories must know how many there are. Those of
    standard input come as they come.
    """
    known = getattr(estimator, "source_", {}).get("codes") if turn or not data.piped else None
    source = stop.waited(functools.partial(data.opened, turn, known))
    if source is None:
        return None
    values, inputs = data.kinds(source)
    suit(estimator, values, inputs)
    if known is not None or data.piped or "words" not in source.kinds.values():
        return source
    with silent_notes():
        for _ in stop.until(source):
            pass
    make_room(estimator, values, source.codes)
    return None if stop.asked else stop.waited(functools.partial(data.opened, turn, source.codes))


def _expected(data: Input, source: Any, passes: int) -> int | None:
    rows = None if source is None else data.rows(source)
    return None if rows is None else rows * passes


def started(estimator: Any) -> bool:
    """Whether there is a model yet: the first rows of a stream may be too few to start from."""
    return hasattr(estimator, "n_batches_seen_")


def _learn(estimator: Any, piece: Piece, series: bool, last: float | None) -> None:
    if not series:
        estimator.partial_fit(piece.X)
    elif piece.sequence is None:
        estimator.partial_fit(piece.X, continues=True, **piece.known)
    else:
        estimator._learn_on(piece.X, piece.lengths, piece.inputs, piece.sequence[0] != last)


def _tables(estimator: Any, stop: Stop, source: Iterable[Any], series: bool) -> Iterator[Any]:
    """Yield the batches; rows of tables are put together until there are enough to start from."""
    if series:
        yield from stop.until(source)
        return
    least = max(2, estimator._least_rows)
    for X, _ in enough_to_start(stop.until(source), least, lambda: started(estimator)):
        if stop.asked and not started(estimator) and len(X) < least:
            return
        yield X
