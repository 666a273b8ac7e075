"""Batch EM on everything, which can be stopped after any iteration and gone on with."""

import copy
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kullback.cli._checkpoint import Checkpoint, Place
from kullback.cli._input import Input
from kullback.cli._learn import Outcome
from kullback.cli._stop import Stop
from kullback.estimators._watch import Watch


def fit_at_once(estimator: Any, data: Input, place: Place, kept: Checkpoint | None, quiet: bool) -> Outcome:
    """Read everything, then fit by batch EM from a place on, and keep checkpoints; a signal ends it."""
    if place.done:
        return Outcome(place, 0)
    with Stop(data.end if data.piped else None) as stop:
        source = stop.waited(functools.partial(data.opened, 0, None))
        tables = [] if source is None else list(stop.until(source))
        if source is None or stop.asked:
            return Outcome(Place(), 0)
        if not tables:
            raise ValueError(f"there are no rows to fit {type(estimator).__name__} to.")
        piece = data.piece(source, np.concatenate(tables))
        done = climb(estimator, lambda: estimator.fit(piece.X, **piece.known), len(piece.X), kept, stop, quiet)
        estimator.source_ = data.told_of(source, tables[0].shape[1])
        place = Place(1, None, len(piece.X), done)
        if kept is not None:
            kept.write(estimator, place)
    return Outcome(place, source.bad_rows)


def climb(estimator: Any, fit: Callable[[], Any], rows: int, kept: Checkpoint | None, stop: Stop, quiet: bool) -> bool:
    """Fit by batch EM with an eye on signals and checkpoints; say whether it came to its end."""
    watch = Lookout(estimator, rows, kept, stop)
    verbose, estimator.verbose = estimator.verbose, int(sys.stderr.isatty() and not quiet)
    estimator._watch = watch
    try:
        fit()
    finally:
        estimator.verbose = verbose
        del estimator._watch
    return not watch.ended


class Lookout(Watch):
    """Ends a fit when a signal has come, and writes checkpoints of it."""

    def __init__(self, estimator: Any, rows: int, kept: Checkpoint | None, stop: Stop):
        self._estimator, self._rows, self._kept, self._stop = estimator, rows, kept, stop
        if getattr(estimator, "lower_bounds_", None):  # it comes from a checkpoint
            self.begun = estimator.to_model(), list(estimator.lower_bounds_)

    def step(self, model: Any, history: list[float]) -> bool:
        """Look at the model after an iteration, and say whether to end here."""
        if self._kept is not None and self._kept.due:
            so_far = copy.copy(self._estimator)
            so_far._keep(model)
            so_far.lower_bounds_, so_far.lower_bound_, so_far.n_iter_ = list(history), history[-1], len(history)
            so_far.n_points_seen_, so_far.n_batches_seen_, so_far.converged_ = float(self._rows), 1, False
            self._kept.write(so_far, Place(len(history), None, self._rows))
        self.ended = self._stop.asked
        return self.ended
