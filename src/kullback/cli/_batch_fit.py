"""Batch EM, or Fisher scoring, on everything, which can be stopped after any iteration and gone on with."""

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kullback.cli._activity import clear_activity
from kullback.cli._checkpoint import Checkpoint
from kullback.cli._column_kinds import choose_families
from kullback.cli._column_roles import Chunk
from kullback.cli._data_errors import naming_rows
from kullback.cli._input import Input
from kullback.cli._online_fit import Outcome
from kullback.cli._pairs import check_target, has_targets, pair_rows
from kullback.cli._progress import Digest, Progress
from kullback.cli._stop import Stop
from kullback.estimators import REGISTRY, FitCallback


def fit_batch(estimator: Any, data: Input, before: Progress, kept: Checkpoint | None, quiet: bool) -> Outcome:
    """Read everything, then fit to all of it from where it was before, and keep checkpoints; a signal ends it."""
    data.check(before.data)
    if before.done:
        return Outcome(before, 0)
    with Stop(data.end if data.piped else None) as stop:
        source = stop.wait_for(functools.partial(data.open, 0, None))
        if source is not None and has_targets(estimator):
            check_target(estimator, data, source)
        elif source is not None:
            choose_families(estimator, *data.kinds(source))
        tables = [] if source is None else list(stop.until(source))
        if source is None or stop.requested:
            return Outcome(Progress(), 0, stop.code)
        if not tables:
            raise ValueError(f"there are no rows to fit {type(estimator).__name__} to.")
        chunk, digest = data.split(source, np.concatenate(tables)), Digest()
        for table in tables if kept is not None else ():
            digest.add(table)
        data.remember_columns(source, tables[0].shape[1])
        here = Progress(rows=len(chunk.X), data=source.fingerprint, digest=digest.of(source))
        if has_targets(estimator):
            here = _fit_pairs(estimator, data, source, chunk, before, here, kept, stop, quiet)
        else:
            series = REGISTRY[type(estimator).__name__].capabilities.data == "sequences"
            weights = chunk.sequence_weights if series else chunk.weight
            fit = functools.partial(estimator.fit, chunk.X, sample_weight=weights, **chunk.extras)
            with naming_rows(data, range(1, len(chunk.X) + 1), [*data.kinds(source)[0]]):
                here = run_em(estimator, data, fit, before, here, kept, stop, quiet)
    return Outcome(here, source.bad_rows, stop.code)


def _fit_pairs(
    estimator: Any,
    data: Input,
    source: Any,
    chunk: Chunk,
    before: Progress,
    here: Progress,
    kept: Checkpoint | None,
    stop: Stop,
    quiet: bool,
) -> Progress:
    """Fit targets given inputs. Trees and networks have no model before their end: a signal ends them without one."""
    labels, targets = [*data.kinds(source)[0]], [*map(str, data.roles.targets)]
    numbers: Any = range(1, len(chunk.X) + 1)
    with naming_rows(data, numbers, labels, targets):
        pairs = pair_rows(estimator, data, source, chunk)
    if not len(pairs.y):
        raise ValueError(f"{data} has no row with a target that counts: there is nothing to learn from.")

    def fit() -> None:
        estimator.fit(pairs.X, pairs.y, sample_weight=pairs.weight)

    run = fit if estimator.method == "linear" else functools.partial(stop.wait_for, fit)
    with naming_rows(data, pairs.numbers(numbers), labels, targets):
        return run_em(estimator, data, run, before, here, kept, stop, quiet)


def run_em(
    estimator: Any,
    data: Input,
    fit: Callable[[], Any],
    before: Progress,
    here: Progress,
    kept: Checkpoint | None,
    stop: Stop,
    quiet: bool,
) -> Progress:
    """Fit to all rows with an eye on signals and checkpoints; return how far it came, which is kept."""
    if before.digest is not None and (before.digest, before.rows) != (here.digest, here.rows):
        raise ValueError(
            f"{data} is not what was read before: its rows are others; go on with the same data, or begin anew."
        )
    callback = SignalCallback(data, here, kept, stop)
    if (before.rows or data.is_known) and not has_targets(estimator):  # Fisher scoring is quick, and begins anew
        callback.resume_from = estimator.to_model(), list(estimator.lower_bounds_) if before.epoch else []
    starts = estimator.get_params(deep=False).get("n_init", 1)
    verbose, estimator.verbose = estimator.verbose, int(sys.stderr.isatty() and not quiet)
    try:
        if data.is_known and starts > 1:  # the model is the one start
            estimator.n_init = 1
        estimator.set_callback(callback)
        clear_activity()
        fit()
    finally:
        estimator.verbose = verbose
        if starts > 1:
            estimator.n_init = starts
        estimator.set_callback(None)
    if not estimator.has_started:
        return here
    here = dataclasses.replace(here, epoch=len(estimator.lower_bounds_), done=not callback.stopped)
    if kept is not None:
        kept.write(estimator, data.columns, here)
    return here


class SignalCallback(FitCallback):
    """Ends a fit when a signal has come, and writes checkpoints of it."""

    def __init__(self, data: Input, progress: Progress, kept: Checkpoint | None, stop: Stop):
        self._data, self._progress, self._kept, self._stop = data, progress, kept, stop

    def step(self, snapshot: Callable[[], Any], history: list[float]) -> bool:
        """Write a checkpoint if it is time to, and return whether a signal has come."""
        if self._kept is not None and self._kept.due:
            here = dataclasses.replace(self._progress, epoch=len(history))
            self._kept.write(snapshot(), self._data.columns, here)
        self.stopped = self._stop.requested
        return self.stopped
