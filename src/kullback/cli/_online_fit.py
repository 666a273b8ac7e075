"""Learning batch by batch, from a source that can be opened at any place."""

import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_kinds import choose_families, set_category_counts
from kullback.cli._column_roles import Chunk
from kullback.cli._data_errors import naming_rows
from kullback.cli._input import Input
from kullback.cli._messages import mute_notes
from kullback.cli._pairs import ClassCollector, check_new_words, check_target, has_targets, pair_rows
from kullback.cli._progress import Progress
from kullback.cli._progress_line import ProgressLine
from kullback.cli._stop import Stop
from kullback.estimators import REGISTRY, join_first_batches, rows_again


class Outcome(NamedTuple):
    """How far a fit has come, how many bad rows were left out, and the exit code, which tells of a signal."""

    progress: Progress
    bad_rows: int
    code: int = 0


def fit_online(
    estimator: Any,
    data: Input,
    passes: int,
    before: Progress,
    kept: Checkpoint | None,
    line: ProgressLine,
    continues: bool = False,
) -> Outcome:
    """Learn batch by batch from where it was before, until the end or until a signal comes, and keep checkpoints.

    A series that `continues` goes on from that of the estimator, and its last rows wait for what comes after them.
    """
    here, bad_rows = before, 0
    with Stop(data.end if data.piped else None) as stop:
        for here, source in _learn_batches(estimator, data, passes, before, stop, continues):
            if source is not None:
                bad_rows = source.bad_rows
            if kept is not None and kept.due and estimator.has_started:
                kept.write(estimator, data.columns, here)
            score = estimator.lower_bound_ if estimator.has_started else -np.inf
            line.step(here.rows, score, functools.partial(data.expected_rows, source, passes))
        line.end()
        if kept is not None and estimator.has_started:
            kept.write(estimator, data.columns, here)
    return Outcome(here, bad_rows, stop.code)


def _learn_batches(
    estimator: Any, data: Input, passes: int, before: Progress, stop: Stop, continues: bool
) -> Iterator[tuple[Progress, Any]]:
    """Learn from where it was before; yield the progress after each batch, and the source.

    The position is read after the batch was learned: one that was handed out and not learned is not behind it.
    """
    series = REGISTRY[type(estimator).__name__].capabilities.data == "sequences"
    source: Any = None
    classes: Any = None
    data.check(before.data)
    rows, last, whole = before.rows, before.sequence, before.data
    if series and not continues and before.position is None and before.epoch < passes:
        estimator.end_series()  # that of a model to go on from: these rows are another
    for epoch in range(before.epoch, passes):
        source, found = _open(estimator, data, epoch, stop)
        if source is None:
            return
        classes = found if classes is None else classes
        if epoch == before.epoch and before.position is not None:
            source.resume(before.position)
        for table in stop.until(source) if series else _join_first(estimator, stop, source):
            chunk = data.split(source, table)
            read = source.position["done"]
            numbers, labels = range(read - len(table) + 1, read + 1), [*data.kinds(source)[0]]
            with rows_again(estimator, epoch > 0):
                if has_targets(estimator):
                    _learn_pairs(estimator, data, source, chunk, numbers, classes)
                else:
                    with naming_rows(data, numbers, labels):
                        _learn(estimator, chunk, series, last)
            rows += len(table)
            last = None if chunk.sequence is None else float(chunk.sequence[-1])
            data.remember_columns(source, table.shape[1])
            yield Progress(epoch, source.position, rows, sequence=last, data=whole), source
        if stop.requested:
            return
        whole = source.fingerprint
        if series and not continues:
            last = None
            with rows_again(estimator, epoch > 0):
                estimator.end_series()
    if not estimator.has_started:
        raise ValueError(f"there are too few rows to fit {type(estimator).__name__} to: {rows}.")
    yield Progress(passes, None, rows, True, data=whole), source


def _open(estimator: Any, data: Input, epoch: int, stop: Stop) -> tuple[Any, Any]:
    """Open the data for a pass, once the words of its columns are known; None if a signal came before.

    Words of a file are looked for before the first pass: a model of categories must know how many there are, and a
    classifier which classes, which are returned besides. Those of standard input come as they come.
    """
    known = data.columns.get("codes") if epoch or data.is_known or not data.piped else None
    source = stop.wait_for(functools.partial(data.open, epoch, known))
    if source is None:
        return None, None
    values, inputs = data.kinds(source)
    pairs = has_targets(estimator)
    if pairs:
        check_target(estimator, data, source)
    else:
        choose_families(estimator, values, inputs)
    collector = ClassCollector(estimator, data, source)
    wants = "words" in source.kinds.values() or collector.wanted
    if known is not None or data.piped or not wants:
        return source, None
    with mute_notes():
        for table in stop.until(source):
            collector.add(table)
    if not pairs:
        set_category_counts(estimator, values, source.codes)
    if stop.requested:
        return None, None
    classes = collector.classes
    return stop.wait_for(functools.partial(data.open, epoch, collector.codes)), classes


def _learn(estimator: Any, chunk: Chunk, series: bool, last: float | None) -> None:
    if not series:
        if chunk.weight is None or chunk.weight.any():  # rows without weight say nothing
            estimator.partial_fit(chunk.X, None, chunk.weight)
    elif chunk.sequence is None:
        estimator.partial_fit(chunk.X, continues=True, **chunk.extras)
    else:
        estimator.continue_stream(chunk.X, chunk.lengths, chunk.inputs, new_series=chunk.sequence[0] != last)


def _learn_pairs(estimator: Any, data: Input, source: Any, chunk: Chunk, numbers: range, classes: Any) -> None:
    """Learn from the rows that have a target and a weight; the first ones of a classifier come with all classes."""
    labels, targets = [*data.kinds(source)[0]], [*map(str, data.roles.targets)]
    check_new_words(estimator, data, source)
    with naming_rows(data, numbers, labels, targets):
        pairs = pair_rows(estimator, data, source, chunk)
    if not len(pairs.y):
        return
    known = {"classes": classes} if classes is not None and not estimator.has_started else {}
    with naming_rows(data, pairs.numbers(numbers), labels, targets):
        estimator.partial_fit(pairs.X, pairs.y, sample_weight=pairs.weight, **known)


def _join_first(estimator: Any, stop: Stop, source: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches; rows of tables are put together until there are enough to start from."""
    for X, _ in join_first_batches(stop.until(source), estimator):
        if stop.requested and not estimator.has_started and len(X) < estimator.rows_needed:
            return
        yield X
